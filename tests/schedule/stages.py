"""Results for schedules to look back on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from arbiter.schedule import MatchResult

Groups = Sequence[tuple[int, ...]]


def results(groups: Groups, strength: Sequence[float], chance: random.Random) -> list[MatchResult]:
    """Play groups: the stronger do better more often, and now and then two do equally well."""
    return [
        MatchResult(group, tuple(Fraction(round(4 * (strength[one] + chance.gauss(0, 1)))) for one in group))
        for group in groups
    ]


def shuffled(stage: Sequence[MatchResult], chance: random.Random) -> list[MatchResult]:
    """The same results in another order of matches and of entrants in them."""
    found = []
    for result in stage:
        order = list(range(len(result.entrants)))
        chance.shuffle(order)
        found.append(MatchResult(tuple(result.entrants[i] for i in order), tuple(result.merits[i] for i in order)))
    chance.shuffle(found)
    return found


def lots_of(entrants: int, chance: random.Random) -> list[int]:
    """A draw of lots."""
    lots = list(range(entrants))
    chance.shuffle(lots)
    return lots
