"""Points per hand with a standard error whose unit is the board."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Observation:
    """What one board says: an amount of points (or a difference of points) over a number of hands."""

    match: int
    points: int
    hands: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio of points to hands.

    Attributes:
        per_hand: points per hand, exact.
        standard_error: its standard error in points per hand; None when it can't be known.
    """

    per_hand: Fraction
    standard_error: float | None


def estimate(observations: Sequence[Observation]) -> Estimate:
    r"""Estimate points per hand from boards, with a standard error stratified by match.

    With match m's boards b = 1 .. B_m, points p_mb over h_mb hands, and P and H the totals over all matches::

        R     = P / H
        e_mb  = (p_mb - R h_mb) - (their mean over the boards of match m)
        SE(R) = sqrt( sum over m of  B_m / (B_m - 1)  *  sum over b of e_mb^2 ) / H

    This is the combined ratio estimator of a stratified sample (Cochran, Sampling Techniques, 3rd ed., 6.11) without
    the finite population correction. The strata are the matches: the schedule fixes who meets whom, so that some
    opponents are stronger than others is no error of the estimate, and only the variation between boards of one match
    is. When all boards of match m have h_m hands, match m's part is B_m h_m^2 s_m^2, with s_m^2 the sample
    variance of its board means: the variances of the matches, weighted by hands.

    The sums are exact, and what is rounded is added by ``math.fsum``: the order of the observations changes no digit.

    Args:
        observations: at least one, in any order.

    Returns:
        The estimate; its standard error is None when any match has a single board, whose variation can't be known.
    """
    points = sum(observation.points for observation in observations)
    hands = sum(observation.hands for observation in observations)
    # p_mb - R h_mb, times H, is a whole number.
    residuals: dict[int, list[int]] = {}
    for observation in observations:
        residual = observation.points * hands - points * observation.hands
        residuals.setdefault(observation.match, []).append(residual)
    per_hand = Fraction(points, hands)
    if any(len(of_match) < 2 for of_match in residuals.values()):
        return Estimate(per_hand, None)
    variance = math.fsum(_stratum(of_match) / hands**4 for of_match in residuals.values())
    return Estimate(per_hand, math.sqrt(variance))


def _stratum(residuals: Sequence[int]) -> Fraction:
    """Return B / (B - 1) times the sum of the squared deviations of B residuals from their mean, exactly."""
    boards = len(residuals)
    total = sum(residuals)
    return Fraction(boards * sum(residual * residual for residual in residuals) - total * total, boards - 1)
