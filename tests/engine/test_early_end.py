"""A hand may end once all cards with points are taken: its score is the same with and without the rest."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings

from arbiter.engine import (
    EngineError,
    Hand,
    IllegalPlay,
    Moon,
    PassDirection,
    Phase,
    Trick,
    cards_of,
    compile_rules,
    is_settled,
    mask_of,
    new_hand,
    parse_cards,
    rule_set,
    score_hand,
)
from tests.engine.strategies import VARIANTS, Variant, play_out, random_card, random_hand, rules_of, seeds, variant_id


def _scores(hand: Hand) -> list[object]:
    return [
        score_hand(hand.rules, hand.penalty_taken, hand.bonus_taken, moon=moon) for moon in (None, Moon.OLD, Moon.NEW)
    ]


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=25)
@given(seed=seeds)
def test_a_hand_that_ends_early_scores_what_it_would_at_its_end(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = random_hand(rules_of(variant), rng)
    while not hand.settled:
        with pytest.raises(EngineError, match="not settled"):
            hand.end_early()
        hand.play(random_card(hand, rng))
    assert not any(hand.rules.scoring & card.mask for held in hand.hands for card in cards_of(held))
    whole = hand.copy()
    play_out(whole, rng)
    hand.end_early()
    assert (hand.phase, hand.turn, hand.legal) == (Phase.DONE, -1, 0)
    assert _scores(hand) == _scores(whole)
    with pytest.raises(IllegalPlay, match="no card is due"):
        hand.play(0)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
def test_random_hands_end_early_often_enough_to_matter(variant: Variant) -> None:
    rng = random.Random(variant_id(variant))
    early = 0
    for _ in range(60):
        hand = random_hand(rules_of(variant), rng)
        while not hand.settled:
            hand.play(random_card(hand, rng))
        early += hand.phase is Phase.PLAYING
    assert early > 0


def test_a_bonus_card_still_out_keeps_the_hand_open() -> None:
    rules = compile_rules(rule_set("omnibus"))
    past = Trick(0, tuple(card.index for card in parse_cards("5H 6H 7H 8H 9H TH JH QH KH AH")), winner=1, points=10)
    hands = [mask_of(parse_cards(cards)) for cards in ("2H JD", "3H 2D", "4H 3D", "QS 4D")]
    hand = new_hand(rules, hands, dealer=0, leader=0, tricks=[past], broken=True)
    for number, card in enumerate(parse_cards("2H 3H 4H QS 3D 4D JD 2D")):
        if number == 4:
            assert sum(hand.penalty_taken) == rules.penalty_total
        assert not hand.settled, "the Jack is still held"
        hand.play(card.index)
    assert (_is_settled(hand), hand.phase) == (True, Phase.DONE)


def _is_settled(hand: Hand) -> bool:
    """Keep the type checker from remembering an answer that a play has changed."""
    return hand.settled


def test_a_hand_is_not_settled_before_the_pass_even_where_no_card_has_points() -> None:
    rules = compile_rules(rule_set("black_lady", override={"heart_value": 0, "QS": 0}))
    assert not random_hand(rules, random.Random(1), PassDirection.LEFT).settled
    hand = random_hand(rules, random.Random(1))
    assert hand.settled
    hand.end_early()
    assert score_hand(rules, hand.penalty_taken, hand.bonus_taken).points == (0, 0, 0, 0)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=5)
@given(seed=seeds)
def test_the_search_agrees_where_the_cheap_test_says_yes(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = random_hand(rules_of(variant), rng)
    while not hand.settled:
        hand.play(random_card(hand, rng))
    assert is_settled(hand)
