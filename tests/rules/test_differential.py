"""The engine against the naive second implementation: every rule set, every combination of its options, random play.

Deals and play are random but lean one way or another, because evenly random hands hardly ever reach the corners: long
suits make voids and hands of penalty cards alone, a seat that plays high against others that play low shoots moons.
The last test counts the corners, so that a change which loses them is seen.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from arbiter.engine import (
    Card,
    Hand,
    Moon,
    PassDirection,
    Phase,
    cards_of,
    compile_rules,
    mask_of,
    rule_set,
    score_hand,
)
from tests.rules import naive

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "rules" / "rulesets.json").read_text())

Variant = tuple[str, tuple[str, ...]]


def _variants() -> list[Variant]:
    found: list[Variant] = []
    for name in TABLE["rulesets"]:
        options = list(TABLE["options"].get(name, ()))
        subsets = chain.from_iterable(combinations(options, size) for size in range(len(options) + 1))
        found += [(name, chosen) for chosen in subsets if _compatible(name, chosen)]
    return found


def _compatible(name: str, options: tuple[str, ...]) -> bool:
    """No two of the options set the same parameter, such as the moon, to different values."""
    changes = [TABLE["options"][name][option] for option in options]
    return all(
        first.get(key, value) == value for first in changes for second in changes for key, value in second.items()
    )


VARIANTS = _variants()
HANDS_PLAIN = 200
"""Hands of each rule set as it is."""
HANDS_WITH_OPTIONS = 20
"""Hands of each combination of options."""


def _parameters(name: str, options: tuple[str, ...]) -> naive.Parameters:
    parameters = dict(TABLE["rulesets"][name])
    for option in options:
        parameters |= TABLE["options"][name][option]
    return parameters


def _deal(p: naive.Parameters, rng: random.Random) -> tuple[list[list[str]], list[str]]:
    """Hands and kitty; one time in two the cards are nearly sorted by suit, so that hands are long in few suits."""
    cards = naive.pack(p)
    rng.shuffle(cards)
    if rng.random() < 0.5:
        blur = rng.choice([0.0, 1.0, 3.0])
        order = rng.sample("CDHS", 4)
        cards.sort(key=lambda card: order.index(card[1]) + blur * rng.random())
    size = len(cards) // p["players"]
    hands = [cards[seat * size : (seat + 1) * size] for seat in range(p["players"])]
    kitty = cards[size * p["players"] :]
    rng.shuffle(hands)
    return hands, kitty


def _choose(hand: naive.NaiveHand, style: str, rng: random.Random) -> str:
    cards = sorted(hand.legal)
    if style == "random":
        return rng.choice(cards)
    cards.sort(key=lambda card: naive.RANKS.index(card[0]))
    if style == "high":
        return cards[-1]
    harmless = [card for card in cards if naive.value(hand.p, card) <= 0]
    return (harmless or cards)[0]


def _names(mask: int) -> list[str]:
    return [str(card) for card in cards_of(mask)]


def _index(card: str) -> int:
    return Card.parse(card).index


def _mask(cards: list[str]) -> int:
    return mask_of(map(_index, cards))


def _passes(p: naive.Parameters, hands: list[list[str]], rng: random.Random) -> list[list[str]]:
    return [rng.sample(hand, p["pass_count"]) for hand in hands]


def play_both(name: str, options: tuple[str, ...], rng: random.Random) -> Counter[str]:
    """Play one hand in both implementations, comparing all that a rule decides; returns the corners it went through."""
    p = _parameters(name, options)
    rules = compile_rules(rule_set(name, options))
    seats = p["players"]
    hands, kitty = _deal(p, rng)
    dealer = rng.randrange(seats)
    direction = rng.choice(p["pass_cycle"])
    fast = Hand(rules, [_mask(h) for h in hands], dealer=dealer, direction=PassDirection(direction), kitty=_mask(kitty))
    if direction != "none":
        passes = _passes(p, hands, rng)
        fast.exchange([[_index(card) for card in cards] for cards in passes])
        hands = naive.pass_cards(p, hands, direction, passes)
    slow = naive.NaiveHand(p, hands, dealer, kitty)
    assert [Counter(_names(mask)) for mask in fast.hands] == [Counter(hand) for hand in slow.hands]
    styles = ["random"] * seats if rng.random() < 0.4 else ["low"] * seats
    if styles[0] == "low":
        styles[rng.randrange(seats)] = "high"
    corners: Counter[str] = Counter()
    while not slow.over:
        assert fast.phase is Phase.PLAYING
        assert fast.turn == slow.turn
        assert fast.broken == slow.broken
        assert set(_names(fast.legal)) == slow.legal, (_names(fast.hands[fast.turn]), slow.plays, slow.trick_number)
        corners.update(_corners(slow))
        card = _choose(slow, styles[slow.turn], rng)
        slow.play(card)
        fast.play(_index(card))
        if not slow.plays:
            assert list(fast.points) == [sum(naive.value(p, card) for card in cards) for cards in slow.captured]
    assert fast.phase is Phase.DONE
    assert [trick.winner for trick in fast.tricks] == slow.winners
    corners["carried trick"] += None in slow.winners
    for choice in (None, Moon.OLD, Moon.NEW) if p["moon"] in ("choice", "mixed") else (None,):
        result = score_hand(rules, fast.penalty_taken, fast.bonus_taken, moon=choice)
        assert (list(result.points), result.moon) == naive.score(p, slow.captured, choice and choice.value)
        corners["moon"] += result.moon is not None
        corners["negative total"] += sum(result.points) < 0
    return corners


def _corners(hand: naive.NaiveHand) -> list[str]:
    held = hand.hands[hand.turn]
    penalty_only = all(naive.value(hand.p, card) > 0 for card in held)
    hearts_and_queen = {card if card == "QS" else card[1] for card in held} == {"H", "QS"}
    void = bool(hand.plays) and all(card[1] != hand.plays[0][1][1] for card in held)
    return [
        name
        for name, reached in {
            "void on a first trick with a ban": void and hand.trick_number == 1 and len(hand.legal) < len(set(held)),
            "nothing but penalty cards on a first trick": void and hand.trick_number == 1 and penalty_only,
            "queen forced to lead": not hand.plays and hearts_and_queen and hand.legal == {"QS"},
            "only hearts to lead, unbroken": not hand.plays and not hand.broken and {c[1] for c in held} == {"H"},
            "hearts may not be led": not hand.plays and hand.trick_number > 1 and len(hand.legal) < len(set(held)),
            "queen held back": not hand.plays and hand.trick_number > 1 and "QS" in held and "QS" not in hand.legal,
        }.items()
        if reached
    ]


REACHED: dict[Variant, Counter[str]] = {}


def _play_many(variant: Variant) -> Counter[str]:
    if variant not in REACHED:
        name, options = variant
        rng = random.Random(f"{name} {options}")
        hands = HANDS_WITH_OPTIONS if options else HANDS_PLAIN
        REACHED[variant] = sum((play_both(name, options, rng) for _ in range(hands)), Counter())
    return REACHED[variant]


@pytest.mark.parametrize("variant", VARIANTS, ids=["+".join((name, *options)) for name, options in VARIANTS])
def test_engine_agrees_with_the_naive_implementation(variant: Variant) -> None:
    _play_many(variant)


@pytest.mark.parametrize(
    ("corner", "variant"),
    [
        ("void on a first trick with a ban", ("black_lady", ())),
        ("nothing but penalty cards on a first trick", ("black_lady", ())),
        ("queen forced to lead", ("black_lady", ())),
        ("only hearts to lead, unbroken", ("black_lady", ())),
        ("hearts may not be led", ("black_lady", ())),
        ("queen held back", ("black_lady", ("queen_restricted",))),
        ("moon", ("black_lady", ())),
        ("moon", ("partnership", ())),
        ("moon", ("black_maria_3", ())),
        ("negative total", ("black_lady_new_moon", ())),
        ("carried trick", ("cancellation", ())),
        ("moon", ("cancellation", ())),
    ],
)
def test_random_play_reaches_the_corner(corner: str, variant: Variant) -> None:
    assert _play_many(variant)[corner] > 0
