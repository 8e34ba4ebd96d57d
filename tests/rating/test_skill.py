"""Skill ratings: what a many-player model must not get wrong."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.rating import BoardScore
from arbiter.rating.skill import MU, SIGMA, Rating, ratings
from tests.rating.simulate import ENTRANTS, evidence, tournament


def after_one_board(points: tuple[int, ...], *, lowest_wins: bool = True) -> list[Rating]:
    score = BoardScore(0, 1, tuple(range(len(points))), 4, points)
    return ratings(len(points), [score], lowest_wins=lowest_wins)


def test_two_players_by_the_formula() -> None:
    # Weng and Lin, algorithm 1, equal priors: c^2 = 2 sigma^2 + 2 beta^2 = 2.5 sigma^2, p = 1/2, so that
    # mu moves by sigma^2 / c / 2, and sigma^2 shrinks by the factor 1 - (sigma / c)^3 / 4.
    winner, loser = after_one_board((3, 8))
    c = 2.5**0.5 * SIGMA
    assert winner.mu == pytest.approx(MU + SIGMA**2 / c / 2, rel=1e-12)
    assert loser.mu == pytest.approx(MU - SIGMA**2 / c / 2, rel=1e-12)
    assert winner.sigma == loser.sigma == pytest.approx(SIGMA * (1 - (SIGMA / c) ** 3 / 4) ** 0.5, rel=1e-12)
    assert winner.ordinal == winner.mu - 3 * winner.sigma


def test_who_has_no_evidence_has_the_prior() -> None:
    assert ratings(1, []) == [Rating(0, MU, SIGMA, MU - 3 * SIGMA)]


def test_two_winners_a_third_and_a_fourth_keep_their_order() -> None:
    first, second, third, fourth = after_one_board((0, 0, 10, 16))
    assert first.mu == second.mu > third.mu > fourth.mu


@given(st.lists(st.integers(-26, 104), min_size=2, max_size=11), st.booleans())
def test_a_better_place_never_earns_less(points: list[int], lowest_wins: bool) -> None:
    rated = after_one_board(tuple(points), lowest_wins=lowest_wins)
    for a, b in pairwise(rated):
        ahead = points[b.entrant] - points[a.entrant] if lowest_wins else points[a.entrant] - points[b.entrant]
        if ahead == 0:
            assert a.mu == pytest.approx(b.mu, rel=1e-12)
        else:
            assert (a.mu > b.mu) == (ahead > 0)


@pytest.mark.parametrize("seats", [2, 3, 4, 6, 11])
def test_all_tied_leaves_everyone_equal(seats: int) -> None:
    rated = after_one_board((7,) * seats)
    assert {rating.mu for rating in rated} == {MU}
    assert len({rating.sigma for rating in rated}) == 1


@given(evidence(), st.randoms(use_true_random=False))
def test_order_of_arrival_changes_no_digit(scores: list[BoardScore], chance: random.Random) -> None:
    arrived = [
        BoardScore(s.match, s.board, tuple(s.entrants[i] for i in seats), s.hands, tuple(s.points[i] for i in seats))
        for s in scores
        for seats in [chance.sample(range(len(s.entrants)), len(s.entrants))]
    ]
    chance.shuffle(arrived)
    assert ratings(ENTRANTS, iter(arrived)) == ratings(ENTRANTS, scores)


def test_clear_differences_are_found() -> None:
    means = [9.5, 4.0, 7.0, 5.5]
    rated = ratings(4, tournament(random.Random(11), means, seats=4, boards=100))
    assert [rating.entrant for rating in sorted(rated, key=lambda rating: -rating.ordinal)] == [1, 3, 2, 0]


def test_standings_and_crosstable_do_without_openskill() -> None:
    program = "import sys; sys.modules['openskill'] = None; import arbiter.rating"
    subprocess.run([sys.executable, "-c", program], check=True)
