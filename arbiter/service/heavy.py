"""Work that takes long, such as exports, standings and leaderboards: beside all that has to answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Final, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from arbiter.errors import InfrastructureError
from arbiter.service.calls import calling_owner

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 4
"""Pieces of work at once. More would only wait for each other: they compute, and one interpreter runs one of them at a
time."""

GRACE: Final = 2.0
"""Seconds that what is being done has to finish when the service stops."""


class ServiceStops(InfrastructureError):
    """The service stops before a piece of work is done."""


class HeavyWork:
    """Threads of its own for work that takes long, so that other calls have theirs; work is taken until it is left.

    Of one owner one piece of work is done at a time, in the order in which they asked, so that nobody waits for all
    that another has asked for. To be made and used on one event loop alone.

    Args:
        threads: pieces of work at once.
        grace: seconds that what is being done has to finish when it is left.
    """

    def __init__(self, threads: int = THREADS, grace: float = GRACE) -> None:
        self._room: Final = asyncio.Semaphore(threads)
        self._grace: Final = grace
        self._turns: Final = WeakValueDictionary[str, asyncio.Semaphore]()
        self._asked: Final = set[asyncio.Task[object]]()
        self._leaving = False
        self._left: Final = asyncio.get_running_loop().create_future()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do a piece of work for the caller that is being answered; what it raises is raised here.

        Who is cancelled waits no longer. What is done already goes on all the same, for a thread can't be stopped, and
        its owner's next piece waits for it.

        Raises:
            ServiceStops: it is not done, for the service stops.
        """
        turn = self._turns.setdefault(calling_owner(), asyncio.Semaphore())
        doing = asyncio.create_task(self._in_turn(turn, partial(work, *args, **kwargs)))
        self._asked.add(doing)
        try:
            await asyncio.wait({doing, self._left}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise _stops()
            return doing.result()
        finally:
            if not doing.cancel() and not doing.cancelled():
                doing.exception()  # who was cancelled at the same moment does not look at it
            self._asked.discard(doing)
            del doing  # else what it raised, the traceback of that and this frame would hold each other

    async def _in_turn(self, turn: asyncio.Semaphore, work: Callable[[], T]) -> T:
        await turn.acquire()
        try:
            await self._room.acquire()
        except BaseException:
            turn.release()
            raise
        loop = asyncio.get_running_loop()

        def give_back() -> None:
            self._room.release()
            turn.release()

        def over(_: Future[T]) -> None:
            with suppress(RuntimeError):  # where the loop is over, nobody waits for a turn
                loop.call_soon_threadsafe(give_back)

        if self._leaving:
            give_back()
            raise _stops()
        working = Future[T]()
        working.set_running_or_notify_cancel()
        working.add_done_callback(over)
        # Of no pool: the interpreter would wait for its threads before it ends.
        Thread(target=_do, args=(work, working), name="heavy", daemon=True).start()
        try:
            return await asyncio.wrap_future(working)
        finally:
            del working  # as above

    async def __aenter__(self) -> HeavyWork:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Take no more work, and wait a while for what is being done. Whoever waits for more is told that the service
        stops."""
        self._leaving = True
        if self._asked:
            await asyncio.wait(self._asked, timeout=self._grace)
        self._left.set_result(None)


def _do(work: Callable[[], T], working: Future[T]) -> None:
    try:
        working.set_result(work())
    except BaseException as error:  # noqa: BLE001  # raised where the work was asked for
        working.set_exception(error)
    finally:
        del working


def _stops() -> ServiceStops:
    return ServiceStops("the service stops; try again when it is back")
