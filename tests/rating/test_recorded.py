"""Intervals on real boards of sample bots: the small form of ``python -m benchmarks.coverage``."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from benchmarks.boards import BOTS, GROUPS
from benchmarks.coverage import QUANTITIES, covered, draw, pool, truth_of


@pytest.mark.parametrize("boards", [2, 16])
def test_intervals_hold_the_truth_of_recorded_boards_in_95_of_100_tournaments(boards: int) -> None:
    """200 tournaments; the tournament is the unit, for its intervals share their boards."""
    recorded = pool()
    truth = truth_of(recorded)
    chance = random.Random(20240303)
    shares = [covered(draw(chance, recorded, boards), truth) for _ in range(200)]
    for quantity, of_quantity in zip(QUANTITIES, zip(*shares, strict=True), strict=True):
        covers, error = statistics.fmean(of_quantity), statistics.stdev(of_quantity) / math.sqrt(len(shares))
        if quantity == "rank":
            assert covers >= 0.95
        else:
            assert abs(covers - 0.95) <= 3 * error, quantity


def test_the_recorded_boards_are_whole() -> None:
    recorded = pool()
    assert [len(of_match) for of_match in recorded] == [300] * len(GROUPS)
    assert sorted(set(truth_of(recorded).ranks)) == list(range(1, len(BOTS) + 1))
    # 26 points a hand, four hands a board; a moon shot makes 78 of 26.
    for of_match in recorded:
        assert {sum(score.points) % 26 for score in of_match} == {0}
        assert {sum(score.points) for score in of_match} <= {104 + 52 * moons for moons in range(5)}
