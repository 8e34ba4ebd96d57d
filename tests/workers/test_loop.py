"""The event loop in a thread of its own: what it runs, in which thread, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from tests.patience import PATIENCE
from workers.loop import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    opened = LoopThread()
    yield opened
    opened.close()


async def thread() -> str:
    return threading.current_thread().name


async def fail() -> None:
    raise LookupError("nothing there")


def test_all_runs_in_one_thread_that_is_not_the_callers(loop: LoopThread) -> None:
    assert {loop.run(thread()), loop.run(thread())} == {"event-loop"}


def test_an_error_comes_back_to_who_asked(loop: LoopThread) -> None:
    with pytest.raises(LookupError, match="nothing there"):
        loop.run(fail())
    assert loop.run(thread()) == "event-loop"


def test_what_was_begun_goes_on_when_nobody_waits(loop: LoopThread) -> None:
    went_on = threading.Event()

    async def later() -> None:
        await asyncio.sleep(0.01)
        went_on.set()

    async def begin() -> asyncio.Task[None]:
        return asyncio.ensure_future(later())

    kept = loop.run(begin())
    assert went_on.wait(PATIENCE)
    assert kept is not None


def test_what_still_runs_is_cancelled_at_the_end_which_may_come_twice(loop: LoopThread) -> None:
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.ensure_future(forever())
        await asyncio.sleep(0)
        return task

    kept = loop.run(begin())
    loop.close()
    assert cancelled.is_set()
    assert kept.cancelled()
    loop.close()
