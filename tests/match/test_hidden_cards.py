"""Cards that are hidden from a seat change no byte that is sent to it.

Two deals give one seat the same cards; the others play by one script in both, as far as the rules let them. Up to the
first event that shows a difference the seat has to be sent the very same bytes, and then different ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import arbiter.match.table
from arbiter.deals import Deal, deal
from arbiter.engine import Rules, RuleSet, compile_rules, rule_set
from arbiter.match import HandRecord, play_sitting
from arbiter.sdk import Bot
from tests.match.hidden import Scripted, common, hidden_changed, public_events, script_of
from tests.match.support import BentLink, Uniform, plan_of
from tests.match.wire import play_over_the_wire

GAMES = {
    **{f"pass {way}": rule_set("black_lady", (), {"pass_cycle": [way]}) for way in ("left", "right", "across")},
    "no pass": rule_set("black_lady", (), {"pass_cycle": ["none"], "pass_count": 0}),
    "partnership": rule_set("partnership"),
    "three seats": rule_set("black_maria_3"),
    "two packs and a kitty": rule_set("cancellation"),
}
BOARDS = (1, 2, 3)


def play_boards(
    rules: RuleSet, deals: dict[int, Deal], bots: Sequence[Bot]
) -> tuple[tuple[HandRecord, ...], list[list[bytes]]]:
    """Boards with these cards, one after the other: their records and, by place, the batches that were sent."""

    def these_cards(compiled: Rules, deal_seed: bytes, board: int, hand_number: int) -> Deal:
        return deals[board]

    links = [BentLink(bot) for bot in bots]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arbiter.match.table, "deal", these_cards)
        plan = plan_of(rules, boards=len(deals), open_tables=1)
        record = asyncio.run(play_sitting(plan, links, now=lambda: 0.0))
    assert not record.faults
    return record.hands, [[batch.SerializeToString(deterministic=True) for batch in link.batches] for link in links]


@dataclass(frozen=True)
class Worlds:
    """Two deals of each board that look the same to the bot in one place, and bots that play the same in both."""

    rules: RuleSet
    deals: dict[int, Deal]
    changed: dict[int, Deal]
    bots: list[Scripted]

    @classmethod
    def drawn(
        cls, rules: RuleSet, place: int, seed: int, after: int, boards: Sequence[int], *, kitty: bool = True
    ) -> Worlds:
        """Boards and changes from a seed; cards differ that are played after trick ``after``, and the kitty's."""
        compiled, chance = compile_rules(rules), random.Random(seed)
        deals = {board: deal(compiled, seed.to_bytes(8, "big"), board) for board in boards}
        hands, _ = play_boards(rules, deals, [Uniform() for _ in range(rules.players)])
        changed = {
            hand.board: hidden_changed(hand, hand.places.index(place), after, chance, kitty=kitty) for hand in hands
        }
        for hand in hands:
            seat = hand.places.index(place)
            assert changed[hand.board].hands[seat] == hand.dealt[seat]
        scripts = {hand.board: script_of(hand) for hand in hands}
        return cls(rules, deals, changed, [Scripted(number, scripts) for number in range(rules.players)])


def messages_alike(one: Sequence[HandRecord], other: Sequence[HandRecord], place: int) -> tuple[int, bool]:
    """How many messages to a place hold no visible difference, at boards that are played one after the other, and
    whether these are all."""
    events, due = public_events(one, place)
    events_other, _ = public_events(other, place)
    same = common(events, events_other)
    if same == len(events):
        return len(due) + 1, True  # the end of the last hand and of the sitting
    return sum(number <= same for number in due), False


DRAWN = {"seed": st.integers(0, 2**32), "at": st.integers(0, 5), "after": st.integers(0, 12)}


@pytest.mark.parametrize("game", GAMES)
@settings(max_examples=15)
@given(**DRAWN)
def test_a_seat_is_sent_nothing_that_depends_on_hidden_cards(game: str, seed: int, at: int, after: int) -> None:
    rules = GAMES[game]
    place = at % rules.players
    worlds = Worlds.drawn(rules, place, seed, after, BOARDS[:1])
    assume(worlds.changed != worlds.deals)
    one, sent_one = play_boards(rules, worlds.deals, worlds.bots)
    other, sent_other = play_boards(rules, worlds.changed, worlds.bots)
    same, everything = messages_alike(one, other, place)
    assert sent_one[place][:same] == sent_other[place][:same]
    assert everything or sent_one[place][same] != sent_other[place][same]


@pytest.mark.parametrize("game", GAMES)
@settings(max_examples=4)
@given(**DRAWN)
def test_no_byte_on_the_wire_depends_on_hidden_cards(game: str, seed: int, at: int, after: int) -> None:
    """Through real streams, over boards that are played one after the other."""
    rules = GAMES[game]
    place = at % rules.players
    worlds = Worlds.drawn(rules, place, seed, after, BOARDS[:2])
    assume(worlds.changed != worlds.deals)
    plan = plan_of(rules, boards=2, open_tables=1)
    one = play_over_the_wire(plan, worlds.bots, worlds.deals)
    other = play_over_the_wire(plan, worlds.bots, worlds.changed)
    same, everything = messages_alike(one.hands, other.hands, place)
    assert one.received[place][:same] == other.received[place][:same]
    assert everything or one.received[place][same] != other.received[place][same]


@pytest.mark.parametrize("game", GAMES)
@settings(max_examples=4)
@given(**DRAWN | {"after": st.integers(1, 12)})
def test_batches_over_many_tables_depend_on_no_hidden_card(game: str, seed: int, at: int, after: int) -> None:
    """Through real streams in lock-step: until somebody else plays another card because of the change, at whatever
    table, the bot is sent the very same messages, and the same number of them."""
    rules = GAMES[game]
    place = at % rules.players
    # Who leads first, with 2C, and the kitty's points show without anybody's doing; these stay as they are.
    worlds = Worlds.drawn(rules, place, seed, after, BOARDS, kitty=False)
    assume(worlds.changed != worlds.deals)
    plan = plan_of(rules, boards=len(BOARDS), open_tables=len(BOARDS))
    one = play_over_the_wire(plan, worlds.bots, worlds.deals)
    other = play_over_the_wire(plan, worlds.bots, worlds.changed)
    same = one.sent_before(other, place)
    assert same == other.sent_before(one, place)
    assert same or rules.pass_count == 0
    assert one.received[place][:same] == other.received[place][:same]
