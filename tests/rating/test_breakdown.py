"""Points by seat and by pass direction, and moons."""

from __future__ import annotations

import math
import random

import pytest

from arbiter.rating import Estimate
from arbiter.rating.breakdown import Tally, breakdown

TALLIES = [
    # Two boards of one match: entrants 0 and 1 change seats between sittings. Entrant 0 shoots once.
    Tally(0, 1, 0, 0, "left", 2, 10, 0),
    Tally(0, 1, 0, 1, "left", 2, 0, 1),
    Tally(0, 1, 1, 0, "left", 2, 52, 0),
    Tally(0, 1, 1, 1, "left", 2, 16, 0),
    Tally(0, 2, 0, 0, "right", 2, 14, 0),
    Tally(0, 2, 0, 1, "right", 2, 2, 0),
    Tally(0, 2, 1, 0, "right", 2, 24, 0),
    Tally(0, 2, 1, 1, "right", 2, 12, 0),
]


def test_points_by_seat_have_boards_as_their_unit() -> None:
    found = breakdown(3, TALLIES)
    # Entrant 0 in seat 0: 5 and 7 a hand, mean 6, s^2 = 2, SE = 1.
    assert found.seats[0][0] == Estimate(6.0, 1.0, 1.0)
    assert found.seats[1][0] == Estimate(0.5, 0.5, 1.0)
    assert found.seats[0][2] is None
    assert list(found.seats) == [0, 1]


def test_points_by_direction_count_the_boards_that_have_it() -> None:
    found = breakdown(2, TALLIES)
    assert list(found.directions) == ["left", "right"]
    assert found.directions["left"] == (Estimate(2.5, None, None), Estimate(17.0, None, None))
    assert found.directions["right"] == (Estimate(4.0, None, None), Estimate(9.0, None, None))


def test_moons_are_shot_per_hand() -> None:
    # 1 moon in 4 hands of the first board, none in 4 of the second.
    found = breakdown(2, TALLIES)
    assert found.moons[0] is not None
    assert found.moons[0].value == 1 / 8
    assert found.moons[0].standard_error == pytest.approx(math.sqrt(2 * 2 * (1 / 16) ** 2))
    assert found.moons[1] == Estimate(0.0, 0.0, 1.0)


def test_the_order_of_arrival_changes_nothing_and_nothing_gives_nothing() -> None:
    shuffled = random.Random(1).sample(TALLIES, len(TALLIES))
    assert breakdown(2, shuffled) == breakdown(2, TALLIES)
    assert breakdown(2, []).moons == (None, None)
