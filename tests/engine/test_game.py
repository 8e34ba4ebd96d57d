"""A game to its end: golden games hand by hand, moons with a choice, and what must hold of every game."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.engine import (
    GameState,
    HandScore,
    Moon,
    MoonChoice,
    PassDirection,
    Rules,
    after_hand,
    best_seats,
    compile_rules,
    moon_choice,
    moon_shooter,
    new_game,
    next_deal,
    pass_direction,
    rule_set,
    score_hand,
    still_tied,
)
from arbiter.engine.ruleset import GameEnd, Tie, Winner
from tests.engine.strategies import VARIANTS, Variant, rules_of, seeds, variant_id


def _rules(name: str, *options: str, **override: Any) -> Rules:
    return compile_rules(rule_set(name, options, override))


def _points(*points: int) -> HandScore:
    return HandScore(points, None)


GOLDEN: dict[str, tuple[Rules, list[tuple[list[int], dict[str, Any]]]]] = {
    "the lowest wins once somebody has 100": (
        _rules("black_lady"),
        [
            ([26, 0, 0, 0], {"totals": (26, 0, 0, 0), "hand_number": 2}),
            ([73, 10, 5, 7], {"totals": (99, 10, 5, 7), "hand_number": 3}),
            ([1, 0, 20, 5], {"totals": (100, 10, 25, 12), "hand_number": 4, "winners": (1,)}),
        ],
    ),
    "a tie goes on until the best total is unique": (
        _rules("black_lady"),
        [
            ([100, 20, 20, 30], {"totals": (100, 20, 20, 30), "hand_number": 2, "overtime": True}),
            ([13, 6, 6, 1], {"totals": (113, 26, 26, 31), "hand_number": 3, "overtime": True}),
            ([13, 13, 13, 0], {"totals": (126, 39, 39, 31), "hand_number": 4, "winners": (3,)}),
        ],
    ),
    "overtime outlasts totals that fall below the target": (
        _rules("black_lady", "new_moon"),
        [
            ([110, 20, 20, 30], {"totals": (110, 20, 20, 30), "hand_number": 2, "overtime": True}),
            ([-26, 0, 0, 0], {"totals": (84, 20, 20, 30), "hand_number": 3, "overtime": True}),
            ([0, 5, 4, 17], {"totals": (84, 25, 24, 47), "hand_number": 4, "winners": (2,)}),
        ],
    ),
    "a countdown ends at zero and shares a tie": (
        _rules("bga"),
        [
            ([99, 0, 50, 50], {"totals": (1, 100, 50, 50), "hand_number": 2}),
            ([1, 75, 25, 25], {"totals": (0, 25, 25, 25), "hand_number": 3, "winners": (1, 2, 3)}),
        ],
    ),
    "a short countdown": (
        _rules("bga", "start75"),
        [([75, 0, 1, 2], {"totals": (0, 75, 74, 73), "hand_number": 2, "winners": (1,)})],
    ),
    "extra hands count between the tied alone, and totals stand still": (
        _rules("hartenjagen"),
        [
            ([100, 20, 20, 20], {"totals": (100, 20, 20, 20), "hand_number": 2, "overtime": True, "tied": (1, 2, 3)}),
            ([0, 6, 6, 14], {"totals": (100, 20, 20, 20), "hand_number": 3, "overtime": True, "tied": (1, 2)}),
            ([0, 13, 13, 0], {"totals": (100, 20, 20, 20), "hand_number": 4, "overtime": True, "tied": (1, 2)}),
            ([3, 12, 11, 0], {"totals": (100, 20, 20, 20), "hand_number": 5, "winners": (2,)}),
        ],
    ),
    "a seat that is not tied can't win an extra hand": (
        _rules("hartenjagen"),
        [
            ([100, 20, 20, 30], {"totals": (100, 20, 20, 30), "hand_number": 2, "overtime": True, "tied": (1, 2)}),
            ([0, 1, 25, 0], {"totals": (100, 20, 20, 30), "hand_number": 3, "winners": (1,)}),
        ],
    ),
    "extra hands of a countdown: still the fewest points": (
        _rules("bga", tie="extra_hand_between_tied"),
        [
            ([100, 20, 20, 30], {"totals": (0, 80, 80, 70), "hand_number": 2, "overtime": True, "tied": (1, 2)}),
            ([0, 1, 25, 0], {"totals": (0, 80, 80, 70), "hand_number": 3, "winners": (1,)}),
        ],
    ),
    "a number of hands, whatever the totals": (
        _rules("original_1880", "fixed_hands", target=3),
        [
            ([60, 0, 0, 0], {"totals": (60, 0, 0, 0), "hand_number": 2}),
            ([0, 13, 0, 0], {"totals": (60, 13, 0, 0), "hand_number": 3}),
            ([0, 0, 7, 7], {"totals": (60, 13, 7, 7), "hand_number": 4, "winners": (2, 3)}),
        ],
    ),
    "a number of hands, and overtime beyond it": (
        _rules("black_lady", end="hands", target=1),
        [
            ([13, 13, 0, 0], {"totals": (13, 13, 0, 0), "hand_number": 2, "overtime": True}),
            ([0, 0, 0, 26], {"totals": (13, 13, 0, 26), "hand_number": 3, "winners": (2,)}),
        ],
    ),
    "most points win": (
        _rules("reverse"),
        [
            ([99, 0, 0, 0], {"totals": (99, 0, 0, 0), "hand_number": 2}),
            ([0, 0, 100, 26], {"totals": (99, 0, 100, 26), "hand_number": 3, "winners": (2,)}),
        ],
    ),
    "one player ends it, the team's sum decides": (
        _rules("partnership"),
        [
            ([99, 90, 0, 90], {"totals": (99, 90, 0, 90), "hand_number": 2}),
            ([1, 0, 0, 0], {"totals": (100, 90, 0, 90), "hand_number": 3, "winners": (0, 2)}),
        ],
    ),
    "tied teams go on together": (
        _rules("partnership"),
        [
            ([100, 60, 20, 60], {"totals": (100, 60, 20, 60), "hand_number": 2, "overtime": True}),
            ([0, 1, 0, 0], {"totals": (100, 61, 20, 60), "hand_number": 3, "winners": (0, 2)}),
        ],
    ),
    "tied teams in extra hands": (
        _rules("partnership", tie="extra_hand_between_tied"),
        [
            (
                [100, 60, 20, 60],
                {"totals": (100, 60, 20, 60), "hand_number": 2, "overtime": True, "tied": (0, 1, 2, 3)},
            ),
            ([13, 0, 0, 13], {"totals": (100, 60, 20, 60), "hand_number": 3, "overtime": True, "tied": (0, 1, 2, 3)}),
            ([0, 6, 13, 7], {"totals": (100, 60, 20, 60), "hand_number": 4, "overtime": True, "tied": (0, 1, 2, 3)}),
            ([0, 7, 12, 7], {"totals": (100, 60, 20, 60), "hand_number": 5, "winners": (0, 2)}),
        ],
    ),
    "three seats": (
        _rules("black_maria_3"),
        [
            ([43, 0, 0], {"totals": (43, 0, 0), "hand_number": 2}),
            ([57, 50, 50], {"totals": (100, 50, 50), "hand_number": 3, "overtime": True}),
            ([0, 0, 43], {"totals": (100, 50, 93), "hand_number": 4, "winners": (1,)}),
        ],
    ),
}


@pytest.mark.parametrize(("rules", "hands"), GOLDEN.values(), ids=GOLDEN.keys())
def test_golden_game(rules: Rules, hands: list[tuple[list[int], dict[str, Any]]]) -> None:
    state = new_game(rules)
    assert state == GameState(totals=(rules.source.start,) * rules.seats)
    for number, (points, expected) in enumerate(hands, start=1):
        assert not state.over
        state = after_hand(rules, state, _points(*points))
        assert state == GameState(**expected), f"after hand {number}"
    assert state.over


ALL, NONE = 26, (0, 0, 0, 0)


def _moon(shooter: int) -> tuple[int, ...]:
    return tuple(ALL if seat == shooter else 0 for seat in range(4))


MIXED = [
    # Totals, shooter; then whether old would end the game against the shooter.
    ("nobody near the end", (0, 0, 0, 0), 0, False),
    ("old ends it and the shooter wins", (60, 80, 70, 75), 0, False),
    ("old ends it and another wins", (90, 95, 63, 70), 0, True),
    ("a tie for best is no loss", (89, 95, 63, 70), 0, False),
    ("one point worse than a tie", (90, 95, 63, 80), 0, True),
    ("exactly 100 ends it", (90, 74, 0, 10), 0, True),
    ("99 does not", (90, 73, 0, 10), 0, False),
    ("the last seat shoots", (63, 95, 70, 90), 3, True),
    ("the shooter alone is past the end", (104, 30, 31, 40), 0, True),
    ("others tie, so that the game goes on", (90, 60, 60, 95), 0, False),
]


@pytest.mark.parametrize(("totals", "shooter", "offered"), [row[1:] for row in MIXED], ids=[row[0] for row in MIXED])
def test_mixed_moon_is_offered_only_against_a_loss(totals: tuple[int, ...], shooter: int, offered: bool) -> None:
    rules = _rules("black_lady_mixed_moon")
    choice = moon_choice(rules, GameState(totals), _moon(shooter), NONE)
    assert choice == (MoonChoice(shooter, default=Moon.NEW) if offered else None)


def test_mixed_moon_counts_bonus_cards_and_overtime() -> None:
    rules = _rules("omnibus", moon="mixed")
    lead = GameState((90, 95, 60, 70))
    assert moon_choice(rules, lead, _moon(0), NONE) == MoonChoice(0, Moon.NEW)
    assert moon_choice(rules, lead, _moon(0), (-10, 0, 0, 0)) is None, "80 against 86 wins"
    late = GameState((50, 20, 21, 30), overtime=True)
    assert moon_choice(rules, late, _moon(0), NONE) == MoonChoice(0, Moon.NEW), "in overtime any best total ends it"
    assert moon_choice(rules, replace(late, overtime=False), _moon(0), NONE) is None


def test_mixed_moon_in_an_extra_hand_looks_at_that_hand() -> None:
    rules = _rules("hartenjagen", "omnibus", moon="mixed")
    tied = GameState((100, 20, 20, 30), overtime=True, tied=(1, 2))
    assert moon_choice(rules, tied, _moon(0), NONE) is None, "26 each leaves the two tied"
    assert moon_choice(rules, tied, _moon(1), NONE) is None, "the shooter wins"
    assert moon_choice(rules, tied, _moon(0), (0, 0, -10, 0)) == MoonChoice(0, Moon.NEW)


def test_mixed_moon_of_a_partner_is_a_win_for_the_team() -> None:
    rules = _rules("partnership", moon="mixed")
    assert moon_choice(rules, GameState((90, 80, 20, 10)), _moon(0), NONE) is None
    assert moon_choice(rules, GameState((95, 80, 90, 10)), _moon(0), NONE) == MoonChoice(0, Moon.NEW)


@pytest.mark.parametrize("totals", [(0, 0, 0, 0), (60, 80, 70, 75), (90, 95, 63, 70)])
def test_free_choice_is_always_offered(totals: tuple[int, ...]) -> None:
    rules = _rules("black_lady", "choice_moon")
    assert moon_choice(rules, GameState(totals), _moon(2), NONE) == MoonChoice(2, default=Moon.OLD)


@pytest.mark.parametrize("name", ["black_lady", "black_lady_new_moon", "reverse"])
def test_no_choice_where_the_rules_give_none(name: str) -> None:
    assert moon_choice(_rules(name), GameState((90, 95, 63, 70)), _moon(0), NONE) is None


def test_no_choice_without_a_moon() -> None:
    rules = _rules("black_lady", "choice_moon")
    assert moon_choice(rules, GameState((0, 0, 0, 0)), (25, 1, 0, 0), NONE) is None


@pytest.mark.parametrize(("pick", "totals"), [(Moon.OLD, (30, 66, 76, 86)), (Moon.NEW, (4, 40, 50, 60))])
def test_the_choice_counts(pick: Moon, totals: tuple[int, ...]) -> None:
    rules = _rules("black_lady", "choice_moon")
    before = GameState((30, 40, 50, 60))
    assert after_hand(rules, before, score_hand(rules, _moon(0), NONE, moon=pick)).totals == totals


SCORES: list[tuple[str, Rules, tuple[int, ...], tuple[int, ...], tuple[int, ...], int | None]] = [
    ("old", _rules("black_lady"), _moon(1), NONE, (26, 0, 26, 26), 1),
    ("new", _rules("black_lady_new_moon"), _moon(1), NONE, (0, -26, 0, 0), 1),
    ("choice without an answer", _rules("black_lady", "choice_moon"), _moon(1), NONE, (26, 0, 26, 26), 1),
    ("no moon in the rules", _rules("reverse"), _moon(1), NONE, (0, 26, 0, 0), None),
    ("bonus elsewhere", _rules("omnibus"), _moon(1), (-10, 0, 0, 0), (16, 0, 26, 26), 1),
    ("bonus with the shooter", _rules("omnibus"), _moon(1), (0, -10, 0, 0), (26, -10, 26, 26), 1),
    ("partner spared", _rules("partnership"), _moon(1), NONE, (26, 0, 26, 0), 1),
    ("partner charged", _rules("partnership", "partner_charged"), _moon(1), NONE, (26, 0, 26, 26), 1),
    ("new in partnership", _rules("partnership", "new_moon"), _moon(1), NONE, (0, -26, 0, 0), 1),
    ("nothing to take is no moon", _rules("black_lady", heart_value=0, QS=0), NONE, NONE, NONE, None),
]


@pytest.mark.parametrize(
    ("rules", "penalty", "bonus", "points", "shooter"), [row[1:] for row in SCORES], ids=[row[0] for row in SCORES]
)
def test_score(
    rules: Rules, penalty: tuple[int, ...], bonus: tuple[int, ...], points: tuple[int, ...], shooter: int | None
) -> None:
    assert score_hand(rules, penalty, bonus) == HandScore(points, shooter)
    assert moon_shooter(rules, penalty) == shooter


def test_an_offence_beats_moon_and_bonus() -> None:
    rules = _rules("hartenjagen", "omnibus")
    assert score_hand(rules, _moon(1), (-10, 0, 0, 0), offenders=[3]) == HandScore((0, 0, 0, 26), None)


def test_the_deal_goes_round_with_the_pass() -> None:
    rules = rule_set("black_lady")
    number, dealer = 1, 0
    seen = []
    for _ in range(5):
        seen.append((number, dealer, pass_direction(rules, number).value))
        number, dealer, direction = next_deal(rules, number, dealer)
        assert direction is pass_direction(rules, number)
    assert seen == [(1, 0, "left"), (2, 1, "right"), (3, 2, "across"), (4, 3, "none"), (5, 0, "left")]


def test_a_misdeal_is_dealt_again_as_the_same_hand() -> None:
    rules = rule_set("black_lady")
    assert next_deal(rules, 3, 2, misdealt=True) == (3, 2, PassDirection.ACROSS)


def test_best_seats() -> None:
    rules = _rules("black_lady")
    assert best_seats(rules, [3, 1, 2, 1]) == (1, 3)
    assert best_seats(rules, [3, 1, 2, 1], among=[0, 2]) == (2,)
    assert still_tied(rules, [0, 2, 3], [4, 0, 4, 5]) == (0, 2)
    assert best_seats(_rules("partnership"), [0, 5, 11, 5]) == (1, 3)
    assert best_seats(_rules("reverse"), [3, 1, 2, 3]) == (0, 3)


def _random_score(rules: Rules, rng: random.Random) -> HandScore:
    """Positive points dealt out in lumps, so that moons and ties are common."""
    lumps = [points for index in rules.deck if (points := rules.penalty[index])]
    takers = rng.sample(range(rules.seats), rng.randint(1, rules.seats))
    penalty = [0] * rules.seats
    for points in lumps:
        penalty[rng.choice(takers)] += points
    bonus = [0] * rules.seats
    for index in rules.deck:
        bonus[rng.randrange(rules.seats)] += rules.bonus[index]
    return score_hand(rules, penalty, bonus)


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=15)
@given(seed=seeds)
def test_every_game_ends_with_the_best(variant: Variant, seed: int) -> None:
    rules = rules_of(variant)
    source = rules.source
    rng = random.Random(seed)
    state = new_game(rules)
    played = 0
    while not state.over:
        before, score = state, _random_score(rules, rng)
        state = after_hand(rules, before, score)
        played += 1
        assert state.hand_number == played + 1
        moved = tuple(t + source.sign * p for t, p in zip(before.totals, score.points, strict=True))
        assert state.totals == (before.totals if before.tied else moved)
        assert not (before.overtime and not state.overtime and not state.over), "overtime ends with the game alone"
        assert played < 10_000
    assert state.winners is not None
    sides = source.teams or [(seat,) for seat in range(rules.seats)]
    sums = {tuple(side): sum(state.totals[seat] for seat in side) for side in sides}
    best = min(sums.values()) if source.winner is Winner.LOWEST else max(sums.values())
    winning = [side for side, total in sums.items() if total == best]
    if source.tie is Tie.EXTRA_HAND_BETWEEN_TIED:
        assert state.winners in winning
    else:
        assert state.winners == tuple(sorted(seat for side in winning for seat in side))
        assert len(winning) == 1 or source.tie is Tie.SHARED
    if source.end is GameEnd.HANDS:
        assert played >= source.target


@settings(max_examples=100)
@given(st.lists(st.integers(0, 110), min_size=4, max_size=4), st.lists(st.integers(0, 13), min_size=4, max_size=4))
def test_turning_the_table_turns_the_result(totals: list[int], points: list[int]) -> None:
    rules = _rules("black_lady")
    state = after_hand(rules, GameState(tuple(totals)), _points(*points))
    turned = after_hand(rules, GameState((totals[3], *totals[:3])), _points(points[3], *points[:3]))
    assert turned.totals == (state.totals[3], *state.totals[:3])
    assert turned.over == state.over
    assert turned.overtime == state.overtime
    if state.winners is not None:
        assert turned.winners == tuple(sorted((seat + 1) % 4 for seat in state.winners))
