r"""Points per hand and their differences, with standard errors whose unit is the board.

With match m's boards b = 1 .. B_m, points p_mb over h_mb hands, and P and H the totals over all matches::

    R     = P / H
    z_mb  = (p_mb - R h_mb) / H
    V_m   = B_m / (B_m - 1)  *  sum over b of (z_mb - mean of z_m)^2
    SE(R) = sqrt( sum over m of V_m )
    df    = (sum over m of V_m)^2  /  sum over m of  V_m^2 / (B_m + 1)   -  2,   at most sum over m of (B_m - 1)

This is the combined ratio estimator of a stratified sample (Cochran, *Sampling Techniques*, 3rd ed., 6.11) without the
finite population correction. The strata are the matches: the schedule fixes who meets whom, so that some opponents are
stronger than others is no error of the estimate, and only the variation between boards of one match is.

The degrees of freedom are Satterthwaite's (Cochran 5.4), with V_m for true variances made good for. With nu = B - 1
degrees of freedom the square of an estimated variance is on average (nu + 2) / nu times the square of the true one. So
V_m^2 / (B_m + 1) is what V_m^2 / (B_m - 1) would be of true variances, and twice its sum is what the square of the sum
of V_m is too large by. Without that, matches of two boards give intervals that are too wide.

Points are skewed, and places of a bot that is nearly always last are more so. Student's t then holds the truth less
often than it says, by a share of the order of the square of the estimate's skewness, which the boards tell::

    K_m   = B_m^2 / ((B_m - 1) (B_m - 2))  *  sum over b of (z_mb - mean of z_m)^3
    N_m   = 6 (B_m - 1) / ((B_m + 1) (B_m + 3) (B_m - 2))  *  V_m^3
    g2    = ((sum over m of K_m)^2 - sum over m of N_m) / SE(R)^6
    half  = SE(R) (t + x (x^4 + 2 x^2 - 3) / 18 * g2 (1 + 3/2 (1 / B + g2)))
            B = sum over m of B_m, t and x the quantiles of Student's and the normal distribution

This is the two-sided Edgeworth correction of the Studentized mean (the polynomial q_2 of Hall, *The Bootstrap and
Edgeworth Expansion*, 1992, chapter 2) without its term in the kurtosis, which is a fifteenth of it. The square of an
estimated skewness is off in two ways, and a correction for each makes intervals as wide as they should be:

- It has the noise of K_m in it. N_m is the variance of K_m where boards are normal (6 V_m^3 / ((B_m - 1) (B_m - 2)), of
  Fisher's third k-statistic, with V_m^3 made good for its own bias). Without that the intervals of what is not skewed,
  as many differences, are too wide, the more the fewer boards a match has.
- Where boards are skewed it falls short, since boards that raise K_m raise V_m too: by the share (3/2) (1 + their
  squared skewness) / n if they have a gamma distribution (delta method; B g2 is that square).

Matches of two boards say nothing of skewness: their K_m and N_m are 0. An interval is given from :data:`MIN_BOARDS`
boards on, for with fewer none of this holds, and where boards differ at all.

A match of a single board shows no variation. Where one is among the matches of an estimate, the match is the unit for
all of them, as for strata of one unit that are collapsed (Cochran 5A.12)::

    SE(R) = sqrt( M / (M - 1)  *  sum over m of z_m^2 ),   df = M - 1,   z_m the sum over b of z_mb

What opponents differ by is part of that error, so it is too large by an unknown amount, and there is no interval. A
single match of a single board tells nothing.

A difference of two ratios is the same with z of the one less z of the other, so that what a board does to both is no
error of it.

Sums run over matches in schedule order, those of one size after the other, and totals are exact: the order of arrival
changes no digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arbiter.rating.student import LEVEL, critical

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MIN_BOARDS: Final = 20
"""Boards below which no interval is given: too few to know how far it reaches."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the boards of one match say of a quantity.

    Attributes:
        entrants: the match's entrants, k different ones.
        amounts: shape (boards, k): each one's amount, such as points.
        hands: shape (boards, k): what amounts are divided by.
    """

    entrants: tuple[int, ...]
    amounts: Whole
    hands: Whole


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio or a difference of ratios.

    Attributes:
        value: the estimate itself.
        standard_error: None when it can't be known.
        degrees: degrees of freedom of the standard error; None without one.
        squared_skewness: of the estimate's distribution, itself an estimate that may be a little below 0; None where
            there is no interval.
    """

    value: float
    standard_error: float | None
    degrees: float | None
    squared_skewness: float | None = None

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval; None without one."""
        if self.standard_error is None or self.degrees is None or self.squared_skewness is None:
            return None
        return self.standard_error * float(critical(self.degrees, (1 + LEVEL) / 2, self.squared_skewness))


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors, their degrees of freedom and squared skewness; NaN where they can't be known, and the last also
    where there is no interval."""

    standard_error: Floats
    degrees: Floats
    squared_skewness: Floats

    def estimate(self, value: float, *where: int) -> Estimate:
        """The estimate whose errors stand at this index."""
        found = (float(each[where]) for each in (self.standard_error, self.degrees, self.squared_skewness))
        return Estimate(value, *(None if np.isnan(each) else each for each in found))


