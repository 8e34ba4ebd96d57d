"""What the tests of sittings share: plans, bots that can be foretold, and links whose messages a test can bend."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.cage import Load
from arbiter.deals import derive_bot_seed
from arbiter.engine import OPTIONS, RULE_SETS, RuleSet, rule_set
from arbiter.links import Ending, Link, LinkLost
from arbiter.match import (
    Clock,
    FaultPolicy,
    MatchFormat,
    SeatedBot,
    SittingPlan,
    SittingRecord,
    play_sitting,
    read_replay,
    replay_of,
    verify_replay,
    write_replay,
)
from arbiter.sdk import BaseBot, Bot, Card, CardView, MoonView, PassView, Session
from tests.match import held
from tests.patience import PATIENCE

UNHURRIED = Clock(start_up=PATIENCE, bank=PATIENCE, hard_stop=PATIENCE)
"""For bots that are processes or come over a real stream: however slow the machine, no clock comes into it."""

TOURNAMENT_SEED = b"seed of the tests' tournaments"
DEAL_SEED = bytes(range(32))

VARIANTS = [(name, ()) for name in RULE_SETS] + [(name, (option,)) for name in OPTIONS for option in OPTIONS[name]]
"""Every named rule set, plain and with each of its options."""

Bend = Callable[[pb.SitRequest], Iterable[pb.SitRequest | LinkLost]]
"""Turns an honest message into what is sent in its place; an error ends the link there."""


class Uniform(Bot):
    """Any legal card, from ``view.random`` alone."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.random.sample(view.hand, view.pass_count)

    def choose_card(self, view: CardView) -> Card:
        return view.random.choice(view.legal)

    def choose_moon(self, view: MoonView) -> bool:
        return view.random.random() < 0.5


class BentLink(Link):
    """A bot in this process whose messages go through ``bend``; keeps every batch that it was sent.

    Unlike a real bot's silence, an empty queue is waited for with no end of its own: the sitting's clock has to end it.
    """

    def __init__(self, bot: BaseBot, bend: Bend | None = None) -> None:
        self.batches: list[pb.SitResponse] = []
        self.closed = 0
        self._session = Session(bot)
        self._bend = bend
        self._queue: asyncio.Queue[pb.SitRequest | LinkLost] = asyncio.Queue()

    async def open(self, patience: float) -> pb.Greeting:
        return self._session.greeting().greeting

    async def send(self, batch: pb.SitResponse) -> None:
        self.batches.append(batch)
        for honest in self._session.handle(batch):
            for message in self._bend(honest) if self._bend else [honest]:
                self._queue.put_nowait(message)

    async def receive(self) -> pb.SitRequest:
        message = await self._queue.get()
        if isinstance(message, LinkLost):
            raise message
        return message

    async def close(self, grace: float) -> Ending:
        self.closed += 1
        return Ending("closed", b"")


class DisorderlyLink(BentLink):
    """Answers in any order, in messages of any size, and lets others go first as it pleases."""

    def __init__(self, bot: BaseBot, seed: int) -> None:
        super().__init__(bot, self._disorder)
        self._random = random.Random(seed)

    def _disorder(self, honest: pb.SitRequest) -> Iterable[pb.SitRequest]:
        answers = rows(honest)
        self._random.shuffle(answers)
        while answers:
            message = pb.SitRequest()
            for _ in range(self._random.randint(1, len(answers))):
                message.MergeFrom(answers.pop())
            yield message

    async def receive(self) -> pb.SitRequest:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        return await super().receive()


def rows(message: pb.SitRequest) -> list[pb.SitRequest]:
    """The answers of a message, each in one of its own."""
    passes, plays, moons = message.passes, message.plays, message.moons
    count = len(passes.cards) // (len(passes.request_id) or 1)
    return [
        *(
            pb.SitRequest(passes=pb.PassAnswers(request_id=[id_], cards=passes.cards[row * count : (row + 1) * count]))
            for row, id_ in enumerate(passes.request_id)
        ),
        *(
            pb.SitRequest(plays=pb.PlayAnswers(request_id=[id_], card=[card]))
            for id_, card in zip(plays.request_id, plays.card, strict=True)
        ),
        *(
            pb.SitRequest(moons=pb.MoonAnswers(request_id=[id_], subtract=[subtract]))
            for id_, subtract in zip(moons.request_id, moons.subtract, strict=True)
        ),
    ]


def plan_of(
    rules: RuleSet | str = "black_lady",
    *,
    boards: int = 2,
    game: bool = False,
    seating: int = 0,
    open_tables: int = 64,
    fault_limit: int = 3,
    fault_policy: FaultPolicy = FaultPolicy.STAND_IN,
    early_end: bool = False,
    clock: Clock | None = None,
    deal_seed: bytes = DEAL_SEED,
) -> SittingPlan:
    """A plan in which the bot in place p is entrant 10 + p."""
    known = rule_set(rules) if isinstance(rules, str) else rules
    return SittingPlan(
        sitting="test/0/0",
        rules=known,
        format=MatchFormat.GAME if game else MatchFormat.HANDS,
        boards=boards,
        deal_seed=deal_seed,
        seating=seating,
        bots=tuple(
            SeatedBot(
                10 + place,
                f"bot{place}",
                f"{place:064x}",
                derive_bot_seed(TOURNAMENT_SEED, 0, seating, place),
                clock or Clock(),
            )
            for place in range(known.players)
        ),
        open_tables=open_tables,
        fault_limit=fault_limit,
        fault_policy=fault_policy,
        early_end=early_end,
    )


async def sit(
    plan: SittingPlan,
    links: Sequence[Link],
    on_hand: Callable[[], None] = lambda: None,
    read_load: Callable[[Sequence[int | None]], Load] | None = None,
) -> SittingRecord:
    """Play a sitting whose bots' clocks are read from the event loop's, which may be one of :mod:`tests.match.held`."""
    return await play_sitting(plan, links, on_hand, asyncio.get_running_loop().time, read_load)


def play(plan: SittingPlan, links: Sequence[Link]) -> SittingRecord:
    """Play a sitting, and check what holds for every sitting, whatever the bots did.

    Time passes only while all bots are silent.
    """
    record = held.run(sit(plan, links))
    assert {hand.board for hand in record.hands} == set(range(1, plan.boards + 1)), "every board is played"
    check(record)
    return record


def check(record: SittingRecord) -> bytes:
    """The replay's bytes, after it was verified and read back."""
    replay = replay_of(record.plan, record.hands, record.faults)
    verify_replay(replay, record.plan.deal_seed)
    data = write_replay(replay)
    assert read_replay(data) == replay
    assert write_replay(read_replay(data)) == data
    return data
