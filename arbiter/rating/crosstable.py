"""The crosstable: who beats whom, by how much, and how surely."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arbiter.rating.evidence import BoardScore, in_schedule_order, samples
from arbiter.rating.ratio import Estimate, leads
from arbiter.rating.student import superiority


@dataclass(frozen=True, slots=True)
class Pairing:
    """How entrant a did against entrant b on the boards that both played.

    Attributes:
        boards: boards on which they met.
        difference: points per hand by which a did better than b, with its error; positive when a is ahead, whichever
            way the rule set counts.
        superiority: probability that a is truly better than b, see :func:`arbiter.rating.student.superiority`; None
            without a standard error.
    """

    boards: int
    difference: Estimate
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
    found = leads(entrants, samples(in_schedule_order(entrants, evidence)))
    table: dict[tuple[int, int], Pairing] = {}
    for a in range(entrants):
        for b in range(entrants):
            if a != b and found.boards[a, b]:
                lead = found.errors.estimate(float(found.value[(a, b) if lowest_wins else (b, a)]), a, b)
                table[a, b] = Pairing(int(found.boards[a, b]), lead, _superiority(lead))
    return table


def _superiority(lead: Estimate) -> float | None:
    if lead.standard_error is None or lead.degrees is None:
        return None
    return superiority(lead.value, lead.standard_error, lead.degrees)
