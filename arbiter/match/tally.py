"""What each seat made of a sitting's boards, by pass direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arbiter.engine import PassDirection
from arbiter.match.record import HandRecord


@dataclass(frozen=True, slots=True)
class HandTally:
    """The hands of one seat of one board under one pass direction."""

    board: int
    seat: int
    direction: PassDirection
    hands: int
    points: int
    """Sum of the hands' points."""
    moons: int
    """How many of the hands the seat shot the moon in."""


def tally(hands: Iterable[HandRecord]) -> tuple[HandTally, ...]:
    """Sum up a sitting's hands, by board, seat and direction."""
    found: dict[tuple[int, int, PassDirection], tuple[int, int, int]] = {}
    for hand in hands:
        for seat, points in enumerate(hand.points):
            where = hand.board, seat, hand.direction
            played, total, moons = found.get(where, (0, 0, 0))
            found[where] = played + 1, total + points, moons + (hand.moon == seat)
    return tuple(HandTally(*where, *sums) for where, sums in sorted(found.items()))
