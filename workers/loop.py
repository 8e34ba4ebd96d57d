"""The one event loop of a worker process, in a thread of its own.

It goes on between two tasks of Celery's, which has the main thread: a report is sent while the next sitting is waited
for. gRPC's objects stay on it from sitting to sitting, and bots, which die with the thread that started them, have one
that lasts.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs an event loop from now until `close`."""

    def __init__(self) -> None:
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread: Final = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)), name="event-loop", daemon=True
        )
        self._over: Final = asyncio.Event()
        self._thread.start()
        self._loop: Final = started.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait, in another thread, for what comes of a coroutine on the loop. Signals are handled meanwhile."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End the loop, and what still runs on it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()

    async def _serve(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._over.wait()
