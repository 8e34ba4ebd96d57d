"""What may not change the course of a sitting, and what a slow or crashed bot may not hold up.

Each test is a complaint about another service turned round; the thread stands with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.deals import deal
from arbiter.engine import RULE_SETS, compile_rules
from arbiter.links import FaultCode, LinkLost, LocalLink
from arbiter.match import Clock, StandInBot, play_sitting, read_replay
from tests.match import held
from tests.match.replays import Revoker, no_card
from tests.match.support import DEAL_SEED, BentLink, DisorderlyLink, Uniform, check, plan_of, play, rows, sit
from tests.match.test_clock import Time, time_left


class SlowToStart(BentLink):
    """Takes its time before it greets."""

    def __init__(self, time: Time, seconds: float) -> None:
        super().__init__(Uniform())
        self._time = time
        self._seconds = seconds

    async def open(self, patience: float) -> pb.Greeting:
        self._time.now += self._seconds
        return await super().open(patience)


def test_a_slow_start_is_not_taken_from_the_bank() -> None:
    """kaggle-environments#110, pelita#959."""
    time = Time()
    slow = SlowToStart(time, 9.0)
    plan = plan_of(boards=1, clock=Clock(start_up=10.0, bank=1.0, increment=0.0))
    record = asyncio.run(play_sitting(plan, [slow, *(BentLink(Uniform()) for _ in range(3))], now=time))
    assert not record.faults
    assert time_left(slow.batches[0]) == pytest.approx(1.0)


class Absent(BentLink):
    """Answers all but what is asked at one board, which it answers when it is let."""

    def __init__(self, board: int) -> None:
        super().__init__(Uniform(), self._held_back)
        self.held: list[pb.SitRequest] = []
        self._board = board
        self._asked: dict[int, int] = {}

    async def send(self, batch: pb.SitResponse) -> None:
        for requests in (batch.pass_requests, batch.play_requests):
            self._asked.update(zip(requests.request_id, requests.table, strict=True))
        await super().send(batch)

    def let(self) -> None:
        """Answer, and hold nothing back any more."""
        self._board = 0
        for message in self.held:
            self._queue.put_nowait(message)

    def _held_back(self, honest: pb.SitRequest) -> Iterable[pb.SitRequest]:
        for row in rows(honest):
            (request_id,) = (*row.passes.request_id, *row.plays.request_id)
            if self._asked[request_id] == self._board:
                self.held.append(row)
            else:
                yield row


def test_a_table_that_waits_for_a_bot_holds_up_no_other_bot_there_and_no_other_sitting() -> None:
    """aiarena-web#634: the three others play on at all other tables, and another sitting is played to its end."""

    async def side_by_side() -> None:
        done: list[str] = []
        slow, plan = Absent(board=1), plan_of(boards=3, open_tables=3)
        others = [BentLink(Uniform()) for _ in range(3)]
        waiting = asyncio.ensure_future(sit(plan, [slow, *others], lambda: done.append("hand")))
        other = await sit(plan_of(boards=3), [BentLink(Uniform()) for _ in range(4)])
        assert len(other.hands) == 3
        assert not waiting.done()
        (asked,) = slow.held
        assert asked.passes.request_id, "it owes its pass at board 1"
        for link in others:
            tables = {table for batch in link.batches for table in batch.play_requests.table}
            assert tables <= {2, 3}
            passed = [table for batch in link.batches for table in batch.pass_requests.table]
            assert sorted(passed) == [1, 2, 3]
        slow.let()
        record = await waiting
        assert not record.faults
        assert len(record.hands) == 3

    held.run(side_by_side())


@pytest.mark.parametrize("name", RULE_SETS)
def test_the_deals_are_the_same_whoever_plays_and_how(name: str) -> None:
    """schnapsen-old#2, rlcard#125, pelita#833: not bots, faults, order of answers, tables or seatings change a card."""
    plan = plan_of(name, boards=4)
    seats = plan.rules.players
    expected = [deal(compile_rules(plan.rules), DEAL_SEED, board) for board in range(1, 5)]
    for played in (
        play(plan, [LocalLink(Uniform()) for _ in range(seats)]),
        play(plan, [LocalLink(StandInBot()) for _ in range(seats)]),
        play(plan_of(name, boards=4, open_tables=1), [DisorderlyLink(Uniform(), seed) for seed in range(seats)]),
        play(plan, [LocalLink(Revoker()), *(LocalLink(Uniform()) for _ in range(seats - 1))]),
        play(plan_of(name, boards=4, seating=1, early_end=True), [LocalLink(Uniform()) for _ in range(seats)]),
    ):
        assert [(hand.dealt, hand.kitty) for hand in played.hands] == [(each.hands, each.kitty) for each in expected]


def test_a_bot_is_charged_once_for_a_decision_and_never_for_one_that_it_had_not() -> None:
    """fishtest#1905, fishtest#2119: counts of faults never exceed what was played."""
    record = play(plan_of(boards=3, fault_limit=1000), [BentLink(Uniform(), no_card), *map(LocalLink, others())])
    faults = [fault for hand in record.hands for fault in hand.faults]
    assert len(faults) == len({(fault.board, fault.hand, fault.trick) for fault in faults})
    assert len(faults) == sum(len(hand.tricks) for hand in record.hands)
    assert not record.faults


def test_a_bot_that_crashed_is_out_once_and_its_hands_are_kept_to_be_seen() -> None:
    """riddlesio/issues#15; cutechess#794, fastchess#463: and the sitting goes on to its end."""

    def crash(message: pb.SitRequest) -> list[pb.SitRequest | LinkLost]:
        return [LinkLost(FaultCode.CRASH, "exit status 3")]

    record = play(plan_of(boards=4), [*map(LocalLink, others()), BentLink(Uniform(), crash)])
    replay = read_replay(check(record))
    assert [(fault.entrant, fault.code, fault.detail) for fault in replay.faults] == [
        (13, FaultCode.CRASH, "exit status 3")
    ]
    assert [hand.board for hand in replay.hands] == [1, 2, 3, 4]
    for hand in replay.hands:
        assert hand.stand_ins == (hand.places.index(3),)
        assert len(hand.tricks) == 13


def others() -> list[Uniform]:
    return [Uniform() for _ in range(3)]
