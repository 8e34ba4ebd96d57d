"""Board scores for the tests: drawn by Hypothesis, or simulated from known skills."""

from __future__ import annotations

import random
from itertools import combinations

from hypothesis import strategies as st

from arbiter.rating import BoardScore

ENTRANTS = 6


@st.composite
def evidence(draw: st.DrawFn) -> list[BoardScore]:
    """Draw a few matches of two to four of six entrants, each over one to four boards."""
    scores = []
    for match in range(draw(st.integers(1, 5))):
        group = draw(st.lists(st.integers(0, ENTRANTS - 1), min_size=2, max_size=4, unique=True))
        for board in range(1, draw(st.integers(1, 4)) + 1):
            points = draw(st.lists(st.integers(-50, 200), min_size=len(group), max_size=len(group)))
            scores.append(BoardScore(match, board, tuple(group), draw(st.integers(1, 24)), tuple(points)))
    return scores


def tournament(
    chance: random.Random,
    means: list[float],
    *,
    seats: int,
    boards: int,
    hands: tuple[int, int] = (1, 9),
    meetings: int = 1,
) -> list[BoardScore]:
    """Play every group of ``seats`` entrants so many times over ``boards`` boards of so many hands, from the least to
    the most.

    ``means`` are true points per hand. The noise of a board is common to all its hands, as that of a deal is, and
    differs from entrant to entrant.
    """
    scores = []
    for match, group in enumerate([*combinations(range(len(means)), seats)] * meetings):
        for board in range(1, boards + 1):
            played = chance.randint(*hands)
            points = tuple(round(played * (means[entrant] + chance.gauss(0, 3))) for entrant in group)
            scores.append(BoardScore(match, board, group, played, points))
    return scores
