"""The Celery application: one task plays one sitting. Thin: what a sitting is, :mod:`arbiter.match` knows."""
