"""Whatever bots do in whatever sitting, its replay passes every check; and what passes after a change to any of its
values still says the same of seats, cards and scores."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.deals import ROTATIONS, Seatings, SeatingsKind, commitment
from arbiter.engine import rule_set
from arbiter.links import ENDING_FAULTS, FaultCode, LinkLost
from arbiter.match import (
    FaultPolicy,
    HandRecord,
    Replay,
    ReplayError,
    SittingPlan,
    check_planned,
    pack_replay,
    read_replay,
    replay_of,
    unpack_replay,
    verify_replay,
    write_replay,
)
from arbiter.match.notation import read_notation, write_notation
from arbiter.sdk import Card, CardView, PassView
from tests.match import held
from tests.match.replays import lines_within
from tests.match.support import VARIANTS, BentLink, Uniform, plan_of, rows, sit

LOSSES = sorted({*ENDING_FAULTS, FaultCode.PROTOCOL_ERROR})


@dataclass(frozen=True)
class Nature:
    """How often a bot does what it should not."""

    illegal: float
    """Of its decisions."""
    nonsense: float
    """Of its messages."""
    lost: float
    """Of its messages: how often it is lost in place of one."""


Wilds = list[tuple[Nature, int]]
"""By place: a bot's nature, and the seed of its doings."""


class Wild(Uniform):
    """Now and then passes or plays any cards at all, some of which it holds."""

    def __init__(self, chance: random.Random, illegal: float) -> None:
        self._chance = chance
        self._illegal = illegal

    def choose_pass(self, view: PassView) -> list[Card]:
        if self._chance.random() < self._illegal:
            return [Card(self._chance.randrange(52)) for _ in range(view.pass_count)]
        return super().choose_pass(view)

    def choose_card(self, view: CardView) -> Card:
        if self._chance.random() < self._illegal:
            return self._chance.choice([Card(self._chance.randrange(52)), self._chance.choice(view.hand)])
        return super().choose_card(view)


class WildLink(BentLink):
    """Answers in any order and number of messages, some of which are nonsense, and may be lost at any of them."""

    def __init__(self, nature: Nature, seed: int) -> None:
        self._chance = random.Random(seed)
        self._nature = nature
        super().__init__(Wild(self._chance, nature.illegal), self._messages)

    async def open(self, patience: float) -> pb.Greeting:
        if self._chance.random() < self._nature.lost:
            raise LinkLost(FaultCode.CRASH, "ended before its greeting")
        greeting = await super().open(patience)
        greeting.max_open_tables = self._chance.choice([1, 7, 64])
        return greeting

    async def receive(self) -> pb.SitRequest:
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)
        return await super().receive()

    def _messages(self, honest: pb.SitRequest) -> Iterator[pb.SitRequest | LinkLost]:
        chance, nature = self._chance, self._nature
        answers = rows(honest)
        chance.shuffle(answers)
        while answers:
            message = pb.SitRequest()
            for _ in range(chance.randint(1, len(answers))):
                message.MergeFrom(answers.pop())
            if chance.random() < nature.lost:
                yield LinkLost(chance.choice(LOSSES), "as seen")
            if chance.random() < nature.nonsense:
                yield from self._nonsense(message)
            else:
                yield message

    def _nonsense(self, message: pb.SitRequest) -> Iterable[pb.SitRequest]:
        chance = self._chance
        asked = [*message.plays.request_id, *message.passes.request_id]
        match chance.randrange(8):
            case 0:
                return [pb.SitRequest(), message]
            case 1:
                return [message, message]
            case 2:  # columns of unequal length
                message.plays.request_id.append(chance.choice([0, 99_999, *asked]))
            case 3:  # alone it is an illegal pass
                message.passes.cards.append(chance.randrange(60))
            case 4:  # a choice that was not asked for
                message.moons.MergeFrom(pb.MoonAnswers(request_id=[chance.choice(asked or [7])], subtract=[True]))
            case 5:  # a request that was never sent
                message.plays.MergeFrom(pb.PlayAnswers(request_id=[99_999], card=[1]))
            case 6:  # more answers than can be due
                return [pb.SitRequest(plays=pb.PlayAnswers(request_id=[1] * 300, card=[1] * 300)), message]
            case _:
                for row in range(len(message.plays.card)):
                    message.plays.card[row] = chance.choice([52, 2**32 - 1])
        return [message]


NATURES = st.builds(
    Nature,
    illegal=st.sampled_from([0.0, 0.0, 0.02, 0.3]),
    nonsense=st.sampled_from([0.0, 0.0, 0.02, 0.2]),
    lost=st.sampled_from([0.0, 0.0, 0.01, 0.1]),
)


