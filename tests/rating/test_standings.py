"""Standings: golden values worked by hand, properties, and whether the standard error tells the truth."""

from __future__ import annotations

import math
import random
import statistics
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.rating import BoardScore, Estimate, Standing, standings
from arbiter.rating.evidence import samples
from arbiter.rating.ratio import Ratios
from tests.rating.simulate import ENTRANTS, evidence, tournament


def test_two_boards_of_one_match() -> None:
    """A board with all its seatings is one observation: fishtest#348."""
    # Entrant 0: 10 points in 4 hands, then 6 in 4: 2.5 and 1.5 a hand, mean 2, s^2 = 0.5, SE = sqrt(0.5 / 2) = 0.5.
    # Entrant 1: 4.5 and 2.5 a hand, mean 3.5, s^2 = 2, SE = 1. Entrant 2: always 5 a hand.
    scores = [BoardScore(0, 1, (0, 1, 2), 4, (10, 18, 20)), BoardScore(0, 2, (0, 1, 2), 4, (6, 10, 20))]
    # Differences: 1.5 +- 0.5, 1.5 +- 1 and 3 +- 0.5 with one degree of freedom, nothing is sure.
    assert standings(3, scores) == [
        Standing(0, 1, (1, 3), hands=8, boards=2, points=Estimate(2.0, 0.5, 1.0), place=Estimate(1.0, 0.0, 1.0)),
        Standing(1, 2, (1, 3), hands=8, boards=2, points=Estimate(3.5, 1.0, 1.0), place=Estimate(2.0, 0.0, 1.0)),
        Standing(2, 3, (1, 3), hands=8, boards=2, points=Estimate(5.0, 0.0, 1.0), place=Estimate(3.0, 0.0, 1.0)),
    ]


def test_the_interval_is_students_made_wider_by_skewness() -> None:
    """Against the formula written out, on the 20 boards from which on there is an interval."""
    points = [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 12, 20, 41]
    scores = [BoardScore(0, number, (0, 1), 4, (taken, 41 - taken)) for number, taken in enumerate(points, 1)]
    assert standings(2, scores[:19])[0].points == Estimate(97 / 76, ANY, ANY, None)
    found = standings(2, scores)[0].points
    assert found is not None
    assert found.standard_error is not None
    mean, t, x = 138 / 20, 2.093024054408263, 1.959963984540054
    deviations = [taken - mean for taken in points]
    third = sum(d**3 for d in deviations) * 20**2 / (19 * 18)
    variance = sum(d**2 for d in deviations) * 20 / 19
    squared = third**2 / variance**3 - 6 * 19 / (21 * 23 * 18)
    squared *= 1 + 1.5 * (1 / 20 + squared)
    assert found.squared_skewness == pytest.approx(squared, rel=1e-9)
    assert found.standard_error == pytest.approx(statistics.stdev(points) / 20**0.5 / 4, rel=1e-12)
    wider = x * (x**4 + 2 * x**2 - 3) / 18 * squared
    assert wider > 0.3
    assert found.half_width == pytest.approx(found.standard_error * (t + wider), rel=1e-9)


def test_what_is_not_skewed_is_not_taken_for_it() -> None:
    """The square of an estimated skewness has noise in it, which is taken out: on average of normal boards 0 remains.

    In 600 tournaments of six matches of four boards, where the noise would be 1/36.
    """
    chance = random.Random(20)
    found = []
    for _ in range(600):
        scores = [
            BoardScore(match, board, (0, 1), 4, (round(chance.gauss(0, 1000)), 0))
            for match in range(6)
            for board in range(1, 5)
        ]
        found.append(float(Ratios(2, samples(scores)).errors.squared_skewness[0]))
    assert abs(statistics.fmean(found)) <= 3 * statistics.stdev(found) / 600**0.5
    assert 3 * statistics.stdev(found) / 600**0.5 < 1 / 36 / 3


def test_a_third_moment_is_that_of_the_difference() -> None:
    """What one bot is skewed by is turned where it is subtracted, also where the other is not at the table."""
    chance = random.Random(19)
    groups = [(0, 1), (0, 2), (1, 2)]

    def taken(entrant: int) -> int:
        drawn = chance.randint(0, 60) ** 3
        return (drawn, 60**3 - drawn, 0)[entrant]

    # Entrant 0 is skewed to one side, 1 to the other and 2 to none, so that all three matches skew 0 less 1 alike.
    scores = [
        BoardScore(match, board, (one, other), 4, (taken(one), taken(other)))
        for match, (one, other) in enumerate(groups)
        for board in range(1, 8)
    ]
    boards = {match: [score.points for score in scores if score.match == match] for match in range(3)}
    z = [[(a - b) / 56 for a, b in boards[0]], [a / 56 for a, _ in boards[1]], [-a / 56 for a, _ in boards[2]]]
    third = sum((value - statistics.fmean(of)) ** 3 for of in z for value in of) * 7**2 / (6 * 5)
    noise = sum((7 * statistics.variance(of)) ** 3 for of in z) * 6 * 6 / (8 * 10 * 5)
    errors = Ratios(3, samples(scores)).difference_errors
    squared = (third**2 - noise) / errors.standard_error[0, 1] ** 6
    assert squared > 0.02
    squared *= 1 + 1.5 * (1 / 21 + squared)
    assert errors.squared_skewness[0, 1] == pytest.approx(squared, rel=1e-9)
    assert errors.squared_skewness[1, 0] == pytest.approx(squared, rel=1e-9)


