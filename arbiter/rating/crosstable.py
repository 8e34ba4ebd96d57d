"""The crosstable: who beats whom, by how much, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from arbiter.rating.evidence import BoardScore, in_schedule_order
from arbiter.rating.ratio import Estimate, Observation, estimate


@dataclass(frozen=True, slots=True)
class Pairing:
    """How entrant a did against entrant b on the boards that both played.

    Attributes:
        boards: boards on which they met.
        difference: points per hand by which a did better than b; positive when a is ahead, whichever way the rule set
            counts.
        standard_error: of the difference, from boards within matches (see ``arbiter.rating.ratio``); None when one of
            their matches has a single board.
        superiority: probability that a is better than b: the normal approximation Phi(difference / standard error).
            Without variation it is 0, 0.5 or 1 by the sign of the difference; None without a standard error.
    """

    boards: int
    difference: float
    standard_error: float | None
    superiority: float | None


def crosstable(
    entrants: int, evidence: Iterable[BoardScore], *, lowest_wins: bool = True
) -> dict[tuple[int, int], Pairing]:
    """Compare every two entrants who met, board by board.

    Args:
        entrants: number of entrants in the tournament.
        evidence: board scores in any order.
        lowest_wins: whether few points are good.

    Returns:
        For all a != b who met, under ``(a, b)``, how a did against b; sorted by key. ``(a, b)`` and ``(b, a)`` mirror
        each other exactly: differences are opposite, errors equal, and superiorities add up to one.

    Raises:
        EvidenceError: the evidence contradicts itself or ``entrants``.
    """
    met: dict[tuple[int, int], list[Observation]] = {}
    for score in in_schedule_order(entrants, evidence):
        by_entrant = sorted(zip(score.entrants, score.points, strict=True))
        for (first, first_points), (second, second_points) in combinations(by_entrant, 2):
            lead = second_points - first_points if lowest_wins else first_points - second_points
            met.setdefault((first, second), []).append(Observation(score.match, lead, score.hands))
    table: dict[tuple[int, int], Pairing] = {}
    for (first, second), observations in met.items():
        lead_of_first = estimate(observations)
        lead_of_second = Estimate(-lead_of_first.per_hand, lead_of_first.standard_error)
        table[first, second] = _pairing(len(observations), lead_of_first)
        table[second, first] = _pairing(len(observations), lead_of_second)
    return dict(sorted(table.items()))


def _pairing(boards: int, lead: Estimate) -> Pairing:
    """Make the entry of the table for a lead in points per hand."""
    return Pairing(boards, float(lead.per_hand), lead.standard_error, _superiority(lead))


def _superiority(lead: Estimate) -> float | None:
    """Return Phi(lead / error), computed from the smaller tail so that both sides add up to exactly one."""
    if lead.standard_error is None:
        return None
    if lead.standard_error == 0:
        return 0.5 + 0.5 * ((lead.per_hand > 0) - (lead.per_hand < 0))
    tail = math.erfc(abs(float(lead.per_hand)) / lead.standard_error / math.sqrt(2)) / 2
    return 1 - tail if lead.per_hand > 0 else tail
