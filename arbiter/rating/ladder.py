r"""The ladder: one rating for each bot version, fitted to all recorded results at once.

The model is a mixed one of all players of a table. On board b of k players and h hands each, player i takes::

    points per hand = table - rating_i + noise,    noise of variance s^2 / h

(plus the rating where the highest wins). The table's own level is free, so only what players of one table differ by
counts, and a rating of +1 says: one point a hand better than the mean bot of the ladder, in any company. Ratings are
normal around zero beforehand, with standard deviation :data:`SPREAD` s; versions of one name correlate by
:data:`KINSHIP`, so that a new version starts near its elders. With L the weighted Laplacian of who met whom (sum over
boards of h (I - J/k)), K the prior covariance in units of s^2, and b the sum over boards of h times each player's lead
over the table's mean, ratings and covariance are::

    A = L + K^-1,    ratings = A^-1 b,    C = A^-1 (U + s^2 K^-1) A^-1

U is the sum over boards of the products of the players' weighted residuals, which holds also when one bot's points
vary more than another's (the heteroscedasticity-consistent covariance of White, *Econometrica* 48, 1980, scaled by
degrees of freedom as MacKinnon and White's HC1, with the prior as further observations).
Why this and not a model of places: ``docs/decisions/ladder.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from arbiter.errors import UsageError

SPREAD: Final = 0.4
"""Standard deviation of ratings beforehand, in standard deviations of a hand: a prior worth 1 / 0.4^2 = 6.25 hands."""

KINSHIP: Final = 0.75
"""Correlation of the ratings of two versions of one name beforehand."""

PROVISIONAL: Final = 0.5
"""A rating is provisional while its standard deviation under the model is more than this share of :data:`SPREAD`."""

INTERVAL: Final = NormalDist().inv_cdf(0.975)
"""Standard errors on either side of a rating that hold 95 %."""


@dataclass(frozen=True, slots=True, order=True)
class TableResult:
    """One board with all its seatings, from whatever tournament.

    Attributes:
        players: versions at the table by key. One that sat there twice stands there twice.
        points: total points of each.
        hands: hands that each played.
    """

    players: tuple[str, ...]
    points: tuple[int, ...]
    hands: int


@dataclass(frozen=True, slots=True)
class Rating:
    """A version's place on the ladder.

    Attributes:
        version: its key.
        value: points per hand by which it is better than the mean of all versions with results.
        standard_error: of the value.
        hands: hands played.
        provisional: whether there are too few results for a rank, so that nobody gains one by registering anew.
        rank: by :attr:`at_least`, 1 is best, equal ones share it; None while the rating is provisional, and for one
            that is not ranked.
        ranks: best and worst rank that the results leave open at 95 % among the versions with a rank, as in
            :func:`arbiter.rating.standings.standings`; None where there is no rank.
        noise: variance of the points of one hand that no rating explains, the same for all versions of a fit; 0 before
            the first result.
    """

    version: str
    value: float
    standard_error: float
    hands: int
    provisional: bool
    rank: int | None = None
    ranks: tuple[int, int] | None = None
    noise: float = 0.0

    @property
    def at_least(self) -> float:
        """Lower end of the rating's 95 % interval: what ranks, so that few results never help.

        To nine decimals, so that rounding parts no equals.
        """
        return round(self.value - INTERVAL * self.standard_error, 9)


def ladder(
    versions: Mapping[str, str],
    results: Iterable[TableResult],
    *,
    lowest_wins: bool = True,
    ranked: Collection[str] | None = None,
) -> dict[str, Rating]:
    """Rate all versions.

    The results are put into an order of their own first, so theirs changes no digit.

    Args:
        versions: the name of each version by its key.
        results: in any order.
        lowest_wins: whether few points are good.
        ranked: keys of those that are ranked, among one another; None for all.

    Returns:
        Ratings by key; ranked ones first, best first, then those without a rank, highest :attr:`Rating.at_least` first.

    Raises:
        UsageError: a result of no hands, or of a version that is not among ``versions``.
    """
    keys = sorted(versions)
    number = {key: index for index, key in enumerate(keys)}
    names = np.array([versions[key] for key in keys], dtype=object)
    prior = (1 - KINSHIP) * np.eye(len(keys)) + KINSHIP * (names[:, None] == names[None, :])
    fit = _Fit(SPREAD**2 * prior, _blocks(results, number, lowest_wins))
    hands = {key: int(fit.hands[number[key]]) for key in keys}
    values, errors = fit.centred(fit.ratings), fit.centred_deviations(fit.covariance)
    known_enough = (fit.hands > 0) & (fit.centred_deviations(fit.inverse) <= PROVISIONAL * SPREAD)
    found = [
        Rating(key, float(value), float(error), hands[key], provisional=not known, noise=fit.noise)
        for key, value, error, known in zip(keys, values, errors, known_enough, strict=True)
    ]
    found.sort(key=lambda rating: (-rating.at_least, rating.version))
    listed = [r for r in found if not r.provisional and (ranked is None or r.version in ranked)]
    open_ranks = fit.open_ranks([number[r.version] for r in listed])
    in_order = [
        replace(r, rank=1 + sum(o.at_least > r.at_least for o in listed), ranks=ranks)
        for r, ranks in zip(listed, open_ranks, strict=True)
    ]
    placed = {rating.version for rating in in_order}
    return {rating.version: rating for rating in [*in_order, *(r for r in found if r.version not in placed)]}


@dataclass(frozen=True, slots=True)
class _Block:
    """Boards of one number of players k.

    Attributes:
        players: shape (boards, k).
        leads: shape (boards, k): points per hand better than the table's mean.
        hands: shape (boards, 1).
    """

    players: NDArray[np.int64]
    leads: NDArray[np.float64]
    hands: NDArray[np.float64]


def _blocks(results: Iterable[TableResult], number: Mapping[str, int], lowest_wins: bool) -> list[_Block]:
    """The results as arrays, sorted by their content, players at a table too."""
    by_size: dict[int, list[TableResult]] = {}
    for result in results:
        if result.hands < 1 or not number.keys() >= {*result.players}:
            raise UsageError(f"{result}: a result has at least one hand, and its players are among the versions")
        by_size.setdefault(len(result.players), []).append(result)
    blocks = []
    for size, of_size in sorted(by_size.items()):
        players = np.array([number[player] for result in of_size for player in result.players]).reshape(-1, size)
        points = np.array([amount for result in of_size for amount in result.points]).reshape(-1, size)
        seats = np.lexsort((points, players), axis=1)
        rows = np.concatenate(
            [
                np.take_along_axis(players, seats, axis=1),
                np.take_along_axis(points, seats, axis=1),
                np.array([[result.hands] for result in of_size]),
            ],
            axis=1,
        )
        rows = rows[np.lexsort(rows.T)]
        hands = rows[:, -1:].astype(np.float64)
        per_hand = rows[:, size:-1] / hands
        mean = per_hand.mean(axis=1, keepdims=True)
        blocks.append(_Block(rows[:, :size], mean - per_hand if lowest_wins else per_hand - mean, hands))
    return blocks


class _Fit:
    """The fit, in the module's terms."""

    def __init__(self, prior: NDArray[np.float64], blocks: list[_Block]) -> None:
        n = len(prior)
        laplacian, target = np.zeros((n, n)), np.zeros(n)
        self.hands: NDArray[np.float64] = np.zeros(n)
        for block in blocks:
            k = block.players.shape[1]
            laplacian += _fold(n, block, block.hands[:, :, None] * (np.eye(k) - 1 / k))
            target += np.bincount(block.players.ravel(), (block.hands * block.leads).ravel(), n)
            self.hands += np.bincount(block.players.ravel(), np.repeat(block.hands.ravel(), k), n)
        precision = np.linalg.inv(prior)
        inverse = np.linalg.inv(laplacian + precision)
        self.inverse: Final = inverse
        self.ratings: Final = inverse @ target
        residuals = [block.leads - _centred(self.ratings[block.players]) for block in blocks]
        free = sum(block.players.size - len(block.players) for block in blocks)
        left = max(free - float(np.trace(inverse @ laplacian)), 1.0)
        squares = sum(
            float((block.hands * residual**2).sum()) for block, residual in zip(blocks, residuals, strict=True)
        )
        self.noise: Final = squares / left
        """s^2: variance of a hand's points that ratings don't explain."""
        meat = self.noise * precision
        for block, residual in zip(blocks, residuals, strict=True):
            weighted = block.hands * residual
            meat += _fold(n, block, weighted[:, :, None] * weighted[:, None, :]) * (free / left)
        self.covariance: Final = inverse @ meat @ inverse

    def centred(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of all versions less the mean of those with results."""
        return values - self._weights @ values

    def centred_deviations(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standard deviations of centred values, from the covariance of the values."""
        row = self._weights @ covariance
        return np.sqrt(np.maximum(np.diagonal(covariance) - 2 * row + row @ self._weights, 0))

    def open_ranks(self, versions: list[int]) -> list[tuple[int, int]]:
        """Best and worst rank among some versions that their differences leave open, each tested two ways at 5 % over
        the number of others."""
        index = np.array(versions, dtype=np.int64)
        covariance = self.covariance[np.ix_(index, index)]
        variances = np.diagonal(covariance)
        error = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 0))
        reach = NormalDist().inv_cdf(1 - 0.025 / max(len(versions) - 1, 1)) * error
        lead = self.ratings[index][:, None] - self.ratings[index][None, :]
        worse, better = (lead > reach).sum(axis=1), (-lead > reach).sum(axis=1)
        return [(1 + int(b), len(versions) - int(w)) for b, w in zip(better, worse, strict=True)]

    @property
    def _weights(self) -> NDArray[np.float64]:
        played: NDArray[np.float64] = (self.hands > 0).astype(np.float64)
        return played / max(float(played.sum()), 1.0)


def _centred(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values less the mean of their row: shape (boards, k) both."""
    mean: NDArray[np.float64] = values.mean(axis=1, keepdims=True)
    return values - mean


def _fold(n: int, block: _Block, products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum products of two players of a board, shape (boards, k, k), by the two: shape (n, n)."""
    cells = block.players[:, :, None] * n + block.players[:, None, :]
    return np.bincount(cells.ravel(), products.ravel(), n * n).reshape(n, n).astype(np.float64)
