"""A process that plays sittings one after the other keeps nothing of them: the small form of ``python -m
benchmarks.memory``."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

from arbiter.links import LocalLink
from arbiter.match import StandInBot, play_sitting, replay_of, write_replay
from arbiter.match.record import HandRecord
from tests.match.support import plan_of


def _play(number: int) -> None:
    plan = plan_of(boards=8, seating=number % 4)
    record = asyncio.run(play_sitting(plan, [LocalLink(StandInBot()) for _ in range(4)]))
    write_replay(replay_of(record.plan, record.hands, record.faults))


def _sittings(count: int) -> None:
    for number in range(count):
        _play(number)
    gc.collect()


def test_memory_is_flat_from_sitting_to_sitting() -> None:
    _sittings(4)  # what is made when first needed stays
    tracemalloc.start()
    try:
        _sittings(2)
        before, _ = tracemalloc.get_traced_memory()
        _sittings(24)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One sitting of these takes some 200 KB while it lasts; what 24 of them may leave is half of that; 5 KB were seen.
    assert after - before < 100_000, f"{after - before} bytes more after 24 sittings"


def test_hands_need_no_collector_of_cycles_to_go() -> None:
    """It looks seldom, and a worker would keep a dozen sittings until it does."""

    def hands() -> int:
        return sum(type(each) is HandRecord for each in gc.get_objects())

    gc.collect()  # what other tests left, so that it does not go meanwhile
    gc.disable()
    try:
        before = hands()
        _play(0)
        assert hands() == before
    finally:
        gc.enable()