@st.composite
def plans(draw: st.DrawFn) -> SittingPlan:
    """A sitting under any named rule set, in every way in which one can be set up."""
    name, options = draw(st.sampled_from(VARIANTS))
    # The mixed moon looks at running totals; a moon in hearts of no value is shot by whoever gets the queen.
    game = draw(st.booleans()) or "mixed_moon" in (*options, name.removeprefix("black_lady_"))
    choice = "choice_moon" in options and draw(st.booleans())
    rules = rule_set(name, options, {"heart_value": 0} if choice else {})
    kinds = [ROTATIONS, Seatings(SeatingsKind.RANDOM, 3)]
    if rules.players <= 4:
        kinds.append(Seatings(SeatingsKind.ALL))
    policies = [each for each in FaultPolicy if each is not FaultPolicy.PENALTY or rules.winner != "highest"]
    plan = plan_of(
        rules,
        boards=draw(st.integers(1, 2 if game else 8)),
        game=game,
        seating=draw(st.integers(0, 2)),
        open_tables=draw(st.integers(1, 64)),
        fault_limit=draw(st.sampled_from([0, 1, 2, 3, 1000])),
        fault_policy=draw(st.sampled_from(policies)),
        early_end=draw(st.booleans()),
        deal_seed=draw(st.binary(min_size=32, max_size=32)),
    )
    return replace(plan, seatings=draw(st.sampled_from(kinds)))


SEATED = plans().flatmap(
    lambda plan: st.tuples(
        st.just(plan),
        st.lists(st.tuples(NATURES, st.integers(0, 2**32)), min_size=len(plan.bots), max_size=len(plan.bots)),
    )
)
"""A sitting, and by place who plays."""


def play(seated: tuple[SittingPlan, Wilds]) -> tuple[SittingPlan, Replay]:
    """Play it; its replay."""
    plan, bots = seated
    record = held.run(sit(plan, [WildLink(nature, seed) for nature, seed in bots]))
    return plan, replay_of(plan, record.hands, record.faults)


def check(replay: Replay, plan: SittingPlan) -> None:
    """All that is looked at when a worker reports a sitting."""
    check_planned(replay, plan)
    verify_replay(replay, plan.deal_seed, commitment(plan.deal_seed), plan.open_tables)


@settings(max_examples=40)
@given(SEATED)
def test_an_honest_record_of_any_sitting_passes_every_check(seated: tuple[SittingPlan, Wilds]) -> None:
    plan, replay = play(seated)
    assert {hand.board for hand in replay.hands} == set(range(1, plan.boards + 1))
    check(replay, plan)
    data = write_replay(replay)
    assert read_replay(data) == replay
    assert write_replay(read_replay(data)) == data
    packed = pack_replay(replay)
    assert unpack_replay(packed) == replay
    assert not lines_within(packed), "no hand that is played here has to be kept as a line"
    text = write_notation(replay)
    assert read_notation(text) == replay
    assert write_notation(read_notation(text)) == text


def deal_and_score(replay: Replay) -> object:
    """All that a replay says but for who failed in what, and for the cards of hands that ended before their last.

    One of those may be another that the seat held and never played: nothing that was played later contradicts it.
    """
    return replace(replay, hands=tuple(_deal_and_score(hand) for hand in replay.hands), faults=())


def _deal_and_score(hand: HandRecord) -> HandRecord:
    bare = replace(hand, absent=(), missed=(), faults=())
    whole = len(hand.tricks) == hand.dealt[0].bit_count()
    return bare if whole else replace(bare, tricks=(), unfinished=())


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every value within a line."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def another(value: Any, chance: random.Random) -> Any:
    """Another value of its kind, mostly."""
    match value:
        case bool():
            return not value
        case int():
            return value + chance.choice([-1, 1, 13])
        case str() if " " in value and chance.random() < 0.7:
            return " ".join(chance.sample(words := value.split(), len(words)))
        case str():
            return chance.choice(["", "none", "left", "new", "old", "QS", "2C", "game", "ILLEGAL_PLAY", "TIMEOUT"])
        case list():
            return chance.choice([[], value[1:], value[::-1], [*value, *value[-1:]], [0], [[0, 1]], [[1, 14]]])
        case _:
            return chance.choice([None, 0, "", [], {}])


def tamper(line: dict[str, Any], chance: random.Random) -> None:
    """Change, drop or add a value anywhere in a line of a replay."""
    key = chance.choice(list(line))  # first, or most changes would be to the cards of tricks
    inner = list(places(line[key])) if isinstance(line[key], dict | list) else []
    container, place = chance.choice([(line, key), *inner])
    match chance.randrange(5):
        case 0:
            del container[place]
        case 1:
            line.setdefault(chance.choice(["absent", "missed", "offenders"]), []).append(chance.choice([0, 3, [1, 5]]))
        case _:
            container[place] = another(container[place], chance)


@settings(max_examples=20)
@given(SEATED, st.integers(0, 2**32))
def test_no_change_to_a_replay_that_passes_moves_a_card_or_a_score(
    seated: tuple[SittingPlan, Wilds], seed: int
) -> None:
    plan, replay = play(seated)
    chance = random.Random(seed)
    honest = [json.loads(line) for line in write_replay(replay).splitlines()]
    for _ in range(8):
        lines = copy.deepcopy(honest)
        tamper(chance.choice(lines), chance)
        try:
            changed = read_replay("".join(json.dumps(line) + "\n" for line in lines).encode())
        except ReplayError:
            continue
        assert unpack_replay(pack_replay(changed)) == changed, "one that does not verify is packed without loss too"
        try:
            check(changed, plan)
        except ReplayError:
            continue
        assert deal_and_score(changed) == deal_and_score(replay)
