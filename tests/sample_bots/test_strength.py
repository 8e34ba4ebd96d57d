"""The order of strength, at a size that is quick and settles the great differences."""

from __future__ import annotations

from statistics import mean, stdev

import pytest

from arbiter.engine import RULE_SETS, rule_set
from arbiter.engine.ruleset import Winner
from tests.sample_bots.bots import fresh
from tests.sample_bots.sitting import Sitting


def advantage(better: str, worse: str, boards: int, rules: str = "black_lady") -> tuple[float, float]:
    """Points per hand that ``better`` takes fewer than ``worse``, two of each at a table, with the standard error.

    Every board is played in all four rotations; boards are the independent unit.
    """
    margins = dict.fromkeys(range(1, boards + 1), 0.0)
    for number in range(4):
        bots = [fresh(better), fresh(worse), fresh(better), fresh(worse)]
        for board, points in Sitting(rule_set(rules), bots, range(1, boards + 1), number=number).play().points.items():
            margins[board] += (points[1] + points[3] - points[0] - points[2]) / 8
    values = list(margins.values())
    return mean(values), stdev(values) / len(values) ** 0.5


@pytest.mark.parametrize(
    ("better", "worse", "boards"),
    [
        ("lowest", "uniform", 40),
        ("careful", "uniform", 40),
        ("careful", "lowest", 40),
        ("moonshooter", "uniform", 40),
        ("batch", "uniform", 40),
        ("montecarlo", "lowest", 12),
    ],
)
def test_order_of_strength(better: str, worse: str, boards: int) -> None:
    margin, error = advantage(better, worse, boards)
    assert margin > 3 * error


@pytest.mark.parametrize("rules", ["omnibus", "spot", "black_maria_4", "original_1880", "partnership", "bga"])
@pytest.mark.parametrize("name", ["batch"])
def test_other_games_are_understood_too(name: str, rules: str) -> None:
    margin, error = advantage(name, "uniform", 24, rules)
    assert margin > 3 * error


@pytest.mark.parametrize("name", RULE_SETS)
def test_careful_beats_uniform_in_every_game(name: str) -> None:
    """Careful bots in the even places against uniform ones in the odd places, in every rotation, at any table."""
    rules = rule_set(name)
    boards = range(1, 25)
    wanted = rules.winner is Winner.HIGHEST and rules.sign == 1
    margins = dict.fromkeys(boards, 0.0)
    for number in range(rules.players):
        bots = [fresh("uniform" if place % 2 else "careful") for place in range(rules.players)]
        for board, points in Sitting(rules, bots, boards, number=number).play().points.items():
            margin = mean(points[1::2]) - mean(points[::2])
            margins[board] += (-margin if wanted else margin) / rules.players
    values = list(margins.values())
    assert mean(values) > 3 * stdev(values) / len(values) ** 0.5


@pytest.mark.parametrize(("name", "boards"), [("careful", 40), ("batch", 40), ("montecarlo", 12)])
def test_points_are_taken_where_they_are_wanted(name: str, boards: int) -> None:
    margin, error = advantage("uniform", name, boards, "reverse")
    assert margin > 3 * error


def test_rotations_cancel_the_luck_of_the_cards() -> None:
    # What makes few boards enough: equal bots come out exactly equal.
    assert advantage("careful", "careful", 4) == (0.0, 0.0)
