"""The Celery application: thin tasks over arbiter."""
