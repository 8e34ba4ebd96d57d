"""What stands behind a tournament's points: by seat, by pass direction, and how often the moon was shot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from arbiter.rating.ratio import Estimate, Ratios, Sample


@dataclass(frozen=True, slots=True, order=True)
class Tally:
    """The hands of an entrant on a board in one seat under one pass direction."""

    match: int
    board: int
    entrant: int
    seat: int
    direction: str
    hands: int
    points: int
    moons: int


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Of each entrant, by index; None where it played no such hand. Errors have the board as their unit.

    Attributes:
        moons: moons that it shot, per hand.
        seats: points per hand by seat.
        directions: points per hand by pass direction, in order of first appearance.
    """

    moons: tuple[Estimate | None, ...]
    seats: dict[int, tuple[Estimate | None, ...]]
    directions: dict[str, tuple[Estimate | None, ...]]


def breakdown(entrants: int, tallies: Iterable[Tally]) -> Breakdown:
    """Break points down.

    Args:
        entrants: number of entrants in the tournament.
        tallies: of complete matches, in any order.
    """
    ordered = sorted(tallies)
    seats = sorted({tally.seat for tally in ordered})
    directions = dict.fromkeys(tally.direction for tally in ordered)

    def points(found: Iterable[Tally]) -> tuple[Estimate | None, ...]:
        return _per_hand(entrants, list(found), lambda tally: tally.points)

    return Breakdown(
        moons=_per_hand(entrants, ordered, lambda tally: tally.moons),
        seats={seat: points(tally for tally in ordered if tally.seat == seat) for seat in seats},
        directions={name: points(tally for tally in ordered if tally.direction == name) for name in directions},
    )


def _per_hand(entrants: int, ordered: list[Tally], amount: Callable[[Tally], int]) -> tuple[Estimate | None, ...]:
    """An amount per hand, by entrant, over the boards that have such hands."""
    samples = []
    for _, of_match in groupby(ordered, key=lambda tally: tally.match):
        played = list(of_match)
        column = {entrant: place for place, entrant in enumerate(sorted({tally.entrant for tally in played}))}
        row = {board: place for place, board in enumerate(sorted({tally.board for tally in played}))}
        amounts, hands = np.zeros((2, len(row), len(column)), dtype=np.int64)
        for tally in played:
            amounts[row[tally.board], column[tally.entrant]] += amount(tally)
            hands[row[tally.board], column[tally.entrant]] += tally.hands
        samples.append(Sample(tuple(column), amounts, hands))
    ratios = Ratios(entrants, samples)
    return tuple(ratios.estimate(entrant) for entrant in range(entrants))
