"""A test and an interval that hold at every look and for any distribution within known bounds: betting on the mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from arbiter.verdict.sequential import Answer, Hypotheses, Scale, VerdictError

PRIOR_OBSERVATIONS: Final = 4
"""How many observations the spread that is assumed beforehand counts as, when a stake is chosen."""

BOLDNESS: Final = 0.9
"""Largest part of the wealth that a single observation may cost."""

_HALVINGS: Final = 60


@dataclass(frozen=True, slots=True)
class _Bet:
    """One block: what was staked on each of its observations, fixed before the first of them was seen."""

    stake: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Betting:
    r"""Two gamblers, one who bets against a mean of delta0 or less and one against a mean of delta1 or more.

    With observations x between -bound and bound, the first one's wealth is multiplied by 1 + stake (x - delta0). Under
    a mean of delta0 or less it is a supermartingale, so that it ever reaches 1 / alpha with probability alpha at the
    most (Ville's inequality), whatever the distribution and however often one looks; likewise for the second with
    1 / beta (Waudby-Smith and Ramdas, Estimating Means of Bounded Random Variables by Betting, JRSS B 86, 2024).
    All means that neither kind of gambler has refuted are a confidence sequence: :meth:`interval`.

    The stake aims at the hypotheses, (delta1 - delta0) / (variance + (delta1 - delta0)^2), which is the growth-optimal
    one to first order if the other hypothesis is true; the variance is that of the blocks before. It stays the same
    within a block, for the boards of a block differ in what they expect (each has its own pass direction and
    neighbours): the product over a block of 1 + stake e_b is at most exp(stake * sum e_b), so it is enough that a
    *whole* block has a mean of delta0.

    Attributes:
        hypotheses: what is tested.
        bound: no observation is further from 0 than this, in points per hand.
        spread: standard deviation of an observation assumed beforehand, in points per hand; it decides on stakes and
            so on how soon an answer comes, never on whether it is right.
    """

    hypotheses: Hypotheses
    bound: float
    spread: float
    bets: tuple[_Bet, ...] = ()
    observations: int = 0
    total: float = 0.0
    squares: float = 0.0
    wealth1: float = 0.0
    """Logarithm of the wealth of who bets against delta0."""
    wealth0: float = 0.0
    """The same for who bets against delta1."""

    def __post_init__(self) -> None:
        if not -self.bound < self.hypotheses.delta0 < self.hypotheses.delta1 < self.bound:
            raise VerdictError(
                f"delta0 is {self.hypotheses.delta0:g} and delta1 {self.hypotheses.delta1:g}; "
                f"an improvement lies between {-self.bound:g} and {self.bound:g} points per hand"
            )
        if not (math.isfinite(self.spread) and self.spread > 0):
            raise VerdictError(f"the spread assumed beforehand is {self.spread:g}; it has to be above 0")

    @property
    def blocks(self) -> int:
        """See :class:`SequentialTest`."""
        return len(self.bets)

    @property
    def for_delta1(self) -> Scale:
        """Log-wealth of the gambler against delta0; 0 as long as no two observations differ."""
        return Scale(self.wealth1 if self._varies() else 0.0, -math.log(self.hypotheses.alpha))

    @property
    def for_delta0(self) -> Scale:
        """Log-wealth of the gambler against delta1; 0 as long as no two observations differ."""
        return Scale(self.wealth0 if self._varies() else 0.0, -math.log(self.hypotheses.beta))

    @property
    def answer(self) -> Answer | None:
        """See :class:`SequentialTest`."""
        if self.for_delta1.reached:
            return Answer.DELTA1
        return Answer.DELTA0 if self.for_delta0.reached else None

    def after(self, block: Sequence[float]) -> Betting:
        """See :class:`SequentialTest`.

        Raises:
            VerdictError: an observation is outside the bounds.
        """
        for value in block:
            if not abs(value) <= self.bound:
                raise VerdictError(f"an improvement of {value:g} points per hand; at most {self.bound:g} is possible")
        bet = _Bet(self._stake(), tuple(block))
        against1 = _mirrored([bet])
        return replace(
            self,
            bets=(*self.bets, bet),
            observations=self.observations + len(block),
            total=self.total + math.fsum(block),
            squares=self.squares + math.fsum(value * value for value in block),
            wealth1=self.wealth1 + _log_wealth([bet], self.hypotheses.delta0, self.bound),
            wealth0=self.wealth0 + _log_wealth(against1, -self.hypotheses.delta1, self.bound),
        )

    def interval(self, error: float = 0.05) -> tuple[float, float]:
        """Every mean that is not refuted, in points per hand: the true one is always among them, at every look at once,
        with probability 1 - ``error`` at the least."""
        limit = math.log(2 / error)
        low = _least_unrefuted(self.bets, self.bound, limit)
        high = -_least_unrefuted(_mirrored(self.bets), self.bound, limit)
        return low, high

    def _stake(self) -> float:
        gap = self.hypotheses.delta1 - self.hypotheses.delta0
        scatter = max(0.0, self.squares - self.total**2 / self.observations) if self.observations else 0.0
        variance = (scatter + PRIOR_OBSERVATIONS * self.spread**2) / (self.observations + PRIOR_OBSERVATIONS)
        return gap / (variance + gap**2)

    def _varies(self) -> bool:
        values = (value for bet in self.bets for value in bet.values)
        first = next(values, None)
        return any(value != first for value in values)


def _log_wealth(bets: Iterable[_Bet], mean: float, bound: float) -> float:
    """Log-wealth of who bets against ``mean`` or less, never more than :data:`BOLDNESS` of the wealth at once."""
    most = BOLDNESS / (mean + bound) if mean > -bound else math.inf
    return math.fsum(math.log1p(min(bet.stake, most) * (value - mean)) for bet in bets for value in bet.values)


def _least_unrefuted(bets: Sequence[_Bet], bound: float, limit: float) -> float:
    """The least mean against which the wealth stays below the limit; it falls as the mean rises."""
    low, high = -bound, bound
    if _log_wealth(bets, low, bound) < limit:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _log_wealth(bets, middle, bound) < limit:
            high = middle
        else:
            low = middle
    return low


def _mirrored(bets: Iterable[_Bet]) -> list[_Bet]:
    return [_Bet(bet.stake, tuple(-value for value in bet.values)) for bet in bets]