class Ratios:
    """The ratios of all entrants, and their differences.

    Args:
        entrants: number of entrants.
        samples: by match, in schedule order.
    """

    def __init__(self, entrants: int, samples: Sequence[Sample]) -> None:
        blocks = _blocks(samples)
        amounts, hands = np.zeros((2, entrants), dtype=np.int64)
        for block in blocks:
            np.add.at(amounts, block.entrants, block.amounts.sum(axis=1))
            np.add.at(hands, block.entrants, block.hands.sum(axis=1))
        self.hands: Final = tuple(hands.tolist())
        """By entrant."""
        totals = zip(amounts.tolist(), self.hands, strict=True)
        self.exact: Final = tuple(Fraction(amount, played) if played else None for amount, played in totals)
        """Each entrant's ratio; None without a board."""
        ratios = np.array([0.0 if ratio is None else float(ratio) for ratio in self.exact])
        divisors = np.maximum(hands.astype(np.float64), 1.0)
        own = np.zeros((_SUMS, entrants))
        shared = np.zeros((_SUMS, entrants, entrants))
        between = np.zeros((_SUMS, entrants, entrants))
        for block in blocks:
            each = block.entrants[:, None]
            z = (block.amounts - ratios[each] * block.hands) / divisors[each]
            alone = _sums(z)
            own += _folded(alone, block.entrants, own.shape)
            shared += _folded(np.broadcast_to(alone[..., None], (*alone.shape, z.shape[2])), block.pairs, shared.shape)
            between += _folded(_sums(z[..., None] - z[..., None, :]), block.pairs, between.shape)
        self.errors: Final = _errors(own)
        """By entrant."""
        # In the matches of the one without the other, the other's z is zero.
        without = own[:, :, None] - shared
        mirrored = without.transpose(0, 2, 1) * np.where(np.arange(_SUMS) == _THIRD, -1, 1)[:, None, None]
        self.difference_errors: Final = _errors(between + without + mirrored)
        """By two entrants: of their ratios' difference, over the boards of both."""

    def estimate(self, entrant: int) -> Estimate | None:
        """An entrant's ratio; None without a board."""
        ratio = self.exact[entrant]
        return None if ratio is None else self.errors.estimate(float(ratio), entrant)


@dataclass(frozen=True, slots=True)
class Leads:
    """What entrants are ahead of one another by on the boards on which they met; shapes (entrants, entrants).

    Attributes:
        boards: on which they met.
        value: amount of the column's entrant less that of the row's, over the hands of those boards; 0 without any.
        errors: of the values.
    """

    boards: Whole
    value: Floats
    errors: Errors


def leads(entrants: int, samples: Sequence[Sample]) -> Leads:
    """Compare every two entrants on their common boards.

    Args:
        entrants: number of entrants.
        samples: by match, in schedule order; the entrants of a board have equal hands.
    """
    boards, amounts, hands = np.zeros((3, entrants, entrants), dtype=np.int64)
    blocks = _blocks(samples)
    for block in blocks:
        pairs = block.pairs
        np.add.at(boards, pairs, block.amounts.shape[1])
        np.add.at(amounts, pairs, block.leads.sum(axis=1))
        np.add.at(hands, pairs, block.hands.sum(axis=1)[..., None])
    value = amounts / np.maximum(hands, 1)
    sums = np.zeros((_SUMS, entrants, entrants))
    for block in blocks:
        rows, columns = block.pairs
        z = (block.leads - value[rows, columns][:, None] * block.hands[..., None]) / hands[rows, columns][:, None]
        sums += _folded(_sums(z), block.pairs, sums.shape)
    return Leads(boards, value, _errors(sums))


