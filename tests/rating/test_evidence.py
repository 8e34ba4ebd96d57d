"""What may be given as evidence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from arbiter.errors import UsageError
from arbiter.rating import BoardScore, EvidenceError, crosstable, standings
from arbiter.rating.evidence import in_schedule_order, places, samples


@pytest.mark.parametrize(
    ("entrants", "hands", "points", "message"),
    [
        ((0, 0), 4, (1, 2), "board 2 of match 5: entrants are (0, 0); two or more different ones are needed"),
        ((0,), 4, (1,), "board 2 of match 5: entrants are (0,); two or more different ones are needed"),
        ((0, 1), 4, (1, 2, 3), "board 2 of match 5: 3 points for 2 entrants; give one each"),
        ((0, 1), 0, (1, 2), "board 2 of match 5: 0 hands; a board that was played has at least one"),
    ],
)
def test_a_score_that_contradicts_itself_is_refused(
    entrants: tuple[int, ...], hands: int, points: tuple[int, ...], message: str
) -> None:
    with pytest.raises(EvidenceError) as refusal:
        BoardScore(5, 2, entrants, hands, points)
    assert str(refusal.value) == message
    assert isinstance(refusal.value, UsageError)


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ([BoardScore(0, 1, (0, 4), 1, (1, 2))], "entrant 4; entrants are numbered from 0 to 3"),
        ([BoardScore(0, 1, (-1, 2), 1, (1, 2))], "entrant -1; entrants are numbered from 0 to 3"),
        ([BoardScore(0, 1, (0, 1), 1, (1, 2))] * 2, "board 1 of match 0 is given twice; a board counts once"),
        (
            [BoardScore(0, 1, (0, 1), 1, (1, 2)), BoardScore(0, 2, (0, 2), 1, (1, 2))],
            "board 2 of match 0: entrants are [0, 2], but [0, 1] on board 1; a match keeps its entrants",
        ),
    ],
)
def test_scores_that_contradict_each_other_are_refused_by_all(evidence: Sequence[BoardScore], message: str) -> None:
    for function in (standings, crosstable):
        with pytest.raises(EvidenceError) as refusal:
            function(4, evidence)
        assert message in str(refusal.value)


def test_evidence_is_sorted_by_match_and_board() -> None:
    scores = [BoardScore(match, board, (0, 1), 1, (0, 0)) for match in (2, 0, 10) for board in (10, 9)]
    assert [(score.match, score.board) for score in in_schedule_order(2, scores)] == [
        (0, 9), (0, 10), (2, 9), (2, 10), (10, 9), (10, 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("points", "lowest_wins", "doubled"),
    [
        ((5, 7, 7, 9), True, [2, 5, 5, 8]),
        ((5, 7, 7, 9), False, [8, 5, 5, 2]),
        ((10, 10, 30), True, [3, 3, 6]),
        ((4, 4, 4, 4), True, [5, 5, 5, 5]),
        ((-3, -26, 0), True, [4, 2, 6]),
    ],
)
def test_tied_places_are_shared(points: tuple[int, ...], lowest_wins: bool, doubled: list[int]) -> None:
    (sample,) = samples([BoardScore(0, 1, tuple(range(len(points))), 1, points)])
    assert places(sample, lowest_wins=lowest_wins).amounts.tolist() == [doubled]


def test_a_match_is_one_sample_with_its_entrants_by_number() -> None:
    scores = [
        BoardScore(0, 1, (2, 0), 4, (7, 5)),
        BoardScore(0, 2, (0, 2), 5, (6, 8)),
        BoardScore(1, 1, (1, 2), 4, (1, 2)),
    ]
    first, second = samples(scores)
    assert (first.entrants, first.amounts.tolist()) == ((0, 2), [[5, 7], [6, 8]])
    assert first.hands.tolist() == [[4, 4], [5, 5]]
    assert (second.entrants, second.amounts.tolist(), second.hands.tolist()) == ((1, 2), [[1, 2]], [[4, 4]])


def test_scipy_is_imported_with_the_first_quantile() -> None:
    """It takes longer to import than all else, and most commands ask for none."""
    program = "import sys, arbiter.rating; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
