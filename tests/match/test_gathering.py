"""When a bot is sent what it is due: small batches grow while others are at work, and nobody waits for nothing."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import ClassVar

import pytest

import arbiter.match.gathering
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import rule_set
from arbiter.match import Clock, SittingPlan, SittingRecord, play_sitting
from tests.match import held
from tests.match.support import BentLink, DisorderlyLink, Uniform, check, plan_of, play, rows, sit

LONG = 1000.0
SETTLING = 50
"""Turns of the event loop after which everybody has done what there is to do."""


@pytest.mark.parametrize("boards", [1, 2, 9, 40])
def test_nobody_waits_for_a_batch_that_nobody_adds_to(boards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long small batches may wait, a sitting goes on; and no byte of its replay depends on it."""

    async def without_waiting(plan: SittingPlan, links: list[DisorderlyLink]) -> SittingRecord:
        record = await sit(plan, links)
        assert asyncio.get_running_loop().time() < LONG
        return record

    replays = set()
    for pause in (0.0, LONG):
        monkeypatch.setattr(arbiter.match.gathering, "GATHER_PAUSE", pause)
        monkeypatch.setattr(arbiter.match.gathering, "SHORT_PAUSE", pause)
        for seed in range(2):
            links = [DisorderlyLink(Uniform(), seed + place) for place in range(4)]
            replays.add(check(held.run(without_waiting(plan_of(boards=boards), links))))
    assert len(replays) == 1


class Gated(BentLink):
    """Gives its answers one by one, each when it is let."""

    def __init__(self) -> None:
        super().__init__(Uniform(), rows)
        self.let = asyncio.Semaphore(0)

    async def receive(self) -> pb.SitRequest:
        await self.let.acquire()
        return await super().receive()


def test_requests_wait_for_more_while_another_bot_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 32 tables a bot is sent eight at once or more, as long as somebody is at work who may add to them; one that
    thinks is not made to wait for them."""

    async def plays_sent(pause: float, short: float = 0.0, tick: float = 0.0) -> list[int]:
        """Card requests in the messages that three bots are sent while the fourth answers nothing. Whenever a clock is
        looked at, it goes on by a tick."""
        monkeypatch.setattr(arbiter.match.gathering, "GATHER_PAUSE", pause)
        monkeypatch.setattr(arbiter.match.gathering, "SHORT_PAUSE", short)
        now = count(0.0, tick).__next__
        gated, others = Gated(), [BentLink(Uniform()) for _ in range(3)]
        rules = rule_set("black_lady", (), {"pass_cycle": ["none"], "pass_count": 0})
        plan = plan_of(rules, boards=32, clock=Clock(bank=1e9, hard_stop=1e9))
        playing = asyncio.ensure_future(play_sitting(plan, [gated, *others], now=now))
        for _ in range(SETTLING):
            await asyncio.sleep(0)
        # The first messages apart: they go out before anybody is at work.
        sent = [len(batch.play_requests.request_id) for link in others for batch in link.batches[1:]]
        for _ in range(1000):
            gated.let.release()
        check(await playing)
        return sent

    assert min(asyncio.run(plays_sent(LONG)), default=8) >= 8
    assert min(asyncio.run(plays_sent(0.0))) < 8
    assert min(asyncio.run(plays_sent(LONG, tick=1.0))) < 8
    assert min(asyncio.run(plays_sent(0.0, short=LONG, tick=1.0)), default=8) >= 8


class Watched(BentLink):
    """Counts, with others, how many owe answers."""

    owing: ClassVar[set[Watched]] = set()
    most: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__(Uniform(), rows)

    async def send(self, batch: pb.SitResponse) -> None:
        await super().send(batch)
        if self._queue.qsize():
            self.owing.add(self)
            Watched.most = max(self.most, len(self.owing))

    async def receive(self) -> pb.SitRequest:
        await asyncio.sleep(0)  # so that others may be sent something meanwhile
        message = await super().receive()
        if self._queue.empty():
            self.owing.discard(self)
        return message


@pytest.mark.parametrize("at_once", [1, 2, 3, None])
def test_no_more_bots_are_at_work_than_may_be(at_once: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watched, "most", 0)
    plan = plan_of(boards=16)
    record = held.run(play_sitting(plan, [Watched() for _ in range(4)], now=lambda: 0.0, at_once=at_once))
    assert Watched.most == (at_once or 4)
    assert check(record) == check(play(plan, [BentLink(Uniform()) for _ in range(4)]))
