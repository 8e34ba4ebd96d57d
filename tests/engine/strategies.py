"""What the engine's tests play with: every named rule set with each of its options, and hands played at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from arbiter.engine import (
    CARDS,
    OPTIONS,
    RULE_SETS,
    Hand,
    PassDirection,
    Rules,
    cards_of,
    compile_rules,
    mask_of,
    new_hand,
    rule_set,
)

Variant = tuple[str, tuple[str, ...]]

VARIANTS: Final[list[Variant]] = [
    *((name, ()) for name in RULE_SETS),
    *((name, (option,)) for name, options in OPTIONS.items() for option in options),
    ("hartenjagen", ("omnibus", "black_maria_scoring", "cancellation")),
]


def variant_id(variant: Variant) -> str:
    return "+".join((variant[0], *variant[1]))


def rules_of(variant: Variant) -> Rules:
    name, options = variant
    return compile_rules(rule_set(name, options))


def random_hand(rules: Rules, rng: random.Random, direction: PassDirection = PassDirection.NONE) -> Hand:
    """A hand freshly dealt at random."""
    deck = list(rules.deck)
    rng.shuffle(deck)
    size = rules.hand_size
    hands = [mask_of(deck[seat * size : (seat + 1) * size]) for seat in range(rules.seats)]
    kitty = mask_of(deck[size * rules.seats :])
    return new_hand(rules, hands, dealer=rng.randrange(rules.seats), direction=direction, kitty=kitty)


def random_passes(hand: Hand, rng: random.Random) -> list[list[int]]:
    """For every seat, what it passes."""
    count = hand.rules.source.pass_count
    return [rng.sample([card.index for card in cards_of(mask)], count) for mask in hand.hands]


def random_card(hand: Hand, rng: random.Random) -> int:
    """One of the legal cards."""
    return rng.choice(cards_of(hand.legal)).index


def play_out(hand: Hand, rng: random.Random, each: Callable[[], None] = lambda: None) -> None:
    """Play to the last card; ``each`` is called before every card."""
    while hand.turn >= 0:
        each()
        hand.play(random_card(hand, rng))


seeds = st.integers(0, 2**64 - 1)

_names = st.sampled_from([str(card) for card in CARDS])


def _lists(values: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=size)


PARAMETERS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "players": st.integers(3, 11),
    "decks": st.sampled_from([1, 2]),
    "removed": _lists(_names, 3),
    "leftover": st.sampled_from(["none", "kitty_to_first_trick"]),
    "pass_cycle": _lists(st.sampled_from(["left", "right", "across", "none"]), 4),
    "pass_count": st.integers(0, 17),
    "first_leader": st.sampled_from(["holder_2C", "left_of_dealer"]),
    "first_lead": st.sampled_from(["2C", "any"]),
    "first_trick_ban": st.sampled_from(["none", "penalty_cards"]),
    "first_trick_exception": st.just("any_card_if_only_penalty"),
    "must_break_hearts": st.booleans(),
    "qs_breaks_hearts": st.booleans(),
    "lead_if_only_hearts": st.just("allowed"),
    "lead_if_only_penalty": st.sampled_from(["non_heart", "free"]),
    "qs_may_lead": st.sampled_from(["always", "when_broken"]),
    "cancellation": st.booleans(),
    "all_cancelled": st.sampled_from([None, "carry_same_leader"]),
    "last_all_cancelled": st.sampled_from([None, "to_trick_leader"]),
    "heart_value": st.integers(0, 20) | st.just("pip"),
    "QS": st.integers(0, 30),
    "KS": st.integers(0, 30),
    "AS": st.integers(0, 30),
    "card_values": st.dictionaries(_names, st.integers(0, 30), max_size=3),
    "bonus": st.dictionaries(_names, st.integers(-30, -1), max_size=2),
    "moon": st.sampled_from(["old", "new", "choice", "mixed", "none"]),
    "moon_needs": st.just("all_positive_cards"),
    "moon_value": st.just("sum_of_positive"),
    "moon_bonus": st.just("independent"),
    "moon_partner": st.sampled_from([None, "spared", "charged"]),
    "moon_unit": st.just("player"),
    "start": st.integers(-100, 100),
    "sign": st.sampled_from([1, -1]),
    "end": st.sampled_from(["any_at_least", "any_at_most", "hands"]),
    "target": st.integers(-500, 500),
    "winner": st.sampled_from(["lowest", "highest"]),
    "tie": st.sampled_from(["continue", "shared", "extra_hand_between_tied"]),
    "teams": st.sampled_from([None, [[0, 2], [1, 3]], [[0, 1], [2, 3]], [[0, 3], [1, 4], [2, 5]], [[0], [1, 2, 3]]]),
    "score_floor": st.none(),
    "revoke": st.sampled_from(["reject_move", "offender_takes_all"]),
    "misdeal": st.just("redeal_same_dealer"),
    "claim": st.just("none"),
}
"""By parameter: values that RULES.md, section 7, allows on their own."""

any_combination = st.fixed_dictionaries({}, optional=PARAMETERS)


@st.composite
def changed_rule_sets(draw: st.DrawFn) -> dict[str, Any]:
    """Data of a named rule set with a few parameters changed: far more often possible than any combination."""
    data = draw(st.sampled_from(list(RULE_SETS.values()))).to_dict()
    del data["hand_size"]
    for name in draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=3)):
        data[name] = draw(PARAMETERS[name])
    return data
