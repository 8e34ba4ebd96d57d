"""The plain estimate: mean, standard error, and an interval by Student's t."""

from __future__ import annotations

import math
import random

import pytest

from arbiter.verdict import estimate


def test_mean_error_and_interval() -> None:
    found = estimate([1.0, 2.0, 3.0, 6.0])
    error = math.sqrt((4 + 1 + 0 + 9) / 3 / 4)
    assert (found.observations, found.mean) == (4, 3.0)
    assert found.standard_error == pytest.approx(error)
    assert found.interval == pytest.approx((3 - 3.18245 * error, 3 + 3.18245 * error), rel=1e-4)


def test_too_few_observations_have_no_error() -> None:
    assert estimate([]).mean is None
    one = estimate([2.5])
    assert (one.observations, one.mean, one.standard_error, one.interval, one.superiority) == (1, 2.5, None, None, None)


def test_the_likelihood_of_superiority_is_students() -> None:
    found = estimate([1.0, 2.0, 3.0, 6.0])
    assert found.superiority == pytest.approx(0.965432, abs=1e-6)  # t = 2.7775 with 3 degrees of freedom
    assert estimate([-value for value in (1.0, 2.0, 3.0, 6.0)]).superiority == pytest.approx(1 - 0.965432, abs=1e-6)
    assert estimate([-1.0, 1.0]).superiority == 0.5
    assert estimate([2.0, 2.0, 2.0]).superiority is None, "what never differs is no evidence"


def test_the_order_changes_no_digit() -> None:
    values = [random.Random(1).gauss(0, 3) for _ in range(50)]
    assert estimate(values) == estimate(sorted(values)) == estimate(values[::-1])


@pytest.mark.parametrize("size", [5, 40])
def test_the_interval_covers_the_mean_as_often_as_it_says(size: int) -> None:
    draw, trials = random.Random(2), 2000
    covered = 0
    for _ in range(trials):
        interval = estimate([draw.gauss(1.0, 3.0) for _ in range(size)]).interval
        assert interval is not None
        covered += interval[0] <= 1.0 <= interval[1]
    assert abs(covered / trials - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / trials)
