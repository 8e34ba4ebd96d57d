"""The clock of a bot, under a time that the tests move by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.links import FaultCode
from arbiter.match import Clock, SittingPlan, SittingRecord, play_sitting
from tests.match.support import BentLink, Uniform, check, plan_of, rows


class Time:
    """Seconds, moved by the bots that take them."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(BentLink):
    """Takes ``seconds`` over each message that it sends; answers row by row where ``piecemeal``."""

    def __init__(self, time: Time, seconds: float, *, piecemeal: bool = False) -> None:
        super().__init__(Uniform(), rows if piecemeal else None)
        self._time = time
        self._seconds = seconds

    async def receive(self) -> pb.SitRequest:
        message = await super().receive()
        self._time.now += self._seconds
        return message


def play(plan: SittingPlan, links: Sequence[BentLink], time: Time) -> SittingRecord:
    record = asyncio.run(play_sitting(plan, links, now=time))
    check(record)
    return record


def time_left(batch: pb.SitResponse) -> float:
    return float(batch.time_left.ToNanoseconds()) / 1e9


def requests(batch: pb.SitResponse) -> int:
    return sum(len(kind.request_id) for kind in (batch.pass_requests, batch.play_requests, batch.moon_requests))


@pytest.mark.parametrize("piecemeal", [False, True])
def test_a_bot_is_told_what_its_clock_holds(piecemeal: bool) -> None:
    time = Time()
    plan = plan_of(boards=3, clock=Clock(bank=100.0, increment=0.25))
    links = [Slow(time, 0.5, piecemeal=piecemeal), *(Slow(time, 0.0) for _ in range(3))]
    record = play(plan, links, time)
    assert not record.faults
    expected = 100.0
    for batch in links[0].batches:
        assert time_left(batch) == pytest.approx(expected, abs=1e-6)
        answers = requests(batch)
        expected += 0.25 * answers - 0.5 * (answers if piecemeal else min(answers, 1))


def test_the_clock_stands_still_while_nothing_is_asked() -> None:
    time = Time()
    links = [Slow(time, 0.0), *(Slow(time, 2.0 if place == 1 else 0.0) for place in range(1, 4))]
    plan = plan_of(boards=3, open_tables=1, clock=Clock(bank=1000.0, increment=0.0))
    assert not play(plan, links, time).faults
    assert time_left(links[1].batches[-1]) == pytest.approx(
        1000.0 - 2.0 * sum(map(bool, map(requests, links[1].batches)))
    )
    # A pass is asked of all seats at once; the quick bots' clocks are stopped by their answers, not by the last one's.
    for place in (0, 2, 3):
        assert time_left(links[place].batches[-1]) >= 1000.0 - 2.0 * 3


def test_a_bank_that_runs_out_is_a_timeout_that_says_so() -> None:
    """Halite#307."""
    time = Time()
    plan = plan_of(boards=3, clock=Clock(bank=4.0, increment=0.5))
    links = [Slow(time, 2.0, piecemeal=True), *(Slow(time, 0.0) for _ in range(3))]
    record = play(plan, links, time)
    (fault,) = record.faults
    assert (fault.entrant, fault.code) == (10, FaultCode.TIMEOUT)
    assert fault.detail.startswith(
        "used 6.000 s, which is all of its bank of 4 s + 0.5 s for each of 3 answers; requests open: "
    )
    assert all(hand.stand_ins for hand in record.hands)


def test_an_increment_keeps_a_steady_bot_alive() -> None:
    time = Time()
    plan = plan_of(boards=6, clock=Clock(bank=1.0, increment=0.5))
    links = [Slow(time, 0.5, piecemeal=True), *(Slow(time, 0.0) for _ in range(3))]
    assert not play(plan, links, time).faults
    assert time.now > 1000.0 + 6 * 13 * 0.5
    assert time_left(links[0].batches[-1]) == pytest.approx(1.0)


def test_nonsense_earns_no_increment() -> None:
    time = Time()
    plan = plan_of(boards=1, clock=Clock(bank=1.0, increment=0.5), fault_limit=1000)
    noisy = BentLink(
        Uniform(), lambda message: [*[pb.SitRequest(plays=pb.PlayAnswers(request_id=[1], card=[0]))] * 9, message]
    )
    play(plan, [noisy, *(Slow(time, 0.0) for _ in range(3))], time)
    assert time_left(noisy.batches[-1]) == pytest.approx(1.0 + 14 * 0.5)