def test_boards_that_are_all_alike_or_alone_in_their_match_give_no_interval() -> None:
    alike = [BoardScore(0, board, (0, 1), 4, (4, 8)) for board in range(1, 30)]
    alone = [BoardScore(match, 1, (0, 1), 4, (match % 5, 8)) for match in range(30)]
    for scores in (alike, alone):
        points = standings(2, scores)[0].points
        assert points is not None
        assert points.standard_error is not None
        assert points.half_width is None


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
    assert first.points is not None
    assert first.place is not None
    assert first.points.value == 7.0
    assert first.points.standard_error == pytest.approx(math.sqrt(32) / 8, rel=1e-15)
    assert first.points.degrees == 2.0
    assert (first.place.value, first.place.standard_error) == (1.5, 0.0)


def test_boards_of_unequal_length_weigh_by_hands() -> None:
    # 3 points in 1 hand, 9 in 3, 8 in 4: R = 20 / 8 = 2.5. p - R h = 0.5, 1.5, -2, whose mean is 0;
    # SE = sqrt(3 / 2 * (0.25 + 2.25 + 4)) / 8 = sqrt(9.75) / 8.
    scores = [
        BoardScore(0, board, (0, 1), hands, (points, 0))
        for board, (hands, points) in enumerate([(1, 3), (3, 9), (4, 8)], start=1)
    ]
    last = standings(2, scores)[-1]
    assert last.points is not None
    assert (last.entrant, last.points.value, last.points.degrees) == (0, 2.5, 2.0)
    assert last.points.standard_error == pytest.approx(math.sqrt(9.75) / 8, rel=1e-15)


def test_a_match_of_one_board_makes_the_match_the_unit() -> None:
    # Entrant 1: 8 and 8 points in 2 hands each of match 0, 9 in 2 of match 1: R = 25 / 6. The matches' residuals are
    # 16 - 4 R = -2/3 and 9 - 2 R = 2/3; SE = sqrt(2 * (4/9 + 4/9)) / 6 with one degree of freedom.
    scores = [
        BoardScore(0, 1, (0, 1), 2, (2, 8)),
        BoardScore(0, 2, (0, 1), 2, (6, 8)),
        BoardScore(1, 1, (1, 2), 2, (9, 7)),
    ]
    found = {standing.entrant: standing.points for standing in standings(3, scores)}
    assert found[0] == Estimate(2.0, 1.0, 1.0)
    assert found[1] is not None
    assert found[1].standard_error == pytest.approx(math.sqrt(16 / 9) / 6, rel=1e-12)
    assert found[1].degrees == 1.0
    assert found[2] == Estimate(3.5, None, None)


def test_one_board_tells_no_error_and_leaves_every_rank_open() -> None:
    table = standings(3, [BoardScore(0, 1, (0, 1, 2), 4, (10, 18, 20))])
    assert [standing.ranks for standing in table] == [(1, 3)] * 3
    assert [standing.points and standing.points.half_width for standing in table] == [None] * 3


def test_ranks_are_settled_by_many_boards_and_shared_by_equals() -> None:
    chance = random.Random(2)
    scores = []
    for board in range(1, 201):
        luck = [chance.randint(-6, 6) for _ in range(3)]
        scores.append(BoardScore(0, board, (0, 1, 2, 3), 4, (30 + luck[0], 10 + luck[1], 10 + luck[1], 20 + luck[2])))
    assert [(s.entrant, s.rank, s.ranks) for s in standings(5, scores)] == [
        (1, 1, (1, 2)),
        (2, 1, (1, 2)),
        (3, 3, (3, 3)),
        (0, 4, (4, 4)),
        (4, 5, None),
    ]


def test_the_difference_of_two_is_paired_where_they_met() -> None:
    """Boards good or bad for all hide nothing: intervals of points overlap, and the ranks are settled nevertheless."""
    chance = random.Random(3)
    scores = []
    for board in range(1, 41):
        level, edge = chance.randint(0, 60), chance.randint(1, 5)
        scores.append(BoardScore(0, board, (0, 1), 4, (level + edge, level)))
    first, second = standings(2, scores)
    assert first.points is not None
    assert second.points is not None
    assert second.points.value - first.points.value < (first.points.half_width or 0)
    assert (first.ranks, second.ranks) == ((1, 1), (2, 2))


