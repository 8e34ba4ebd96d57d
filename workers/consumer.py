"""How a worker waits for Redis: with pauses that grow, jitter, and one line for each outage."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from celery.worker import state
from celery.worker.consumer import Consumer as CeleryConsumer
from kombu import Connection

from workers.line import Backoff

log = logging.getLogger(__name__)

MAX_PAUSE: Final = 10.0
"""Longest pause in seconds between two tries to reach Redis."""

reached: Final = threading.Event()
"""Set while Redis can be reached, as far as this process has noticed."""

_STEP: Final = 0.1  # seconds between looks at whether the worker was told to stop


class Consumer(CeleryConsumer):
    """Celery's consumer, but for its waiting: that would pause for equal times on all workers, and log each try."""

    def ensure_connected(self, conn: Connection) -> Connection:
        """Connect, as soon as Redis can be reached; ends the worker when it is told to stop meanwhile."""
        backoff = Backoff(MAX_PAUSE)
        reached.clear()
        while True:
            try:
                conn.connect()
            except conn.connection_errors as error:
                if backoff.first:
                    log.warning("Redis at %s can't be reached, trying again: %s", conn.as_uri(), error)
                end = time.monotonic() + backoff.draw()
                while time.monotonic() < end:
                    state.maybe_shutdown()
                    time.sleep(_STEP)
            else:
                if not backoff.first:
                    log.warning("Redis at %s answers again", conn.as_uri())
                self.first_connection_attempt = False
                reached.set()
                return conn
