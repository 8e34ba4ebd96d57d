"""Cards that are hidden from a seat change no byte that is sent to it.

Two deals give one seat the same cards; the others play by one script in both, as far as the rules let them. Up to the
first event that shows a difference the seat has to be sent the very same bytes, and then different ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import arbiter.match.table
from arbiter.deals import Deal, deal
from arbiter.engine import Card, Rules, RuleSet, cards_of, compile_rules, mask_of, rule_set
from arbiter.match import HandRecord, play_sitting
from arbiter.sdk import Bot, CardView, PassView
from tests.match.support import BentLink, Uniform, plan_of

GAMES = {
    **{f"pass {way}": rule_set("black_lady", (), {"pass_cycle": [way]}) for way in ("left", "right", "across")},
    "no pass": rule_set("black_lady", (), {"pass_cycle": ["none"], "pass_count": 0}),
    "three seats": rule_set("black_maria_3"),
    "two packs and a kitty": rule_set("cancellation"),
}
KITTY = -1


class Scripted(Bot):
    """Passes what it was given to pass and plays its part of a script, while the rules allow it."""

    def __init__(self, passes: Sequence[int], script: Sequence[int]) -> None:
        self._passes = passes
        self._script = script

    def choose_pass(self, view: PassView) -> list[Card]:
        return [Card(index) for index in self._passes]

    def choose_card(self, view: CardView) -> Card:
        at = len(view.tricks) * view.players + len(view.trick)
        return Card(self._script[at]) if view.legal_mask >> self._script[at] & 1 else view.legal[0]


def play_board(rules: RuleSet, dealt: Deal, bots: Sequence[Bot]) -> tuple[HandRecord, list[list[bytes]]]:
    """One board with these cards: its record and, by seat, the batches that were sent."""

    def these_cards(compiled: Rules, deal_seed: bytes, board: int, hand_number: int) -> Deal:
        return dealt

    links = [BentLink(bot) for bot in bots]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arbiter.match.table, "deal", these_cards)
        record = asyncio.run(play_sitting(plan_of(rules, boards=1), links, now=lambda: 0.0))
    assert not record.faults
    (hand,) = record.hands
    sent = [[batch.SerializeToString(deterministic=True) for batch in links[place].batches] for place in hand.places]
    return hand, sent


def public_events(hand: HandRecord, seat: int) -> tuple[list[object], list[int]]:
    """What the table saw, in order, and after how many events each card of the seat was due."""
    events: list[object] = []
    due: list[int] = []
    for trick in hand.tricks:
        events.append(f"seat {trick.leader} leads")
        for turn, card in enumerate(trick.cards):
            if (trick.leader + turn) % len(hand.places) == seat:
                due.append(len(events))
            events.append(card)
        events.append((trick.winner, trick.points))
    return events, due


def hidden_changed(hand: HandRecord, seat: int, after: int, chance: random.Random) -> Deal:
    """The deal with the cards shuffled that the other seats play after trick ``after``, and those of the kitty."""
    passed = {card for cards in hand.passed or () for card in cards}
    owners: list[int] = [KITTY] * len(cards_of(hand.kitty))
    cards: list[int] = [card.index for card in cards_of(hand.kitty)]
    for trick in hand.tricks[after:]:
        for turn, card in enumerate(trick.cards):
            owner = (trick.leader + turn) % len(hand.places)
            if owner != seat and card not in passed:
                owners.append(owner)
                cards.append(card)
    held = {owner: [card.index for card in cards_of(mask)] for owner, mask in enumerate(hand.dealt)}
    held[KITTY] = [card.index for card in cards_of(hand.kitty)]
    for owner, card in zip(owners, cards, strict=True):
        held[owner].remove(card)
    chance.shuffle(cards)
    for owner, card in zip(owners, cards, strict=True):
        held[owner].append(card)
    return Deal(tuple(mask_of(held[owner]) for owner in range(len(hand.places))), mask_of(held[KITTY]))


@pytest.mark.parametrize("game", GAMES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), at=st.integers(0, 5), after=st.integers(0, 12))
def test_a_seat_is_sent_nothing_that_depends_on_hidden_cards(game: str, seed: int, at: int, after: int) -> None:
    rules = GAMES[game]
    seat = at % rules.players
    dealt = deal(compile_rules(rules), seed.to_bytes(8, "big"), 1)
    drawn, _ = play_board(rules, dealt, [Uniform() for _ in range(rules.players)])
    script = [card for trick in drawn.tricks for card in trick.cards]
    passes = drawn.passed or ((),) * rules.players
    bots = [Scripted(passes[drawn.places.index(place)], script) for place in range(rules.players)]
    changed = hidden_changed(drawn, seat, after, random.Random(seed))
    assume(changed != dealt)
    assert changed.hands[seat] == dealt.hands[seat]

    one, sent_one = play_board(rules, dealt, bots)
    other, sent_other = play_board(rules, changed, bots)
    assert [trick.cards for trick in one.tricks] == [trick.cards for trick in drawn.tricks]

    events, due = public_events(one, seat)
    events_other, _ = public_events(other, seat)
    pairs = zip(events, events_other, strict=True)
    common = next((number for number, (ours, theirs) in enumerate(pairs) if ours != theirs), len(events))
    same = (one.passed is not None) + sum(number <= common for number in due)
    if common == len(events):
        same += 1  # the end of the hand and of the sitting
    assert sent_one[seat][:same] == sent_other[seat][:same]
    assert sent_one[seat][same:][:1] != sent_other[seat][same:][:1] or common == len(events)