@dataclass(frozen=True, slots=True)
class _Block:
    """Matches of one size, of k entrants.

    Attributes:
        entrants: shape (matches, k).
        amounts: shape (matches, boards, k).
        hands: shape (matches, boards, k).
    """

    entrants: Whole
    amounts: Whole
    hands: Whole

    @property
    def pairs(self) -> tuple[Whole, Whole]:
        """Row and column of every two entrants: shape (matches, k, k) together."""
        return self.entrants[:, :, None], self.entrants[:, None, :]

    @property
    def leads(self) -> Whole:
        """Amount of the column's entrant less that of the row's: shape (matches, boards, k, k)."""
        return self.amounts[..., None, :] - self.amounts[..., None]


_AT_ONCE: Final = 1 << 20
"""Numbers in the largest array of a block, which bounds the memory."""


def _blocks(samples: Sequence[Sample]) -> list[_Block]:
    """The samples as arrays of many matches, since NumPy takes as long for one as for a hundred."""
    by_size: dict[tuple[int, ...], list[Sample]] = {}
    for sample in samples:
        by_size.setdefault(sample.amounts.shape, []).append(sample)
    found = []
    for (boards, entrants), of_size in by_size.items():
        step = max(1, _AT_ONCE // (boards * entrants**2))
        for start in range(0, len(of_size), step):
            part = of_size[start : start + step]
            found.append(
                _Block(
                    np.array([sample.entrants for sample in part]),
                    np.stack([sample.amounts for sample in part]),
                    np.stack([sample.hands for sample in part]),
                )
            )
    return found


def _folded(sums: Floats, where: Whole | tuple[Whole, ...], shape: tuple[int, ...]) -> Floats:
    """What matches add to sums, added up by entrant or pair of entrants.

    Args:
        sums: shape (9, matches, ...).
        where: entrants, or rows and columns of pairs, for all but the first axis.
        shape: of the result.
    """
    cells = np.ravel_multi_index(np.broadcast_arrays(*where), shape[1:]) if isinstance(where, tuple) else where
    size = int(np.prod(shape[1:]))
    found: Floats = np.stack([np.bincount(cells.ravel(), each.ravel(), size) for each in sums]).astype(np.float64)
    return found.reshape(shape)


_SUMS: Final = 9
_THIRD: Final = 6
"""Which of the sums changes its sign with z."""


def _sums(z: Floats) -> Floats:
    """What each match adds to the sums of the formulas: V_m, V_m^2 / (B_m + 1), B_m - 1, z_m^2, 1, 1 for one board,
    K_m, N_m, and B_m.

    Args:
        z: shape (matches, boards, ...).

    Returns:
        Shape (9, matches, ...).
    """
    boards = z.shape[1]
    total = z.sum(axis=1)
    deviations = z - (total / boards)[:, None]
    squares = deviations * deviations
    free = max(boards - 1, 1)
    variance = squares.sum(axis=1) * (boards / free)
    third = (squares * deviations).sum(axis=1) * (boards**2 / (free * max(boards - 2, 1)))
    noise = variance**3 * (6 * free / ((boards + 1) * (boards + 3) * (boards - 2)) if boards > 2 else 0)
    one = np.ones_like(total)
    single = one * (boards == 1)
    return np.stack(
        [variance, variance**2 / (boards + 1), one * (boards - 1), total**2, one, single, third, noise, one * boards]
    )


def _errors(sums: Floats) -> Errors:
    """The module's formulas, from the sums over matches."""
    variance, squares, degrees, clusters, matches, single, third, noise, boards = sums
    by_match = single > 0
    effective = variance**2 / np.where(squares > 0, squares, 1) - 2
    degrees = np.where(squares > 0, np.minimum(np.maximum(effective, 1), degrees), degrees)
    degrees = np.where(by_match, matches - 1, degrees)
    squared = (third**2 - noise) / np.where(variance > 0, variance, 1) ** 3
    squared *= 1 + 1.5 * (1 / np.maximum(boards, 1) + squared)
    with_interval = ~by_match & (variance > 0) & (boards >= MIN_BOARDS)
    variance = np.where(by_match, clusters * matches / np.maximum(matches - 1, 1), variance)
    known = degrees > 0
    return Errors(
        np.where(known, np.sqrt(np.maximum(variance, 0)), np.nan),
        np.where(known, degrees, np.nan),
        np.where(with_interval, squared, np.nan),
    )
