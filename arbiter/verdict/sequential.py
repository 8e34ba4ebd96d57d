"""What all sequential tests have in common: two hypotheses, two error rates, and blocks taken one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self, TypeVar

from arbiter.errors import UsageError


class VerdictError(UsageError):
    """Hypotheses, error rates or observations that no test can be made of."""


class Answer(StrEnum):
    """Which hypothesis a test has settled on."""

    DELTA0 = "delta0"  #: the improvement is not above delta0, or not as much as delta1
    DELTA1 = "delta1"  #: the improvement is above delta0


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """What is tested: the true mean improvement is delta0, or it is delta1.

    Attributes:
        delta0: improvement in points per hand under the null hypothesis.
        delta1: the same under the alternative; above delta0.
        alpha: how often, at the most, a test may answer delta1 though the improvement is delta0 or less.
        beta: how often, at the most, it may answer delta0 though the improvement is delta1 or more.

    Raises:
        VerdictError: the hypotheses are not in order, or a rate is not between 0 and one half.
    """

    delta0: float
    delta1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not (math.isfinite(self.delta0) and math.isfinite(self.delta1) and self.delta0 < self.delta1):
            raise VerdictError(f"delta0 is {self.delta0:g} and delta1 {self.delta1:g}; delta0 has to be below delta1")
        for name, rate in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < rate < 0.5:
                raise VerdictError(f"{name} is {rate:g}; it has to be above 0 and below 0.5")


@dataclass(frozen=True, slots=True)
class Scale:
    """Evidence for one answer.

    Attributes:
        evidence: natural logarithm of how much more likely the answer has become.
        limit: the test has its answer when the evidence reaches this.
    """

    evidence: float
    limit: float

    @property
    def reached(self) -> bool:
        """Whether the evidence is enough."""
        return self.evidence >= self.limit


class SequentialTest(Protocol):
    """A test that may be looked at after every block. Tests are values: :meth:`after` leaves the one before as it was.

    Observations are improvements in points per hand, positive where the candidate is better. As long as no two of them
    differ there is no evidence: two bots that always come out alike are not told apart by playing on.
    """

    @property
    def blocks(self) -> int:
        """Blocks taken."""

    @property
    def for_delta1(self) -> Scale:
        """Evidence for delta1."""

    @property
    def for_delta0(self) -> Scale:
        """Evidence for delta0."""

    @property
    def answer(self) -> Answer | None:
        """The answer; None as long as no limit is reached."""

    def after(self, block: Sequence[float]) -> Self:
        """The test after one more complete block of observations."""


T = TypeVar("T", bound=SequentialTest)


def decide(test: T, blocks: Iterable[Sequence[float]]) -> T:
    """The test at its answer, or after the last block without one.

    Blocks are taken in the order given, which has to be the schedule's. What comes after the answer is not looked at:
    it could only be chosen by whoever wants another one.
    """
    for block in blocks:
        if test.answer is not None:
            break
        test = test.after(block)
    return test
