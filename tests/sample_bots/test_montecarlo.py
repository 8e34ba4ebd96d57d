"""The worlds that the Monte-Carlo bot deals are worlds that can be, as far as its seat can know."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.deals import deal
from arbiter.engine import (
    RULE_SETS,
    Hand,
    Phase,
    RuleSet,
    cards_of,
    compile_rules,
    format_cards,
    mask_of,
    new_hand,
    parse_cards,
    pass_direction,
    pass_target,
    rule_set,
)
from arbiter.sdk import CardView
from sample_bots.montecarlo.bot import Known, MonteCarlo
from tests.sample_bots.bots import match_info, position, view_of

TWO_PACKS = rule_set("hartenjagen", ["cancellation"], {"pass_cycle": ["left", "right"], "pass_count": 4})
GAMES = [*map(rule_set, ("black_lady", "black_maria_3", "omnibus", "cancellation")), TWO_PACKS]


def played(rules: RuleSet, seed: int, cards: int) -> Hand:
    """A hand after a random pass and ``cards`` random cards, or one card before its end."""
    chance = random.Random(seed)
    compiled = compile_rules(rules)
    dealt = deal(compiled, seed.to_bytes(8, "big"), 1)
    hand = new_hand(
        compiled,
        dealt.hands,
        dealer=seed % rules.players,
        direction=pass_direction(rules, seed % 4 + 1),
        kitty=dealt.kitty,
    )
    if hand.phase is Phase.PASSING:
        hand.exchange([chance.sample([c.index for c in cards_of(held)], rules.pass_count) for held in dealt.hands])
    for _ in range(min(cards, rules.players * rules.hand_size - 1)):
        hand.play(chance.choice(cards_of(hand.legal)).index)
    return hand


hands = st.builds(played, st.sampled_from(GAMES), st.integers(0, 10**6), st.integers(0, 103))


def seen_from(hand: Hand) -> CardView:
    return view_of(match_info(hand.rules.source), hand)


def voids(hand: Hand) -> set[tuple[int, int]]:
    """Seats and suits of which they have shown to have none."""
    tricks = [*((trick.leader, trick.cards) for trick in hand.tricks), (hand.leader, tuple(hand.trick))]
    return {
        ((leader + at) % hand.rules.seats, cards[0] // 13)
        for leader, cards in tricks
        for at, card in enumerate(cards)
        if card // 13 != cards[0] // 13
    }


@settings(max_examples=150)
@given(hands, st.integers(0, 10**6))
def test_dealt_worlds_respect_what_is_known(hand: Hand, seed: int) -> None:
    *dealt, kitty = Known(seen_from(hand)).deal(random.Random(seed))

    assert dealt[hand.turn] == []
    assert len(kitty) == hand.rules.source.kitty_size
    hidden = Counter(card.index for seat, held in enumerate(hand.hands) if seat != hand.turn for card in cards_of(held))
    hidden.update(card.index for card in cards_of(hand.kitty))
    assert Counter(card for cards in [*dealt, kitty] for card in cards) == hidden
    for seat, cards in enumerate(dealt):
        if seat != hand.turn:
            assert len(cards) == hand.hands[seat].bit_count()
            assert not {(seat, card // 13) for card in cards} & voids(hand)


@settings(max_examples=100)
@given(hands, st.integers(0, 10**6))
def test_passed_cards_stay_where_they_went_until_they_are_played(hand: Hand, seed: int) -> None:
    if hand.passed is None:
        return
    target = pass_target(hand.rules.seats, hand.turn, hand.direction)
    tricks = [*((trick.leader, trick.cards) for trick in hand.tricks), (hand.leader, tuple(hand.trick))]
    by_target = Counter(
        card for leader, cards in tricks for at, card in enumerate(cards) if (leader + at) % hand.rules.seats == target
    )
    left = Counter(hand.passed[hand.turn]) - by_target
    dealt = Counter(Known(seen_from(hand)).deal(random.Random(seed))[target])
    assert dealt & left == left


@settings(max_examples=100)
@given(hands, st.integers(0, 10**6))
def test_world_is_a_hand_in_the_same_position(hand: Hand, seed: int) -> None:
    view = seen_from(hand)
    world = Known(view).world(random.Random(seed))
    assert world.hands[world.turn] == hand.hands[hand.turn]
    assert (world.turn, world.leader, world.trick, world.legal, world.broken) == (
        hand.turn,
        hand.leader,
        hand.trick,
        hand.legal,
        hand.broken,
    )
    if not hand.kitty:
        assert world.points == hand.points
    chance = random.Random(seed)
    while world.legal:
        world.play(chance.choice(cards_of(world.legal)).index)
    assert sum(world.penalty_taken) == world.rules.penalty_total


def test_every_card_can_be_with_every_other_seat() -> None:
    hand = played(rule_set("original_1880"), 7, 0)
    known = Known(seen_from(hand))
    places = {
        (card, seat)
        for seed in range(60)
        for seat, cards in enumerate(known.deal(random.Random(seed)))
        for card in cards
    }
    assert len(places) == 39 * 3


@pytest.mark.parametrize("seed", range(20))
def test_the_only_world_is_found(seed: int) -> None:
    # Clubs fit places 0 and 1, diamonds 1 and 2, hearts 2 alone, spades 0 alone: one way for all six.
    known = Known(seen_from(played(rule_set("black_lady"), 1, 10)))
    clubs, diamonds, hearts, spades = (0, 1), (13, 14), (26,), (39,)
    known.unseen = [*diamonds, *clubs, *hearts, *spades]
    known.held = {}
    known.room = [2, 2, 2, 0, 0]
    known.may_hold = [
        mask_of([*clubs, *spades]),
        mask_of([clubs[0], clubs[1], diamonds[0]]),
        mask_of([*diamonds, *hearts]),
        0,
        0,
    ]
    dealt = known.deal(random.Random(seed))
    assert [len(cards) for cards in dealt] == [2, 2, 2, 0, 0]
    assert set(dealt[2]) == {26, 14}
    assert 13 in dealt[1]
    assert 39 in dealt[0]


def test_cards_that_do_the_same_are_tried_once() -> None:
    match = match_info(rule_set("black_lady"))
    bot = MonteCarlo()
    bot.start(match)
    # 2C 3C 5C, 2D, JH, and the king and queen of spades, of which the queen costs.
    view = position(match, "2C 3C 5C 2D JH QS KS")
    assert format_cards(bot.choices(view, others=0)) == "2C 2D JH QS KS"
    assert format_cards(bot.choices(view, others=mask_of(parse_cards("4C TH")))) == "2C 5C 2D JH QS KS"


def test_play_outs_end_with_all_points_given_away() -> None:
    for rules in map(rule_set, RULE_SETS):
        bot = MonteCarlo()
        bot.start(match_info(rules))
        hand = played(rules, 1, 5)
        bot.play_out(hand)
        assert sum(hand.penalty_taken) == hand.rules.penalty_total
        assert sum(hand.bonus_taken) == sum(hand.rules.bonus)
