"""Who is ahead where several are equal."""

from __future__ import annotations

import pytest

from arbiter.rating import BoardScore, standings
from arbiter.tournament.formats import Knockout, RoundRobin, Swiss, TournamentFormat
from arbiter.tournament.ranking import rank_sides


@pytest.mark.parametrize("chosen", [Swiss(2), Knockout(2), RoundRobin()])
def test_equals_share_a_rank_and_the_next_one_counts_them(chosen: TournamentFormat) -> None:
    """Before the first stage is complete its boards alone part anybody, and in a knockout nothing does."""
    table = standings(4, [BoardScore(0, 1, (0, 1, 2, 3), 4, (10, 30, 10, 54))])
    found = rank_sides(chosen, 4, [], range(4), table)
    assert [(each.standing.entrant, each.rank) for each in found] == [
        (0, 1),
        (2, 1),
        (1, 1 if isinstance(chosen, Knockout) else 3),
        (3, 1 if isinstance(chosen, Knockout) else 4),
    ]
