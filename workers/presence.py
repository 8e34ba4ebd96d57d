"""Says in Redis that this worker is there, playing or not; what is said expires when nobody says it again."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Final, Self

from celery import Celery

from arbiter.match.routes import present_key

EVERY: Final = 5.0
"""Seconds between two times."""

LASTS: Final = 15
"""Seconds for which it is believed."""

PATIENCE: Final = 1.0
"""Seconds that a worker that ends waits until it has said so."""


class Presence:
    """Says so from a thread of its own while it is entered: the worker's own is busy with its sitting.

    Args:
        app: knows the Redis.
        service: what its queues are called.
        name: this worker's.
    """

    def __init__(self, app: Celery, service: str, name: str) -> None:
        self._app: Final = app
        self._key: Final = present_key(service, name)
        self._over: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._say, name="presence", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(PATIENCE)

    def _say(self) -> None:
        while True:
            with self._app.connection_for_write() as connection:
                try:
                    channel: Any = connection.channel()  # typed without what Redis's has
                    while True:
                        channel.client.set(self._key, "", ex=LASTS)
                        if self._over.wait(EVERY):
                            channel.client.delete(self._key)
                            return
                except (*connection.connection_errors, *connection.channel_errors):
                    pass  # whoever takes sittings from it says so
            if self._over.wait(EVERY):
                return
