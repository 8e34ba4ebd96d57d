"""What counts as evidence: one board of one match, all its seatings summed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from arbiter.errors import UsageError
from arbiter.rating.ratio import Sample


class EvidenceError(UsageError):
    """Board scores that contradict themselves, each other or the number of entrants."""


@dataclass(frozen=True, slots=True)
class BoardScore:
    """The points of all entrants of a match on one board, summed over all the seatings under which it was played.

    The hands of one board share their cards, so they are one observation and not several.

    Attributes:
        match: number of the match in the schedule.
        board: number of the board in the match's deal set.
        entrants: the match's entrants, by their index in the tournament.
        hands: how many hands each entrant played on this board, at least one.
        points: total points, ``points[i]`` those of ``entrants[i]``.

    Raises:
        EvidenceError: no two different entrants, points of another number than entrants, or no hand.
    """

    match: int
    board: int
    entrants: tuple[int, ...]
    hands: int
    points: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what can't be a score."""
        where = f"board {self.board} of match {self.match}"
        if len(set(self.entrants)) != len(self.entrants) or len(self.entrants) < 2:
            raise EvidenceError(f"{where}: entrants are {self.entrants}; two or more different ones are needed")
        if len(self.points) != len(self.entrants):
            raise EvidenceError(f"{where}: {len(self.points)} points for {len(self.entrants)} entrants; give one each")
        if self.hands < 1:
            raise EvidenceError(f"{where}: {self.hands} hands; a board that was played has at least one")


def in_schedule_order(entrants: int, evidence: Iterable[BoardScore]) -> list[BoardScore]:
    """Return the evidence by match and board, so that what is computed from it does not depend on order of arrival.

    Args:
        entrants: number of entrants in the tournament; their indexes are ``0 .. entrants - 1``.
        evidence: board scores in any order.

    Raises:
        EvidenceError: an entrant outside the tournament, a board given twice, or a match whose boards were played by
            different groups.
    """
    ordered = sorted(evidence, key=lambda score: (score.match, score.board))
    before: BoardScore | None = None
    for score in ordered:
        where = f"board {score.board} of match {score.match}"
        stranger = next((entrant for entrant in score.entrants if not 0 <= entrant < entrants), None)
        if stranger is not None:
            raise EvidenceError(f"{where}: entrant {stranger}; entrants are numbered from 0 to {entrants - 1}")
        if before is not None and before.match == score.match:
            if before.board == score.board:
                raise EvidenceError(f"{where} is given twice; a board counts once")
            if set(before.entrants) != set(score.entrants):
                raise EvidenceError(
                    f"{where}: entrants are {sorted(score.entrants)}, but {sorted(before.entrants)} on board "
                    f"{before.board}; a match keeps its entrants"
                )
        before = score
    return ordered


def samples(ordered: Iterable[BoardScore]) -> list[Sample]:
    """The points of each match, from evidence in schedule order; entrants by number."""
    found = []
    for _, of_match in groupby(ordered, key=attrgetter("match")):
        scores = list(of_match)
        entrants = tuple(sorted(scores[0].entrants))
        points = [[score.points[score.entrants.index(entrant)] for entrant in entrants] for score in scores]
        hands = np.repeat([[score.hands] for score in scores], len(entrants), axis=1)
        found.append(Sample(entrants, np.array(points), hands))
    return found


def places(points: Sample, *, lowest_wins: bool) -> Sample:
    """The places of a match's boards; equal points share the mean of their places.

    Doubled, over two hands a board, so that shared places are whole numbers: the tied winners of ``[10, 10, 30]`` get
    3, the third 6.
    """
    mine, others = points.amounts[:, :, None], points.amounts[:, None, :]
    better = others < mine if lowest_wins else others > mine
    doubled = 2 * better.sum(axis=2) + (others == mine).sum(axis=2) + 1
    return Sample(points.entrants, doubled, np.full_like(doubled, 2))
