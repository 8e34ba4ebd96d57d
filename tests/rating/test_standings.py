"""Standings: golden values worked by hand, properties, and whether the standard error tells the truth."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.rating import BoardScore, Standing, standings
from tests.rating.simulate import ENTRANTS, evidence, tournament


def test_two_boards_of_one_match() -> None:
    # Entrant 0: 10 points in 4 hands, then 6 in 4: 2.5 and 1.5 a hand, mean 2, s^2 = 0.5, SE = sqrt(0.5 / 2) = 0.5.
    # Entrant 1: 4.5 and 2.5 a hand, mean 3.5, s^2 = 2, SE = 1. Entrant 2: always 5 a hand.
    scores = [BoardScore(0, 1, (0, 1, 2), 4, (10, 18, 20)), BoardScore(0, 2, (0, 1, 2), 4, (6, 10, 20))]
    assert standings(3, scores) == [
        Standing(0, rank=1, hands=8, boards=2, points_per_hand=2.0, standard_error=0.5, mean_place=1.0),
        Standing(1, rank=2, hands=8, boards=2, points_per_hand=3.5, standard_error=1.0, mean_place=2.0),
        Standing(2, rank=3, hands=8, boards=2, points_per_hand=5.0, standard_error=0.0, mean_place=3.0),
    ]


def test_differences_between_matches_are_no_error() -> None:
    # Entrant 0 has 1 and 3 points a hand against entrant 1, 11 and 13 against entrant 2. Each match: s^2 = 2 from two
    # boards of 2 hands; SE = sqrt(2 * 2^2 * 2 + 2 * 2^2 * 2) / 8 = sqrt(32) / 8. Pooled, it would be far larger.
    scores = [
        BoardScore(0, 1, (0, 1), 2, (2, 8)),
        BoardScore(0, 2, (0, 1), 2, (6, 8)),
        BoardScore(1, 1, (2, 0), 2, (8, 22)),
        BoardScore(1, 2, (2, 0), 2, (8, 26)),
    ]
    first = next(standing for standing in standings(3, scores) if standing.entrant == 0)
    assert first.points_per_hand == 7.0
    assert first.standard_error == pytest.approx(math.sqrt(32) / 8, rel=1e-15)
    assert first.mean_place == 1.5


def test_boards_of_unequal_length_weigh_by_hands() -> None:
    # 3 points in 1 hand, 9 in 3, 8 in 4: R = 20 / 8 = 2.5. p - R h = 0.5, 1.5, -2, whose mean is 0;
    # SE = sqrt(3 / 2 * (0.25 + 2.25 + 4)) / 8 = sqrt(9.75) / 8.
    scores = [
        BoardScore(0, board, (0, 1), hands, (points, 0))
        for board, (hands, points) in enumerate([(1, 3), (3, 9), (4, 8)], start=1)
    ]
    last = standings(2, scores)[-1]
    assert (last.entrant, last.points_per_hand) == (0, 2.5)
    assert last.standard_error == pytest.approx(math.sqrt(9.75) / 8, rel=1e-15)


def test_a_match_of_one_board_leaves_the_error_unknown() -> None:
    scores = [
        BoardScore(0, 1, (0, 1), 2, (2, 8)),
        BoardScore(0, 2, (0, 1), 2, (6, 8)),
        BoardScore(1, 1, (1, 2), 2, (9, 7)),
    ]
    errors = {standing.entrant: standing.standard_error for standing in standings(3, scores)}
    assert errors[0] == 1.0
    assert errors[1] is None
    assert errors[2] is None


def test_equal_points_share_a_rank_and_entrants_without_evidence_come_last() -> None:
    # A third and two sixths of a point a hand are equal, though not as floating-point sums.
    scores = [BoardScore(0, 1, (4, 2, 1), 3, (1, 2, 1)), BoardScore(1, 1, (0, 5), 6, (2, 4))]
    table = standings(7, scores)
    assert [standing.entrant for standing in table] == [0, 1, 4, 2, 5, 3, 6]
    assert [standing.rank for standing in table] == [1, 1, 1, 4, 4, 6, 6]
    assert table[-1] == Standing(6, 6, hands=0, boards=0, points_per_hand=None, standard_error=None, mean_place=None)


def test_where_the_highest_wins_the_order_turns_and_the_points_stay() -> None:
    scores = [BoardScore(0, 1, (0, 1, 2), 4, (10, 18, 20))]
    table = standings(3, scores, lowest_wins=False)
    assert [standing.entrant for standing in table] == [2, 1, 0]
    assert [standing.points_per_hand for standing in table] == [5.0, 4.5, 2.5]
    assert [standing.mean_place for standing in table] == [1.0, 2.0, 3.0]


def test_before_the_first_board_all_are_equal() -> None:
    assert [(standing.entrant, standing.rank) for standing in standings(3, [])] == [(0, 1), (1, 1), (2, 1)]


@given(evidence(), st.randoms(use_true_random=False))
def test_order_of_arrival_changes_no_digit(scores: list[BoardScore], chance: random.Random) -> None:
    arrived = scores.copy()
    chance.shuffle(arrived)
    assert standings(ENTRANTS, iter(arrived)) == standings(ENTRANTS, scores)


@given(evidence())
def test_names_change_nothing(scores: list[BoardScore]) -> None:
    """Who is numbered how changes nobody's line but for the number."""
    turned = [
        BoardScore(s.match, s.board, tuple(ENTRANTS - 1 - entrant for entrant in s.entrants), s.hands, s.points)
        for s in scores
    ]

    def lines(table: list[Standing], names: list[int]) -> dict[int, tuple[object, ...]]:
        return {names[s.entrant]: (s.rank, s.points_per_hand, s.standard_error, s.mean_place) for s in table}

    assert lines(standings(ENTRANTS, turned), list(reversed(range(ENTRANTS)))) == lines(
        standings(ENTRANTS, scores), list(range(ENTRANTS))
    )


@given(evidence())
def test_ranks_follow_points_and_places_add_up(scores: list[BoardScore]) -> None:
    table = standings(ENTRANTS, scores)
    assert sorted(standing.entrant for standing in table) == list(range(ENTRANTS))
    known = [standing.points_per_hand for standing in table if standing.points_per_hand is not None]
    assert known == sorted(known)
    assert all(standing.points_per_hand is None for standing in table[len(known) :])
    places = sum(standing.mean_place * standing.boards for standing in table if standing.mean_place is not None)
    expected = sum(len(score.entrants) * (len(score.entrants) + 1) / 2 for score in scores)
    assert places == pytest.approx(expected)


def test_the_standard_error_tells_the_truth() -> None:
    """In 300 simulated tournaments, 95 % of the estimates lie within 1.96 standard errors of the true value.

    300 tournaments of five entrants give 1500 intervals, of which 95 % +- 2.5 % must cover: more than four standard
    deviations of a share of 1500. Few boards would ask for Student's t; here each entrant has 60.
    """
    chance = random.Random(20240229)
    means = [4.0, 5.5, 6.0, 7.0, 9.5]
    covered = []
    for _ in range(300):
        for standing in standings(len(means), tournament(chance, means, seats=4, boards=15)):
            assert standing.points_per_hand is not None
            assert standing.standard_error is not None
            error = standing.points_per_hand - means[standing.entrant]
            covered.append(abs(error) <= 1.96 * standing.standard_error)
    assert statistics.mean(covered) == pytest.approx(0.95, abs=0.025)
