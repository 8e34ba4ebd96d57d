"""The crosstable: who beats whom."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.rating import BoardScore, Estimate, Pairing, crosstable
from tests.rating.simulate import ENTRANTS, evidence, tournament


def test_two_boards_of_one_match() -> None:
    # Entrant 3 leads entrant 1 by 2 and by 1 point a hand: mean 1.5, s^2 = 0.5, SE = 0.5, one degree of freedom, whose
    # Student's t is Cauchy: 1/2 + arctan(3) / pi = 0.89758362.
    scores = [BoardScore(0, 1, (3, 1), 4, (10, 18)), BoardScore(0, 2, (3, 1), 4, (6, 10))]
    table = crosstable(4, scores)
    assert list(table) == [(1, 3), (3, 1)]
    assert table[3, 1].boards == table[1, 3].boards == 2
    assert table[3, 1].difference == Estimate(1.5, 0.5, 1.0)
    assert table[1, 3].difference == Estimate(-1.5, 0.5, 1.0)
    assert table[3, 1].superiority == pytest.approx(0.5 + math.atan(3) / math.pi, rel=1e-12)
    assert table[1, 3].superiority == pytest.approx(0.5 - math.atan(3) / math.pi, rel=1e-12)


def test_only_common_boards_count_and_strangers_have_no_entry() -> None:
    scores = [
        BoardScore(0, 1, (0, 1), 2, (0, 8)),
        BoardScore(0, 2, (0, 1), 2, (0, 12)),
        BoardScore(1, 1, (1, 2), 2, (50, 0)),
    ]
    table = crosstable(3, scores)
    assert list(table) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert table[0, 1].difference.value == 5.0
    assert table[1, 2] == Pairing(1, Estimate(-25.0, None, None), None)


@pytest.mark.parametrize(("points", "superiority"), [((3, 3), (0.5, 0.5)), ((3, 4), (1.0, 0.0)), ((4, 3), (0.0, 1.0))])
def test_without_variation_the_sign_decides(points: tuple[int, int], superiority: tuple[float, float]) -> None:
    table = crosstable(2, [BoardScore(0, board, (0, 1), 2, points) for board in (1, 2, 3)])
    assert table[0, 1].difference.standard_error == 0.0
    assert (table[0, 1].superiority, table[1, 0].superiority) == superiority


def test_where_the_highest_wins_the_lead_turns() -> None:
    scores = [BoardScore(0, 1, (0, 1), 4, (10, 18)), BoardScore(0, 2, (0, 1), 4, (6, 10))]
    assert crosstable(2, scores, lowest_wins=False)[0, 1] == crosstable(2, scores)[1, 0]


@given(evidence())
def test_both_sides_mirror_each_other_exactly(scores: list[BoardScore]) -> None:
    table = crosstable(ENTRANTS, scores)
    for (a, b), pairing in table.items():
        mirrored = table[b, a]
        assert pairing.difference.value == -mirrored.difference.value
        assert pairing.difference.standard_error == mirrored.difference.standard_error
        assert pairing.difference.degrees == mirrored.difference.degrees
        assert pairing.boards == mirrored.boards
        if pairing.superiority is not None and mirrored.superiority is not None:
            assert pairing.superiority + mirrored.superiority == 1.0
            ahead = pairing.difference.value
            assert math.copysign(1, pairing.superiority - 0.5) == math.copysign(1, ahead) or abs(ahead) < 1e-12


@given(evidence(), st.randoms(use_true_random=False))
def test_order_of_arrival_changes_no_digit(scores: list[BoardScore], chance: random.Random) -> None:
    arrived = scores.copy()
    chance.shuffle(arrived)
    assert crosstable(ENTRANTS, iter(arrived)) == crosstable(ENTRANTS, scores)


def test_superiority_is_calibrated() -> None:
    """Between equals, a superiority below 0.1 or above 0.9 is seen in a fifth of 300 tournaments (four deviations)."""
    chance = random.Random(20240301)
    extreme = []
    for _ in range(300):
        superiority = crosstable(3, tournament(chance, [6.0, 6.0, 6.0], seats=2, boards=30))[0, 1].superiority
        assert superiority is not None
        extreme.append(not 0.1 <= superiority <= 0.9)
    assert statistics.mean(extreme) == pytest.approx(0.2, abs=0.093)


def test_a_head_to_head_is_read_from_common_boards_alone() -> None:
    """Against the formula written out, on boards of unequal length in two of three matches."""
    chance = random.Random(17)
    scores = [
        BoardScore(match, board, group, chance.randint(1, 9), tuple(chance.randint(0, 60) for _ in group))
        for match, group in enumerate([(0, 1, 2), (1, 2, 3), (0, 3, 1)])
        for board in range(1, 6)
    ]
    common: dict[int, list[tuple[int, int]]] = {0: [], 2: []}
    for score in scores:
        if score.match in common:
            points = dict(zip(score.entrants, score.points, strict=True))
            common[score.match].append((points[1] - points[0], score.hands))
    hands = sum(played for of_match in common.values() for _, played in of_match)
    lead = sum(ahead for of_match in common.values() for ahead, _ in of_match) / hands
    parts = [
        5 * statistics.variance([(ahead - lead * h) / hands for ahead, h in of_match]) for of_match in common.values()
    ]
    found = crosstable(4, scores)[0, 1].difference
    assert found.value == pytest.approx(lead, rel=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(sum(parts)), rel=1e-12)
    assert found.degrees == pytest.approx(min(8, sum(parts) ** 2 / sum(part**2 / 6 for part in parts) - 2))
