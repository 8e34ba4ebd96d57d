"""A seat's view holds its own cards and what is public: cards that are hidden from it never change a byte of it.

Two deals are compared that a seat can't tell apart: hidden cards are exchanged among the others so that the same passes
and plays, seen from outside, remain legal and take the same tricks. Whenever the seat was asked, it must have seen the
same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings

from arbiter.engine import (
    Hand,
    IllegalPlay,
    PassDirection,
    PassView,
    Phase,
    PlayView,
    Rules,
    Trick,
    mask_of,
    new_hand,
    parse_cards,
    pass_view,
    play_view,
)
from tests.engine.strategies import VARIANTS, Variant, random_card, random_passes, rules_of, seeds, variant_id


@dataclass
class Story:
    """A deal with what then happened, which is enough to play it again."""

    rules: Rules
    dealt: list[list[int]]
    kitty: list[int]
    dealer: int
    direction: PassDirection
    passes: list[list[int]]
    plays: list[int]

    def begin(self) -> Hand:
        hands = [mask_of(cards) for cards in self.dealt]
        return new_hand(self.rules, hands, dealer=self.dealer, direction=self.direction, kitty=mask_of(self.kitty))


@dataclass
class Seen:
    """All that a seat was shown, and the tricks, which are public."""

    views: list[PassView | PlayView]
    tricks: list[Trick]
    at_the_end: Hand


def tell(story: Story, seat: int) -> Seen | None:
    """Play the story again; None when a play in it is illegal, so that nobody could have seen it."""
    hand = story.begin()
    views: list[PassView | PlayView] = []
    if hand.phase is Phase.PASSING:
        views.append(pass_view(hand, seat))
        hand.exchange(story.passes)
    for card in story.plays:
        if hand.turn == seat:
            views.append(play_view(hand))
        try:
            hand.play(card)
        except IllegalPlay:
            return None
    if hand.turn == seat:
        views.append(play_view(hand))
    return Seen(views, hand.tricks, hand)


def random_story(rules: Rules, rng: random.Random) -> Story:
    deck = list(rules.deck)
    rng.shuffle(deck)
    size = rules.hand_size
    dealt = [deck[seat * size : (seat + 1) * size] for seat in range(rules.seats)]
    direction = rng.choice(rules.source.pass_cycle)
    story = Story(rules, dealt, deck[size * rules.seats :], rng.randrange(rules.seats), direction, [], [])
    hand = story.begin()
    if hand.phase is Phase.PASSING:
        story.passes = random_passes(hand, rng)
        hand.exchange(story.passes)
    for _ in range(rng.randrange(rules.seats * size)):
        card = random_card(hand, rng)
        story.plays.append(card)
        hand.play(card)
    return story


def hidden_from(story: Story, seat: int) -> list[int]:
    """Cards, each but once in the pack, that ``seat`` has never held and nobody has played."""
    hand = tell(story, seat)
    assert hand is not None
    known = {*story.dealt[seat], *story.plays}
    for index in hand.at_the_end.received[seat] if hand.at_the_end.received else ():
        known.add(index)
    return [index for index in range(52) if index in story.rules.deck and index not in known]


def swapped(story: Story, first: int, second: int) -> Story:
    """The story with two cards in each other's place wherever they were dealt or passed."""
    other = {first: second, second: first}

    def swap(cards: list[int]) -> list[int]:
        return [other.get(card, card) for card in cards]

    return Story(
        story.rules,
        [swap(cards) for cards in story.dealt],
        swap(story.kitty),
        story.dealer,
        story.direction,
        [swap(cards) for cards in story.passes],
        story.plays,
    )


def _consistent_swaps(story: Story, seat: int, seen: Seen, rng: random.Random, tries: int) -> int:
    """Swap hidden cards again and again, check each result that is as possible as the truth; returns their number."""
    hidden = hidden_from(story, seat)
    found = 0
    for _ in range(tries if len(hidden) > 1 else 0):
        changed = swapped(story, *rng.sample(hidden, 2))
        again = tell(changed, seat)
        if again is None or again.tricks != seen.tricks:
            continue
        assert again.views == seen.views
        found += [set(a) for a in changed.dealt] != [set(a) for a in story.dealt]
        story = changed
    return found


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=8)
@given(seed=seeds)
def test_hidden_cards_never_change_a_view(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    story = random_story(rules_of(variant), rng)
    for seat in range(story.rules.seats):
        seen = tell(story, seat)
        assert seen is not None
        _consistent_swaps(story, seat, seen, rng, tries=8)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
def test_most_swaps_are_possible_deals(variant: Variant) -> None:
    """The property above would hold of nothing if the history ruled every other deal out."""
    rng = random.Random(7)
    found = 0
    for _ in range(5):
        story = random_story(rules_of(variant), rng)
        seen = tell(story, 0)
        assert seen is not None
        found += _consistent_swaps(story, 0, seen, rng, tries=8)
    assert found >= 5


def test_pass_view() -> None:
    hands = [mask_of(range(13 * seat, 13 * seat + 13)) for seat in range(4)]
    hand = new_hand(rules_of(("black_lady", ())), hands, dealer=0, direction=PassDirection.ACROSS)
    assert pass_view(hand, 1) == PassView(seat=1, hand=hands[1], direction=PassDirection.ACROSS, pass_count=3)


def test_play_view() -> None:
    hands = [mask_of(parse_cards(names)) for names in ("2C 4D 5H", "3C JD QS", "5C AH KH", "6C TD QD")]
    hand = new_hand(rules_of(("omnibus", ())), hands, dealer=2)
    for card in parse_cards("2C 3C 5C 6C TD 4D JD AH QS KH QD"):
        hand.play(card.index)
    last = mask_of(parse_cards("5H"))
    assert play_view(hand) == PlayView(
        seat=0,
        hand=last,
        legal=last,
        leader=1,
        trick=tuple(card.index for card in parse_cards("QS KH QD")),
        broken=True,
        points=(0, -9, 0, 0),
    )
