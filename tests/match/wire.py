"""A sitting over real gRPC streams on unix sockets, in lock-step: what comes over the wire to each seat, byte by byte.

Only the bots' processes are left out: each bot is a task here that dials its socket with its token and takes its
messages as the bytes that they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

import arbiter.match.sitting
import arbiter.match.table
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.cage import BotProcess, Cage, Exit, Launch, Manifest
from arbiter.deals import Deal
from arbiter.engine import Rules
from arbiter.links import BotHost, ProcessLink
from arbiter.links.host import Connection
from arbiter.match import HandRecord, SittingPlan, play_sitting
from arbiter.sdk import Bot, Session
from tests.cage.support import open_folder
from tests.match.hidden import common
from tests.match.support import UNHURRIED
from tests.patience import PATIENCE

SIT = "/arbiter.api.bot.v1.BotService/Sit"
SETTLING = 10
"""Turns of the event loop after which whoever has got something to send has begun to. Three are needed."""


@dataclass
class Traffic:
    """All that went over the wire."""

    received: list[list[bytes]]
    """By place: the messages as its client got them."""
    log: list[tuple[int, bytes | None]] = field(default_factory=list)
    """In the order of the lock-step: a place and its answers as they were taken; None for a message sent to it."""
    hands: tuple[HandRecord, ...] = ()

    def sent_before(self, other: Traffic, place: int) -> int:
        """How many messages this place was sent before somebody else's answers were other ones than in the other
        sitting."""
        ours, theirs = (
            [entry for entry in traffic.log if entry[0] != place and entry[1] is not None] for traffic in (self, other)
        )
        same = common(ours, theirs)
        sent = answered = 0
        for who, answers in self.log:
            answered += who != place and answers is not None
            if answered > same:
                break
            sent += who == place and answers is None
        return sent


class LockStep:
    """Answers wait until everybody has answered who was asked, and are then taken one bot after the other."""

    def __init__(self, log: list[tuple[int, bytes | None]]) -> None:
        self.log = log
        self._asked: set[int] = set()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._changed = asyncio.Event()

    def asked(self, place: int, batch: pb.SitResponse) -> None:
        """A batch is being sent."""
        self.log.append((place, None))
        if not batch.HasField("match_end"):
            self._asked.add(place)

    async def turn(self, place: int, answers: pb.SitRequest) -> None:
        """Wait until these answers may be taken."""
        self._waiting[place] = asyncio.get_running_loop().create_future()
        self._asked.discard(place)
        self._changed.set()
        await self._waiting[place]
        self.log.append((place, answers.SerializeToString(deterministic=True)))

    async def run(self) -> None:
        """Let the answers through, as long as the sitting lasts."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                for _ in range(SETTLING):
                    await asyncio.sleep(0)
                if self._asked:
                    break
                self._waiting.pop(min(self._waiting)).set_result(None)


class LockStepLink(ProcessLink):
    """A process link whose answers wait for their turn."""

    def __init__(
        self, place: int, lock_step: LockStep, bot: Bot, connection: Connection, received: list[bytes]
    ) -> None:
        launch = Launch(Path(), Manifest("task", "python", ("task",)), connection.socket)
        super().__init__(cast("Cage", Dialler(bot, connection, received)), launch, connection)
        self._place = place
        self._lock_step = lock_step
        self._greeted = False

    async def send(self, batch: pb.SitResponse) -> None:
        self._lock_step.asked(self._place, batch)
        await super().send(batch)

    async def receive(self) -> pb.SitRequest:
        answers = await super().receive()
        if self._greeted:
            await self._lock_step.turn(self._place, answers)
        self._greeted = True
        return answers


class Dialler:
    """In a cage's place: "starts" a bot as a task that dials."""

    def __init__(self, bot: Bot, connection: Connection, received: list[bytes]) -> None:
        self._bot = bot
        self._connection = connection
        self._received = received

    async def start(self, launch: Launch) -> BotProcess:
        return cast("BotProcess", TaskProcess(asyncio.ensure_future(self._play())))

    async def _play(self) -> None:
        session = Session(self._bot)
        connection = self._connection
        async with grpc.aio.insecure_channel(f"unix:{connection.socket}") as channel:
            sit: Any = channel.stream_stream(SIT, request_serializer=pb.SitRequest.SerializeToString)
            call = sit(metadata=(("authorization", f"Bearer {connection.token}"),), wait_for_ready=True)
            await call.write(session.greeting())
            while not session.ended:
                data = await call.read()
                assert isinstance(data, bytes), await call.details()
                self._received.append(data)
                answers = pb.SitRequest()
                for part in session.handle(pb.SitResponse.FromString(data)):
                    answers.MergeFrom(part)  # one message, however long the bot took over it
                if not session.ended:
                    await call.write(answers)
            await call.done_writing()


class TaskProcess:
    """What a link asks of a process, for a task."""

    def __init__(self, task: asyncio.Future[None]) -> None:
        self._task = task
        self.log = b""

    async def wait(self) -> Exit:
        await asyncio.shield(self._task)
        return Exit(code=0)

    async def stop(self, grace: float) -> Exit:
        return await self.wait()


def play_over_the_wire(plan: SittingPlan, bots: Sequence[Bot], deals: dict[int, Deal]) -> Traffic:
    """Play these boards; the clock stands still, and nothing that is sent is cut off because the machine is slow."""

    def these_cards(rules: Rules, deal_seed: bytes, board: int, hand_number: int) -> Deal:
        return deals[board]

    with pytest.MonkeyPatch.context() as patch, open_folder() as folder:
        patch.setattr(arbiter.match.table, "deal", these_cards)
        patch.setattr(arbiter.match.sitting, "END_GRACE", PATIENCE)
        unhurried = replace(plan, bots=tuple(replace(bot, clock=UNHURRIED) for bot in plan.bots))
        return asyncio.run(_sit(unhurried, bots, folder))


async def _sit(plan: SittingPlan, bots: Sequence[Bot], folder: Path) -> Traffic:
    traffic = Traffic([[] for _ in bots])
    lock_step = LockStep(traffic.log)
    host = BotHost(folder)
    links = [
        LockStepLink(place, lock_step, bot, host.add(str(place)), traffic.received[place])
        for place, bot in enumerate(bots)
    ]
    async with host:
        steps = asyncio.ensure_future(lock_step.run())
        try:
            record = await play_sitting(plan, links, now=lambda: 0.0)
        finally:
            steps.cancel()
    assert not record.faults
    traffic.hands = record.hands
    return traffic
