"""An event loop in a thread of its own, whose time a test moves on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from tests.patience import PATIENCE

T = TypeVar("T")


class MovableLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on as everybody's does, and further where it is told to: what ends after long ends at
    once then, and needs no limit so short that a busy machine passes it."""

    _ahead = 0.0

    def time(self) -> float:
        """See asyncio."""
        return super().time() + self._ahead

    def move_on(self, seconds: float) -> None:
        """Let so much time pass; from any thread, after what was asked of the loop before."""
        self.call_soon_threadsafe(self._move_on, seconds)

    def _move_on(self, seconds: float) -> None:
        self._ahead += seconds


class LoopThread:
    """Runs a loop until `close`."""

    def __init__(self) -> None:
        started: Future[MovableLoop] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,))
        self._thread.start()
        self.loop = started.result(PATIENCE)

    def do(self, job: Coroutine[Any, Any, T]) -> T:
        """What comes of a job on the loop."""
        return asyncio.run_coroutine_threadsafe(job, self.loop).result(PATIENCE)

    def pass_time(self, seconds: float, until: Callable[[], bool]) -> None:
        """Let so much time pass again and again, until something has come of it: what it is to end may not wait yet."""
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline, "nothing comes of it, however much time passes"
            self.loop.move_on(seconds)
            time.sleep(0.01)

    def close(self) -> None:
        """End the loop with all that still runs on it and in its threads: nothing is left for the next test."""
        self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _run(self, started: Future[MovableLoop]) -> None:
        async def serve() -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, MovableLoop)
            self._over = asyncio.Event()
            started.set_result(loop)
            await self._over.wait()

        with asyncio.Runner(loop_factory=MovableLoop) as runner:
            runner.run(serve())
