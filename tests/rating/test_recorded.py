"""Intervals on real boards of sample bots: the small form of ``python -m benchmarks.coverage``."""

from __future__ import annotations

import random

import pytest

from benchmarks.boards import BOTS, GROUPS
from benchmarks.coverage import QUANTITIES, covered, draw, play_chunk, pool, share_of, truth_of


@pytest.mark.parametrize(("boards", "single"), [(4, False), (16, False), (20, True)])
def test_intervals_hold_the_truth_of_recorded_boards_in_95_of_100_tournaments(boards: int, single: bool) -> None:
    """Two chunks of tournaments; the tournament is the unit, for its intervals share their boards."""
    shares = [share for chunk in range(2) for share in play_chunk(boards, single, chunk)]
    for quantity, of_quantity in zip(QUANTITIES, zip(*shares, strict=True), strict=True):
        found = share_of([share for share in of_quantity if share is not None])
        assert found is not None
        if quantity == "rank":
            assert found.covered >= 0.95
        else:
            assert abs(found.deviations) <= 3, quantity


def test_under_20_boards_no_interval_is_shown() -> None:
    recorded = pool()
    few = draw(random.Random(7), recorded, 1)
    assert covered(few, truth_of(recorded))[:3] == [None, None, None]


def test_the_recorded_boards_are_whole() -> None:
    recorded = pool()
    assert [len(of_match) for of_match in recorded] == [300] * len(GROUPS)
    assert sorted(truth_of(recorded).ranks.values()) == list(range(1, len(BOTS) + 1))
    # 26 points a hand, four hands a board; a moon shot makes 78 of 26.
    for of_match in recorded:
        assert {sum(score.points) % 26 for score in of_match} == {0}
        assert {sum(score.points) for score in of_match} <= {104 + 52 * moons for moons in range(5)}
