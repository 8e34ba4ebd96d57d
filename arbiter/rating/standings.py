"""Standings: points per hand and mean place of every entrant, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from arbiter.rating.evidence import BoardScore, in_schedule_order, places
from arbiter.rating.ratio import Estimate, Observation, estimate


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of the standings.

    Attributes:
        entrant: index of the entrant.
        rank: 1 is best; equal points per hand share a rank, and the next rank counts them (1, 1, 3).
        hands: hands played, over all seatings.
        boards: boards played.
        points_per_hand: total points over total hands; None before the first board.
        standard_error: of points per hand, from boards within matches (see ``arbiter.rating.ratio``); None when a
            match of the entrant has a single board.
        mean_place: mean over boards of the place on the board, from 1 to the number of entrants of the match; equal
            points share the mean of their places. None before the first board.
    """

    entrant: int
    rank: int
    hands: int
    boards: int
    points_per_hand: float | None
    standard_error: float | None
    mean_place: float | None


def standings(entrants: int, evidence: Iterable[BoardScore], *, lowest_wins: bool = True) -> list[Standing]:
    """Rank all entrants by points per hand.

    Args:
        entrants: number of entrants in the tournament.
        evidence: board scores in any order.
        lowest_wins: whether few points are good, as in most rule sets.

    Returns:
        One standing per entrant, best first, equal ones by index. Entrants without evidence come last and share the
        rank below all others.

    Raises:
        EvidenceError: the evidence contradicts itself or ``entrants``.
    """
    observations: list[list[Observation]] = [[] for _ in range(entrants)]
    doubled_places = [0] * entrants
    for score in in_schedule_order(entrants, evidence):
        for entrant, points in zip(score.entrants, score.points, strict=True):
            observations[entrant].append(Observation(score.match, points, score.hands))
        for entrant, doubled in places(score, lowest_wins=lowest_wins).items():
            doubled_places[entrant] += doubled
    estimates = {entrant: estimate(seen) for entrant, seen in enumerate(observations) if seen}
    sign = 1 if lowest_wins else -1

    def merit(entrant: int) -> tuple[int, Fraction]:
        known = estimates.get(entrant)
        return (1, Fraction(0)) if known is None else (0, sign * known.per_hand)

    table: list[Standing] = []
    for position, entrant in enumerate(sorted(range(entrants), key=merit), start=1):
        shared = bool(table) and merit(table[-1].entrant) == merit(entrant)
        rank = table[-1].rank if shared else position
        known = estimates.get(entrant)
        table.append(_line(entrant, rank, observations[entrant], known, doubled_places[entrant]))
    return table


def _line(entrant: int, rank: int, seen: list[Observation], known: Estimate | None, doubled_places: int) -> Standing:
    """Make one line of the table from what is known of an entrant."""
    return Standing(
        entrant=entrant,
        rank=rank,
        hands=sum(observation.hands for observation in seen),
        boards=len(seen),
        points_per_hand=None if known is None else float(known.per_hand),
        standard_error=None if known is None else known.standard_error,
        mean_place=doubled_places / (2 * len(seen)) if seen else None,
    )
