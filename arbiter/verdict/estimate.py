"""The plain estimate that stands beside every verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


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
    """

    observations: int
    mean: float | None
    standard_error: float | None
    interval: tuple[float, float] | None


def estimate(observations: Sequence[float]) -> Estimate:
    """The mean of observations with its standard error and 95 % interval; their order changes no digit."""
    count = len(observations)
    if count < 2:
        return Estimate(count, float(observations[0]) if count else None, None, None)
    mean = math.fsum(observations) / count
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in observations) / (count - 1) / count)
    half = student_quantile(0.975, count - 1) * error
    return Estimate(count, mean, error, (mean - half, mean + half))


def student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t above one half.

    One and two degrees of freedom have closed forms; above, the expansion around the normal quantile
    (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5), good to 0.5 % at three.
    """
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:
        spread = 2 * probability - 1
        return spread * math.sqrt(2 / (1 - spread**2))
    z = statistics.NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
