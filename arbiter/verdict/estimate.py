"""The plain estimate that stands beside every verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from arbiter.rating.student import LEVEL, quantile, superiority


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of independent observations.

    Attributes:
        observations: how many.
        mean: None without any.
        standard_error: None with fewer than two.
        interval: the 95 % interval by Student's t, as for a sample of a size fixed beforehand; None with fewer than
            two. A test that stops at a bound stops there by its last observations too, so that the interval is a
            little narrow and the mean a little far from 0; the confidence sequence of
            :class:`arbiter.verdict.Betting` is not.
        superiority: the probability that the true mean is above zero, by the same t (fishtest's and fastchess's "LOS"),
            see :func:`arbiter.rating.student.superiority`; None as long as no two observations differ.
    """

    observations: int
    mean: float | None
    standard_error: float | None
    interval: tuple[float, float] | None
    superiority: float | None


def estimate(observations: Sequence[float]) -> Estimate:
    """The mean of observations with its standard error and 95 % interval; their order changes no digit."""
    count = len(observations)
    if count < 2:
        return Estimate(count, float(observations[0]) if count else None, None, None, None)
    mean = math.fsum(observations) / count
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in observations) / (count - 1) / count)
    half = error * float(quantile(count - 1, (1 + LEVEL) / 2))
    surely = superiority(mean, error, count - 1) if error else None
    return Estimate(count, mean, error, (mean - half, mean + half), surely)
