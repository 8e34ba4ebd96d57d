"""Skill ratings by a model of many players at one table, with their uncertainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from openskill.models import BradleyTerryFull

from arbiter.rating.evidence import BoardScore, in_schedule_order

MU = 25.0
"""Prior mean of a skill: the customary scale of TrueSkill and Weng-Lin ratings."""

SIGMA = MU / 3
"""Prior standard deviation of a skill."""

BETA = SIGMA / 2
"""Standard deviation of one performance around the skill: how much luck there is in a match."""

TAU = 0.0
"""Drift of a skill between matches: none, for a bot version never changes."""


@dataclass(frozen=True, slots=True)
class Rating:
    """An entrant's skill.

    Attributes:
        entrant: index of the entrant.
        mu: mean of the skill's distribution; higher is better.
        sigma: its standard deviation.
        ordinal: ``mu - 3 * sigma``, a skill that the entrant very likely exceeds: the one number to rank by.
    """

    entrant: int
    mu: float
    sigma: float
    ordinal: float


def ratings(entrants: int, evidence: Iterable[BoardScore], *, lowest_wins: bool = True) -> list[Rating]:
    """Rate all entrants from their places in matches, a match being ranked by its points over all boards.

    The model is Bradley-Terry with full pairing (Weng and Lin, A Bayesian Approximation Method for Online Ranking,
    JMLR 12, 2011, algorithm 1): a match is a comparison of each entrant with every other at the table at once, a tie
    half a win for both. Of openskill's models it is chosen because it uses the whole order of a table (partial
    pairing sees neighbours alone), is free of a draw margin to tune (unlike Thurstone-Mosteller), and keeps the order
    of every table: openskill's Plackett-Luce moves a third place as far as two tied winners above it.

    Matches are fed in schedule order with whole-numbered ranks, so the order of arrival changes no digit. They are fed
    whole, and not board by board, because the method forgets: over hundreds of boards a rating depends on their order
    by more than its own sigma (600 boards of four bots fed in six orders: mu from 26.6 to 28.7, sigma 0.7), and could
    contradict the standings. What is rated are places, not points: a match lost by far weighs no more than one lost
    narrowly; for the size of a difference and its error read the standings and the crosstable.

    Args:
        entrants: number of entrants in the tournament.
        evidence: board scores in any order.
        lowest_wins: whether few points are good.

    Returns:
        One rating per entrant, by index; who has no evidence has the prior.

    Raises:
        EvidenceError: the evidence contradicts itself or ``entrants``.
    """
    model = BradleyTerryFull(mu=MU, sigma=SIGMA, beta=BETA, tau=TAU)
    skills = [model.rating() for _ in range(entrants)]
    sign = 1 if lowest_wins else -1
    for _, scores in groupby(in_schedule_order(entrants, evidence), key=attrgetter("match")):
        total: Counter[int] = Counter()
        for score in scores:
            total.update(dict(zip(score.entrants, score.points, strict=True)))
        table = sorted(total.items())
        ranks: list[float] = [1 + sum(sign * other < sign * points for _, other in table) for _, points in table]
        rated = model.rate([[skills[entrant]] for entrant, _ in table], ranks=ranks)
        for (entrant, _), (skill,) in zip(table, rated, strict=True):
            skills[entrant] = skill
    return [Rating(entrant, skill.mu, skill.sigma, skill.mu - 3 * skill.sigma) for entrant, skill in enumerate(skills)]
