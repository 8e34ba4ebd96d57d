"""The engine against the naive second implementation: every rule set, every combination of its options, random play.

Deals and play are random but lean one way or another, because evenly random hands hardly ever reach the corners: long
suits make voids and hands of penalty cards alone, a seat that plays high against others that play low shoots moons.
The last test waits for each corner, so that a change which loses them is seen.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arbiter.engine import (
    Card,
    Moon,
    PassDirection,
    Phase,
    cards_of,
    compile_rules,
    mask_of,
    new_hand,
    rule_set,
    score_hand,
)
from tests.rules import naive

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "rules" / "rulesets.json").read_text())

TWO_PACKS = {"decks": 2, "first_leader": "left_of_dealer", "first_lead": "any"}

HOUSE_RULES: dict[str, dict[str, Any]] = {
    "hearts beside the queen": {"lead_if_only_penalty": "free"},
    "the queen held back and free": {"lead_if_only_penalty": "free", "qs_may_lead": "when_broken"},
    "any card opens": {"first_lead": "any"},
    "the queen breaks": {"qs_breaks_hearts": True, "qs_may_lead": "when_broken"},
    "no breaking": {"must_break_hearts": False, "first_trick_ban": "none"},
    "own values": {"card_values": {"9D": 4, "KC": 10, "2H": 0}, "bonus": {"TD": -7, "3C": -1}, "KS": 3, "AS": 2},
    "spots and spades": {"heart_value": "pip", "KS": 10, "AS": 7, "moon": "new"},
    "three with a kitty": {
        "players": 3,
        "leftover": "kitty_to_first_trick",
        "pass_cycle": ["left", "right"],
        "pass_count": 4,
        "first_leader": "left_of_dealer",
        "first_lead": "any",
    },
    "two packs passed round": {**TWO_PACKS, "players": 8, "pass_count": 5},
    "two packs and a kitty": {
        **TWO_PACKS,
        "players": 7,
        "leftover": "kitty_to_first_trick",
        "pass_cycle": ["left"],
        "cancellation": True,
        "all_cancelled": "carry_same_leader",
        "last_all_cancelled": "to_trick_leader",
    },
}
"""Changes to Black Lady that no named rule set has."""


class Variant(NamedTuple):
    """A named rule set with options or a house rule."""

    name: str
    options: tuple[str, ...] = ()
    house: str = ""

    @property
    def override(self) -> dict[str, Any]:
        return HOUSE_RULES.get(self.house, {})

    def __str__(self) -> str:
        return "+".join((self.name, *self.options)) if not self.house else self.house


def _variants() -> list[Variant]:
    found: list[Variant] = []
    for name in TABLE["rulesets"]:
        options = list(TABLE["options"].get(name, ()))
        subsets = chain.from_iterable(combinations(options, size) for size in range(len(options) + 1))
        found += [Variant(name, chosen) for chosen in subsets if _compatible(name, chosen)]
    return [*found, *(Variant("black_lady", house=house) for house in HOUSE_RULES)]


def _compatible(name: str, options: tuple[str, ...]) -> bool:
    """No two of the options set the same parameter, such as the moon, to different values."""
    changes = [TABLE["options"][name][option] for option in options]
    return all(
        first.get(key, value) == value for first in changes for second in changes for key, value in second.items()
    )


VARIANTS = _variants()
HANDS_PLAIN = 150
"""Hands of each rule set as it is."""
HANDS_WITH_OPTIONS = 10
"""Hands of each combination of options."""
HANDS_OF_A_HOUSE = 50
"""Hands of each house rule."""
HANDS_TO_A_CORNER = 400
"""Hands within which each corner has to come up; the rarest comes once in about fifty."""


def _parameters(variant: Variant) -> naive.Parameters:
    parameters = dict(TABLE["rulesets"][variant.name])
    for option in variant.options:
        parameters |= TABLE["options"][variant.name][option]
    return parameters | variant.override


def _deal(p: naive.Parameters, rng: random.Random) -> tuple[list[list[str]], list[str]]:
    """Hands and kitty: evenly random, nearly sorted by suit (long suits), or nearly by rank (one strong hand)."""
    cards = naive.pack(p)
    rng.shuffle(cards)
    blur = rng.choice([0.0, 1.0, 3.0])
    shape = rng.choice(["even", "even", "even", "suits", "suits", "ranks"])
    if shape == "suits":
        order = rng.sample("CDHS", 4)
        cards.sort(key=lambda card: order.index(card[1]) + blur * rng.random())
    elif shape == "ranks":
        cards.sort(key=lambda card: _height(card) + blur * rng.random())
    size = len(cards) // p["players"]
    hands = [cards[seat * size : (seat + 1) * size] for seat in range(p["players"])]
    kitty = cards[size * p["players"] :]
    rng.shuffle(hands)
    return hands, kitty


def _height(card: str) -> int:
    return naive.RANKS.index(card[0])


def _choose(p: naive.Parameters, legal: set[str], style: str, rng: random.Random) -> str:
    cards = sorted(legal)
    if style == "random":
        return rng.choice(cards)
    cards.sort(key=_height)
    if style == "high":
        return cards[-1]
    harmless = [card for card in cards if naive.value(p, card) <= 0]
    return (harmless or cards)[0]


def _names(mask: int) -> list[str]:
    return [str(card) for card in cards_of(mask)]


def _index(card: str) -> int:
    return Card.parse(card).index


def _mask(cards: list[str]) -> int:
    return mask_of(map(_index, cards))


def _passes(p: naive.Parameters, hands: list[list[str]], rng: random.Random) -> list[list[str]]:
    return [rng.sample(hand, p["pass_count"]) for hand in hands]


def play_both(variant: Variant, rng: random.Random) -> Counter[str]:
    """Play one hand in both implementations, comparing all that a rule decides; returns the corners it went through."""
    p = _parameters(variant)
    rules = compile_rules(rule_set(*variant[:2], variant.override))
    seats = p["players"]
    hands, kitty = _deal(p, rng)
    dealer = rng.randrange(seats)
    direction = rng.choice(p["pass_cycle"])
    fast = new_hand(
        rules, [_mask(h) for h in hands], dealer=dealer, direction=PassDirection(direction), kitty=_mask(kitty)
    )
    if direction != "none":
        passes = _passes(p, hands, rng)
        fast.exchange([[_index(card) for card in cards] for cards in passes])
        hands = naive.pass_cards(p, hands, direction, passes)
    slow = naive.NaiveHand(p, hands, dealer, kitty)
    assert [Counter(_names(mask)) for mask in fast.hands] == [Counter(hand) for hand in slow.hands]
    styles = [rng.choice(["random", "low"])] * seats
    if styles[0] == "low":
        styles[max(range(seats), key=lambda seat: sum(map(_height, hands[seat])))] = "high"
    corners: Counter[str] = Counter()
    while not slow.over:
        assert fast.phase is Phase.PLAYING
        assert fast.turn == slow.turn
        assert fast.broken == slow.broken
        legal = slow.legal
        assert set(_names(fast.legal)) == legal, (_names(fast.hands[fast.turn]), slow.plays, slow.trick_number)
        corners.update(_corners(slow, legal))
        card = _choose(p, legal, styles[slow.turn], rng)
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


def _corners(hand: naive.NaiveHand, legal: set[str]) -> list[str]:
    held = hand.hands[hand.turn]
    penalty_only = all(naive.value(hand.p, card) > 0 for card in held)
    hearts_and_queen = {card if card == "QS" else card[1] for card in held} == {"H", "QS"}
    void = bool(hand.plays) and all(card[1] != hand.plays[0][1][1] for card in held)
    return [
        name
        for name, reached in {
            "void on a first trick with a ban": void and hand.trick_number == 1 and len(legal) < len(set(held)),
            "nothing but penalty cards on a first trick": void and hand.trick_number == 1 and penalty_only,
            "queen forced to lead": not hand.plays and hearts_and_queen and legal == {"QS"},
            "only hearts to lead, unbroken": not hand.plays and not hand.broken and {c[1] for c in held} == {"H"},
            "hearts may not be led": not hand.plays and hand.trick_number > 1 and len(legal) < len(set(held)),
            "hearts beside the queen": not hand.plays and not hand.broken and hearts_and_queen and len(legal) > 1,
            "queen held back": not hand.plays and hand.trick_number > 1 and "QS" in held and "QS" not in legal,
        }.items()
        if reached
    ]


@pytest.mark.parametrize("variant", VARIANTS, ids=map(str, VARIANTS))
def test_engine_agrees_with_the_naive_implementation(variant: Variant) -> None:
    rng = random.Random(str(variant))
    hands = HANDS_OF_A_HOUSE if variant.house else HANDS_WITH_OPTIONS if variant.options else HANDS_PLAIN
    for _ in range(hands):
        play_both(variant, rng)


@pytest.mark.parametrize(
    ("corner", "variant"),
    [
        ("void on a first trick with a ban", Variant("black_lady")),
        ("nothing but penalty cards on a first trick", Variant("black_lady")),
        ("queen forced to lead", Variant("black_lady")),
        ("only hearts to lead, unbroken", Variant("black_lady")),
        ("hearts may not be led", Variant("black_lady")),
        ("queen held back", Variant("black_lady", ("queen_restricted",))),
        ("moon", Variant("black_lady")),
        ("moon", Variant("partnership")),
        ("moon", Variant("black_maria_3")),
        ("negative total", Variant("black_lady_new_moon")),
        ("carried trick", Variant("cancellation")),
        ("moon", Variant("cancellation")),
        ("hearts beside the queen", Variant("black_lady", house="hearts beside the queen")),
        ("carried trick", Variant("black_lady", house="two packs and a kitty")),
    ],
)
def test_random_play_reaches_the_corner(corner: str, variant: Variant) -> None:
    rng = random.Random(f"{corner} {variant}")
    assert any(play_both(variant, rng)[corner] for _ in range(HANDS_TO_A_CORNER))