def test_a_difference_is_taken_over_all_boards_of_both() -> None:
    """Against the formula written out: two entrants who share one of three matches."""
    chance = random.Random(18)
    groups = [(0, 1), (0, 2), (1, 2)]
    scores = [
        BoardScore(match, board, group, 4, (chance.randint(0, 60), chance.randint(0, 60)))
        for match, group in enumerate(groups)
        for board in range(1, 6)
    ]
    boards = {match: [score.points for score in scores if score.match == match] for match in range(3)}
    # Ten boards of four hands each: z is the residual over 40, and only its variation within a match counts.
    parts = [
        5 * statistics.variance([(a - b) / 40 for a, b in boards[0]]),
        5 * statistics.variance([a / 40 for a, _ in boards[1]]),
        5 * statistics.variance([b / 40 for b, _ in boards[2]]),
    ]
    errors = Ratios(3, samples(scores)).difference_errors
    assert errors.standard_error[0, 1] == errors.standard_error[1, 0] == pytest.approx(math.sqrt(sum(parts)), rel=1e-12)
    assert errors.degrees[0, 1] == pytest.approx(min(12, sum(parts) ** 2 / sum(part**2 / 6 for part in parts) - 2))
    assert errors.degrees[0, 1] < 12


def test_equal_points_share_a_rank_and_entrants_without_evidence_come_last() -> None:
    # A third and two sixths of a point a hand are equal, though not as floating-point sums.
    scores = [BoardScore(0, 1, (4, 2, 1), 3, (1, 2, 1)), BoardScore(1, 1, (0, 5), 6, (2, 4))]
    table = standings(7, scores)
    assert [standing.entrant for standing in table] == [0, 1, 4, 2, 5, 3, 6]
    assert [standing.rank for standing in table] == [1, 1, 1, 4, 4, 6, 6]
    assert table[-1] == Standing(6, 6, None, hands=0, boards=0, points=None, place=None)


def test_where_the_highest_wins_the_order_turns_and_the_points_stay() -> None:
    scores = [BoardScore(0, 1, (0, 1, 2), 4, (10, 18, 20))]
    table = standings(3, scores, lowest_wins=False)
    assert [standing.entrant for standing in table] == [2, 1, 0]
    assert [standing.points and standing.points.value for standing in table] == [5.0, 4.5, 2.5]
    assert [standing.place and standing.place.value for standing in table] == [1.0, 2.0, 3.0]


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
        return {names[s.entrant]: (s.rank, s.ranks, s.points, s.place) for s in table}

    assert lines(standings(ENTRANTS, turned), list(reversed(range(ENTRANTS)))) == lines(
        standings(ENTRANTS, scores), list(range(ENTRANTS))
    )


@given(evidence())
def test_ranks_follow_points_and_places_add_up(scores: list[BoardScore]) -> None:
    table = standings(ENTRANTS, scores)
    assert sorted(standing.entrant for standing in table) == list(range(ENTRANTS))
    known = [standing.points.value for standing in table if standing.points is not None]
    assert known == sorted(known)
    assert all(standing.points is None for standing in table[len(known) :])
    assert all(s.ranks is None or s.ranks[0] <= s.rank <= s.ranks[1] for s in table)
    places = sum(standing.place.value * standing.boards for standing in table if standing.place is not None)
    expected = sum(len(score.entrants) * (len(score.entrants) + 1) / 2 for score in scores)
    assert places == pytest.approx(expected)


@pytest.mark.parametrize(("boards", "tournaments"), [(1, 20), (2, 200), (6, 200)])
def test_intervals_and_ranks_tell_the_truth(boards: int, tournaments: int) -> None:
    """95 % of the intervals hold the true value, and at least as many of those of ranks.

    1000 intervals that share their noise: 95 % +- 2 % is at least two standard deviations. With one board a match there
    are none, and every rank is open.
    """
    chance = random.Random(20240229)
    means = [4.0, 5.5, 6.0, 7.0, 9.5]
    covered, ranked = [], []
    for _ in range(tournaments):
        scores = tournament(chance, means, seats=4, boards=boards, hands=(4, 6), meetings=4)
        for standing in standings(len(means), scores):
            assert standing.points is not None
            assert standing.ranks is not None
            half = standing.points.half_width
            covered.append(half is None or abs(standing.points.value - means[standing.entrant]) <= half)
            assert (half is None) == (boards == 1)
            assert boards > 1 or standing.ranks == (1, 5)
            ranked.append(standing.ranks[0] <= standing.entrant + 1 <= standing.ranks[1])
    assert boards == 1 or 0.93 <= statistics.mean(covered) <= 0.97
    assert statistics.mean(ranked) >= 0.94


def test_many_comparisons_settle_no_rank_among_equals() -> None:
    """Each of eight equals may be any rank; at most 5 % of their intervals leave one out, and no more by chance."""
    chance = random.Random(20240304)
    whole = [
        standing.ranks == (1, 8)
        for _ in range(50)
        for standing in standings(8, tournament(chance, [6.0] * 8, seats=4, boards=2, hands=(4, 4)))
    ]
    assert statistics.mean(whole) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 50)
