"""Work that takes long, such as exports, standings and leaderboards: beside all that has to answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from arbiter.service.calls import calling_owner

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 4
"""Pieces of work at once. More would only wait for each other: they compute, and one interpreter runs one of them at a
time."""


class HeavyWork:
    """Threads of its own for work that takes long, so that other calls have theirs; they are there while it is entered.

    Of one owner one piece of work is done at a time, in the order in which they asked, so that nobody waits for all
    that another has asked for. To be used on one event loop alone.

    Args:
        threads: pieces of work at once.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._pool: Final = ThreadPoolExecutor(threads, thread_name_prefix="heavy")
        self._turns: Final = WeakValueDictionary[str, asyncio.Semaphore]()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do a piece of work for the caller that is being answered; what it raises is raised here.

        Who is cancelled waits no longer. What is done already goes on all the same, for a thread can't be stopped, and
        its owner's next piece waits for it.
        """
        turn = self._turns.setdefault(calling_owner(), asyncio.Semaphore())
        await turn.acquire()
        loop = asyncio.get_running_loop()

        def done(_: Future[T]) -> None:
            loop.call_soon_threadsafe(turn.release)

        try:
            working = self._pool.submit(work, *args, **kwargs)
        except BaseException:
            turn.release()
            raise
        working.add_done_callback(done)
        try:
            return await asyncio.wrap_future(working)
        finally:
            del working  # else what it raised, the traceback of that and this frame would hold each other

    async def __aenter__(self) -> HeavyWork:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for what is being done; what has not begun is not done any more."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
