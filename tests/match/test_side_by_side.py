"""Tables that are played by array operations come to the same replay, byte for byte, as tables played one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import arbiter.match.side_by_side
import arbiter.match.sitting
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import rule_set
from arbiter.engine.rows import HandRows
from arbiter.links import FaultCode, LinkLost
from arbiter.match import FaultPolicy, SittingPlan
from arbiter.sdk import Card, CardView, PassView
from tests.match.support import VARIANTS, BentLink, DisorderlyLink, Uniform, check, plan_of, play

NEVER = 1 << 30


class Faulty(Uniform):
    """Now and then passes or plays any cards at all, as its bot seed and the decision have it."""

    def choose_pass(self, view: PassView) -> list[Card]:
        cards = super().choose_pass(view)
        return cards if view.random.random() > 0.1 else [Card(view.random.randrange(52)) for _ in cards]

    def choose_card(self, view: CardView) -> Card:
        card = super().choose_card(view)
        return card if view.random.random() > 0.02 else Card(view.random.randrange(52))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cards each operation played; array operations are used from one table on."""
    monkeypatch.setattr(arbiter.match.sitting, "MANY_TABLES", 1)
    monkeypatch.setattr(arbiter.match.side_by_side, "FEW", 1)
    counts: list[int] = []
    whole = HandRows.play

    def counted(self: HandRows, rows: object, cards: object) -> object:
        counts.append(len(cards))  # type: ignore[arg-type]  # an array
        return whole(self, rows, cards)  # type: ignore[arg-type]  # the same

    monkeypatch.setattr(HandRows, "play", counted)
    return counts


def _one_by_one(plan: SittingPlan, bot: type[Uniform], monkeypatch: pytest.MonkeyPatch) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(arbiter.match.sitting, "MANY_TABLES", NEVER)
        return check(play(plan, [BentLink(bot()) for _ in plan.bots]))


@pytest.mark.parametrize("bot", [Uniform, Faulty])
@pytest.mark.parametrize(
    ("name", "options"), VARIANTS, ids=lambda value: value if isinstance(value, str) else "".join(value)
)
def test_every_rule_set(
    name: str, options: tuple[str, ...], bot: type[Uniform], played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = "mixed_moon" in (*options, name.removeprefix("black_lady_"))
    rules = rule_set(name, options, {"target": 30} if game else {})
    plan = plan_of(rules, boards=1 if game else 6, game=game, fault_limit=1000)
    plan = replace(plan, early_end=bot is Faulty)
    expected = _one_by_one(plan, bot, monkeypatch)
    assert not played
    assert check(play(plan, [BentLink(bot()) for _ in plan.bots])) == expected
    assert bool(played) == (plan.rules.decks == 1)
    assert check(play(plan, [DisorderlyLink(bot(), seed) for seed in range(len(plan.bots))])) == expected


@pytest.mark.parametrize("policy", FaultPolicy)
def test_every_fault_policy(policy: FaultPolicy, played: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(boards=40, fault_limit=1000, fault_policy=policy)
    expected = _one_by_one(plan, Faulty, monkeypatch)
    assert check(play(plan, [BentLink(Faulty()) for _ in plan.bots])) == expected
    assert sum(played) > 500


def test_small_messages_and_large_ones(played: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables go from one way of playing to the other and back as messages shrink and grow."""
    monkeypatch.setattr(arbiter.match.side_by_side, "FEW", 4)
    plan = plan_of(boards=32, fault_limit=1000)
    expected = _one_by_one(plan, Faulty, monkeypatch)
    assert check(play(plan, [DisorderlyLink(Faulty(), seed) for seed in range(4)])) == expected
    assert 0 < sum(played) < 32 * 52
    assert min(played) >= 4


def test_games_go_from_hand_to_hand(played: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(rule_set("black_lady", ("choice_moon",), {"target": 60}), boards=8, game=True)
    expected = _one_by_one(plan, Uniform, monkeypatch)
    assert check(play(plan, [BentLink(Uniform()) for _ in plan.bots])) == expected
    assert sum(played) > 52 * 16


def test_a_bot_that_is_lost_leaves_the_tables_to_its_stand_in(played: list[int]) -> None:
    def lost(honest: pb.SitRequest) -> Iterator[pb.SitRequest | LinkLost]:
        if sum(played) > 500:
            yield LinkLost(FaultCode.CRASH, "as seen")
        yield honest

    record = play(plan_of(boards=40), [BentLink(Uniform(), lost), *(BentLink(Uniform()) for _ in range(3))])
    assert [fault.code for fault in record.faults] == [FaultCode.CRASH]
    assert 500 < sum(played) < 1000, "from then on tables are played one by one"


def test_answers_that_are_repeated_late_or_of_no_kind(played: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nonsense beside right answers costs its bot a fault and no card: the cards are those of honest bots."""

    def nonsense(honest: pb.SitRequest) -> Iterator[pb.SitRequest]:
        if honest.plays.request_id:
            honest.plays.request_id.append(honest.plays.request_id[0])
            honest.plays.card.append(honest.plays.card[0])
            honest.plays.request_id.append(1_000_000)
            honest.plays.card.append(0)
        yield honest

    plan = plan_of(boards=12, fault_limit=10_000)
    honest = play(plan, [BentLink(Uniform()) for _ in range(4)])
    record = play(plan, [BentLink(Uniform(), nonsense), *(BentLink(Uniform()) for _ in range(3))])
    assert record.hands == honest.hands
    assert {fault.code for fault in record.faults} == {FaultCode.PROTOCOL_ERROR}
