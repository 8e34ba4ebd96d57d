"""Python's collector while sittings are played."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from arbiter.match import play_sitting
from arbiter.match.collector import COLLECT_AFTER, SeldomCollecting
from tests.match.support import BentLink, Uniform, plan_of


@pytest.fixture(autouse=True)
def _threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_it_looks_less_often_while_any_sitting_is_played_and_as_before_afterwards() -> None:
    seen: list[int] = []
    plan = plan_of(boards=3)

    async def play() -> None:
        await asyncio.gather(*(_play_noting(seen) for _ in range(2)))

    async def _play_noting(seen: list[int]) -> None:
        links = [BentLink(Uniform()) for _ in plan.bots]
        await play_sitting(plan, links, on_hand=lambda: seen.append(gc.get_threshold()[0]))

    asyncio.run(play())
    assert seen == [COLLECT_AFTER] * 6
    assert gc.get_threshold() == (700, 10, 10)


def test_the_last_to_leave_sets_it_back_whatever_happened() -> None:
    seldom = SeldomCollecting()

    def fail() -> None:
        with seldom:
            with seldom:
                pass
            assert gc.get_threshold() == (COLLECT_AFTER, 10, 10)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("before", [0, 2 * COLLECT_AFTER])
def test_a_collector_that_is_off_or_looks_still_less_often_is_left_so(before: int) -> None:
    gc.set_threshold(before, 10, 10)
    with SeldomCollecting():
        assert gc.get_threshold() == (before, 10, 10)
    assert gc.get_threshold() == (before, 10, 10)
