"""When a hand is settled before its last card."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings

from arbiter.engine import (
    Hand,
    PassDirection,
    Trick,
    cards_of,
    compile_rules,
    is_settled,
    mask_of,
    new_hand,
    parse_cards,
    rule_set,
)
from tests.engine.strategies import VARIANTS, Variant, random_card, random_hand, rules_of, seeds, variant_id

PAST = Trick(leader=0, cards=(), winner=0, points=0)


def _position(variant: Variant, hands: list[str], leader: int = 0, **more: Any) -> Hand:
    masks = [mask_of(parse_cards(names)) for names in hands]
    return new_hand(rules_of(variant), masks, dealer=0, leader=leader, **{"tricks": [PAST], "broken": True, **more})


SETTLED = [
    ("no points are out", "black_lady", ["2C 3C", "4D 5D", "6C 7S", "8S 9D"], 0, True),
    ("a bonus is out", "omnibus", ["2C 3C", "JD 5D", "6C 7S", "8S 9D"], 0, False),
    ("the same cards without a bonus", "black_lady", ["2C 3C", "JD 5D", "6C 7S", "8S 9D"], 0, True),
    ("the leader must win all", "black_lady", ["AH KH", "2H 3H", "2C 3C", "QS 4C"], 0, True),
    ("the last trick has one outcome", "black_lady", ["2D", "3D", "AH", "QS"], 0, True),
    ("the leader can lose a trick", "black_lady", ["AH 2D", "2H KH", "AD 5D", "6C 7C"], 0, False),
    ("equal points, other cards", "black_lady", ["AC KD", "2H 3H", "2C AD", "3C 2D"], 0, False),
    ("a card with points goes either way", "black_lady", ["KC QD", "QC KD", "2C 2D", "AH 3D"], 0, False),
]


@pytest.mark.parametrize(
    ("rules", "hands", "leader", "settled"), [row[1:] for row in SETTLED], ids=[r[0] for r in SETTLED]
)
def test_is_settled(rules: str, hands: list[str], leader: int, settled: bool) -> None:
    assert is_settled(_position((rules, ()), hands, leader)) is settled


def test_a_trick_on_the_table_counts() -> None:
    hand = _position(("black_lady", ()), ["KC 2D", "AH 3D", "2C 4D", "QC 5D"])
    king, ace_of_hearts = parse_cards("KC AH")
    hand.play(king.index)
    assert not is_settled(hand)
    hand.play(ace_of_hearts.index)
    assert is_settled(hand)


def test_carried_points_are_open_until_somebody_wins_them() -> None:
    carried = Trick(leader=0, cards=tuple(card.index for card in parse_cards("KC KC QS QS")), winner=None, points=0)
    variant = ("hartenjagen", ("cancellation",))
    whoever_wins_the_next = ["2D 3S", "3D 2S", "4D 4S", "5C 5S"]
    assert not is_settled(_position(variant, whoever_wins_the_next, tricks=[carried]))
    assert is_settled(_position(variant, whoever_wins_the_next, tricks=[carried, PAST]))
    assert is_settled(_position(variant, ["AD AS", "3D 2S", "4D 4S", "5C 5S"], tricks=[carried]))


def test_a_kitty_is_open_until_the_first_trick_is_won() -> None:
    kitty = mask_of(parse_cards("QS 2C"))
    hands = ["2D", "3D", "4D", "5D", "6D", "7D"]
    open_hands = ["2D 9C", "3D 8C", "4D 7C", "5D 6C", "6D 5C", "7D 4C"]
    assert is_settled(_position(("cancellation", ()), hands, kitty=kitty, tricks=[]))
    assert not is_settled(_position(("cancellation", ()), open_hands, kitty=kitty, tricks=[]))
    assert is_settled(_position(("cancellation", ()), open_hands, kitty=kitty))


def test_nothing_is_settled_before_the_pass() -> None:
    rules = compile_rules(rule_set("black_lady"))
    assert not is_settled(random_hand(rules, random.Random(1), PassDirection.LEFT))


def test_a_finished_hand_is_settled() -> None:
    hand = random_hand(compile_rules(rule_set("black_lady")), random.Random(1))
    hand.end_by_offence(0)
    assert is_settled(hand)


def test_what_the_search_can_not_finish_is_not_settled() -> None:
    hand = _position(("black_lady", ()), ["AH KH", "2H 3H", "2C 3C", "QS 4C"])
    assert is_settled(hand, limit=100)
    assert not is_settled(hand, limit=3)


def _shares(hand: Hand) -> set[tuple[tuple[int, int], ...]]:
    """By trying everything: all ways in which the scoring cards can end up, as sorted (card, seat) pairs."""
    if hand.turn >= 0:
        found = set()
        for card in cards_of(hand.legal):
            other = hand.copy()
            other.play(card.index)
            found |= _shares(other)
        return found
    pairs: list[tuple[int, int]] = []
    waiting = [card.index for card in cards_of(hand.kitty)]
    for trick in hand.tricks:
        waiting += trick.cards
        if trick.winner is not None:
            pairs += [(card, trick.winner) for card in waiting if hand.rules.scoring >> card & 1]
            waiting = []
    return {tuple(sorted(pairs))}


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=6)
@given(seed=seeds)
def test_settled_means_that_all_continuations_end_alike(variant: Variant, seed: int) -> None:
    rng = random.Random(seed)
    hand = random_hand(rules_of(variant), rng)
    left = rng.choice([1, 2]) if hand.rules.seats > 4 else rng.choice([1, 2, 3])
    while len(hand.tricks) < hand.rules.hand_size - left:
        hand.play(random_card(hand, rng))
    assert is_settled(hand) == (len(_shares(hand)) == 1)
