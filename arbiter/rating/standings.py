"""Standings: points per hand, place and rank of every entrant with their errors, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from arbiter.rating.evidence import BoardScore, in_schedule_order, places, samples
from arbiter.rating.ratio import Estimate, Ratios
from arbiter.rating.student import LEVEL, critical


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of the standings.

    Attributes:
        entrant: index of the entrant.
        rank: 1 is best; equal points per hand share a rank, and the next rank counts them (1, 1, 3).
        ranks: best and worst rank that the results leave open at 95 %, see :func:`standings`; None before the first
            board.
        hands: hands played, over all seatings.
        boards: boards played.
        points: total points over total hands, with its error; None before the first board.
        place: mean over boards of the place on the board, from 1 to the number of entrants of the match, with its
            error; equal points share the mean of their places. None before the first board.
    """

    entrant: int
    rank: int
    ranks: tuple[int, int] | None
    hands: int
    boards: int
    points: Estimate | None
    place: Estimate | None


def standings(entrants: int, evidence: Iterable[BoardScore], *, lowest_wins: bool = True) -> list[Standing]:
    """Rank all entrants by points per hand.

    Which ranks are open to an entrant follows from its differences in points per hand from all others, each tested two
    ways at a level of 5 % over their number: its best rank is one more than the number of entrants surely better, its
    worst is that of all less the number surely worse. So the interval holds the true rank with 95 % at least (Mogstad,
    Romano, Shaikh and Wilhelm, *Inference for Ranks*, Review of Economic Studies 91, 2024, confidence sets for a single
    rank, with Bonferroni's critical value in place of the bootstrap's).

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
    points = samples(in_schedule_order(entrants, evidence))
    ratios = Ratios(entrants, points)
    on_boards = Ratios(entrants, [places(sample, lowest_wins=lowest_wins) for sample in points])
    ranks = _open_ranks(ratios, lowest_wins)
    sign = 1 if lowest_wins else -1

    def merit(entrant: int) -> tuple[int, Fraction]:
        known = ratios.exact[entrant]
        return (1, Fraction(0)) if known is None else (0, sign * known)

    table: list[Standing] = []
    for position, entrant in enumerate(sorted(range(entrants), key=merit), start=1):
        shared = bool(table) and merit(table[-1].entrant) == merit(entrant)
        table.append(
            Standing(
                entrant=entrant,
                rank=table[-1].rank if shared else position,
                ranks=ranks.get(entrant),
                hands=ratios.hands[entrant],
                boards=on_boards.hands[entrant] // 2,
                points=ratios.estimate(entrant),
                place=on_boards.estimate(entrant),
            )
        )
    return table


def _open_ranks(ratios: Ratios, lowest_wins: bool) -> dict[int, tuple[int, int]]:
    """Best and worst rank that are open to each entrant with results."""
    ranked = [entrant for entrant, known in enumerate(ratios.exact) if known is not None]
    values = np.array([float(ratios.exact[entrant] or 0) for entrant in ranked])
    errors = ratios.difference_errors.standard_error[np.ix_(ranked, ranked)]
    degrees = ratios.difference_errors.degrees[np.ix_(ranked, ranked)]
    skewness = ratios.difference_errors.squared_skewness[np.ix_(ranked, ranked)]
    lead = values[None, :] - values[:, None] if lowest_wins else values[:, None] - values[None, :]
    # NaN, where there is no interval, compares as not surely different.
    reach = errors * critical(degrees, 1 - (1 - LEVEL) / 2 / max(len(ranked) - 1, 1), skewness)
    worse, better = (lead > reach).sum(axis=1), (-lead > reach).sum(axis=1)
    return {
        entrant: (1 + int(ahead), len(ranked) - int(behind))
        for entrant, ahead, behind in zip(ranked, better, worse, strict=True)
    }
