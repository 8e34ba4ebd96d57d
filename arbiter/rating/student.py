"""Student's t distribution, from SciPy, which is imported with the first question: it takes longer than the answer."""

from __future__ import annotations

from statistics import NormalDist
from typing import Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = 0.95
"""Level of every confidence interval."""

Numbers = TypeVar("Numbers", float, NDArray[np.float64])
"""A number, or an array of them."""


def quantile(degrees: Numbers, probability: float) -> Numbers:
    """The value below which a t variable of these degrees of freedom lies with this probability; arrays give arrays."""
    from scipy.special import stdtrit

    return cast("Numbers", stdtrit(degrees, probability))  # SciPy leaves the precision open


def superiority(lead: float, standard_error: float, degrees: float) -> float:
    """Probability that what a lead estimates is above zero: Student's t at ``lead / standard_error``.

    It is the posterior probability under a flat prior, and one less the one-sided p value. Computed from the smaller
    tail, so that the superiorities of ``lead`` and ``-lead`` add up to exactly one. Without variation it is 0, 0.5 or 1
    by the sign of the lead.
    """
    if standard_error == 0:
        return 0.5 + 0.5 * ((lead > 0) - (lead < 0))
    from scipy.special import stdtr

    tail = float(stdtr(degrees, -abs(lead) / standard_error))
    return 1 - tail if lead > 0 else tail


def critical(degrees: Numbers, probability: float, squared_skewness: Numbers) -> Numbers:
    """Standard errors on either side of an estimate beyond which its truth lies with twice ``1 - probability``, when
    the estimate is skewed, see :mod:`arbiter.rating.ratio`; arrays give arrays."""
    x = NormalDist().inv_cdf(probability)
    return quantile(degrees, probability) + x * (x**4 + 2 * x**2 - 3) / 18 * squared_skewness
