"""The generalised sequential probability ratio test for a mean of unknown variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from arbiter.verdict.sequential import Answer, Hypotheses, Scale, VerdictError

PRIOR_OBSERVATIONS: Final = 4
"""How many observations the spread that is assumed beforehand counts as."""

MIN_BLOCKS: Final = 2
"""Blocks before the first answer."""

MIN_OBSERVATIONS: Final = 8
"""Observations before the first answer."""


@dataclass(frozen=True, slots=True)
class Gsprt:
    r"""Wald's test with the variance estimated from the data.

    With mean m and variance v of n observations::

        LLR = n (delta1 - delta0) (m - (delta0 + delta1) / 2) / v

    the logarithm of the ratio of the two normal likelihoods with the variance put in: the generalised SPRT to first
    order in the hypotheses' distance, the form that fishtest uses for pairs of games (M. Van den Bergh, A Practical
    Introduction to the GSPRT). The limits are Wald's, log((1 - beta) / alpha) and log(beta / (1 - alpha)).

    Maximising the likelihoods in the variance separately for each hypothesis gives nearly the same while m is near
    them; but far away it explains m by a large variance, and the better the candidate, the longer the test. This form
    rises with m throughout.

    The error rates hold approximately, for means of boards that are nearly normal. Two precautions for the beginning,
    when they are not: the variance is drawn towards ``spread``, which counts as :data:`PRIOR_OBSERVATIONS`
    observations, and no answer comes before :data:`MIN_BLOCKS` blocks and :data:`MIN_OBSERVATIONS` observations. What
    no ratio of normal likelihoods can see is a disaster so rare that it has not happened yet;
    :class:`arbiter.verdict.Betting` makes no such assumption.

    Attributes:
        hypotheses: what is tested.
        spread: standard deviation of an observation assumed beforehand, in points per hand.
    """

    hypotheses: Hypotheses
    spread: float
    blocks: int = 0
    observations: int = 0
    total: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spread) and self.spread > 0):
            raise VerdictError(f"the spread assumed beforehand is {self.spread:g}; it has to be above 0")

    @property
    def llr(self) -> float:
        """Log-likelihood ratio of delta1 to delta0; 0 as long as no two observations differ."""
        n = self.observations
        if self.least >= self.most:
            return 0.0
        mean = self.total / n
        scatter = max(0.0, self.squares - self.total * mean)
        variance = (scatter + PRIOR_OBSERVATIONS * self.spread**2) / (n + PRIOR_OBSERVATIONS)
        delta0, delta1 = self.hypotheses.delta0, self.hypotheses.delta1
        return n * (delta1 - delta0) * (mean - (delta0 + delta1) / 2) / variance

    @property
    def for_delta1(self) -> Scale:
        """The LLR and its upper limit."""
        return Scale(self.llr, math.log((1 - self.hypotheses.beta) / self.hypotheses.alpha))

    @property
    def for_delta0(self) -> Scale:
        """The LLR and its lower limit, both with the sign turned."""
        return Scale(-self.llr, math.log((1 - self.hypotheses.alpha) / self.hypotheses.beta))

    @property
    def answer(self) -> Answer | None:
        """See :class:`SequentialTest`."""
        if self.blocks < MIN_BLOCKS or self.observations < MIN_OBSERVATIONS:
            return None
        if self.for_delta1.reached:
            return Answer.DELTA1
        return Answer.DELTA0 if self.for_delta0.reached else None

    def after(self, block: Sequence[float]) -> Gsprt:
        """See :class:`SequentialTest`."""
        return replace(
            self,
            blocks=self.blocks + 1,
            observations=self.observations + len(block),
            total=self.total + math.fsum(block),
            squares=self.squares + math.fsum(value * value for value in block),
            least=min([self.least, *block]),
            most=max([self.most, *block]),
        )
