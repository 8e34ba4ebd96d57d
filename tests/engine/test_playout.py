"""Random playouts take the very cards that a hand played node by node takes, in every rule set."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arbiter.engine import Hand, RuleSet, RuleSetError, compile_rules, play_out
from arbiter.engine.cards import indexes_of
from tests.engine.strategies import (
    VARIANTS,
    Variant,
    changed_rule_sets,
    random_card,
    random_hand,
    rules_of,
    seeds,
    variant_id,
)


def _node_by_node(hand: Hand, rng: random.Random) -> tuple[list[int], list[int]]:
    hand = hand.copy()
    while hand.turn >= 0:
        legal = indexes_of(hand.legal)
        hand.play(legal[int(rng.random() * len(legal))])
    return hand.penalty_taken, hand.bonus_taken


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=15)
@given(seed=seeds, share=st.floats(0, 1))
def test_a_playout_is_a_hand_played_on_with_the_same_draws(variant: Variant, seed: int, share: float) -> None:
    rng = random.Random(seed)
    hand = random_hand(rules_of(variant), rng)
    for _ in range(int(share * hand.rules.seats * hand.rules.hand_size)):
        hand.play(random_card(hand, rng))
    before = (hand.hands.copy(), hand.trick.copy(), hand.tricks.copy(), hand.points, hand.turn, hand.broken)
    taken = play_out(hand, random.Random(seed).random)
    assert (taken.penalty, taken.bonus) == _node_by_node(hand, random.Random(seed))
    assert sum(taken.penalty) == hand.rules.penalty_total
    assert sum(taken.bonus) == hand.rules.bonus_total
    after = (hand.hands, hand.trick, hand.tricks, hand.points, hand.turn, hand.broken)
    assert after == before


@settings(max_examples=150)
@given(data=changed_rule_sets(), seed=seeds)
def test_a_playout_knows_house_rules_too(data: dict[str, Any], seed: int) -> None:
    try:
        rules = compile_rules(RuleSet.from_dict(data))
    except RuleSetError:
        assume(False)
    hand = random_hand(rules, random.Random(seed))
    taken = play_out(hand, random.Random(seed).random)
    assert (taken.penalty, taken.bonus) == _node_by_node(hand, random.Random(seed))
