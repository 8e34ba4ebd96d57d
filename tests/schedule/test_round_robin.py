"""The round-robin's promises, over many sizes."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.errors import UsageError
from arbiter.schedule import MAX_COMPLETE, ScheduleError, round_robin
from tests.schedule.balance import assert_balanced, widest_gap

COMPLETE = [(n, k) for k in range(2, 12) for n in range(k, 13) if comb(n, k) <= MAX_COMPLETE]


@pytest.mark.parametrize(("entrants", "seats"), COMPLETE)
def test_few_entrants_play_every_group_once(entrants: int, seats: int) -> None:
    matches = round_robin(entrants, seats)
    assert sorted(matches) == list(combinations(range(entrants), seats))
    assert widest_gap(entrants, matches) <= 2


def test_six_entrants_at_tables_of_four() -> None:
    assert round_robin(6, 4)[:3] == [(0, 1, 2, 3), (0, 1, 4, 5), (2, 3, 4, 5)]


@pytest.mark.parametrize("seats", [3, 4, 5, 6])
@pytest.mark.parametrize("entrants", [9, 10, 11, 12, 13, 14, 16, 20, 25, 31, 40, 50, 64, 75, 100])
def test_many_entrants_meet_equally_often_within_one(entrants: int, seats: int) -> None:
    matches = round_robin(entrants, seats)
    assert_balanced(entrants, seats, matches, meetings=1)
    assert len(matches) < comb(entrants, seats)
    assert widest_gap(entrants, matches) <= (3 if seats <= 4 else 4)


@pytest.mark.parametrize(
    ("entrants", "seats"), [(200, 3), (199, 4), (200, 4), (200, 8), (197, 11), (13, 11), (107, 11)]
)
def test_the_ends_of_the_range(entrants: int, seats: int) -> None:
    matches = round_robin(entrants, seats)
    assert_balanced(entrants, seats, matches, meetings=1)
    assert widest_gap(entrants, matches) <= 6


@settings(max_examples=25)
@given(st.data())
def test_any_size_is_balanced(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 11), label="seats")
    entrants = data.draw(st.integers(seats, 60), label="entrants")
    matches = round_robin(entrants, seats)
    assert_balanced(entrants, seats, matches, meetings=1)
    assert widest_gap(entrants, matches) <= 6


@settings(max_examples=25)
@given(st.integers(3, 5), st.integers(0, 15), st.integers(1, 12))
def test_wanted_meetings_are_reached_without_playing_far_more(seats: int, more: int, meetings: int) -> None:
    entrants = seats + more
    matches = round_robin(entrants, seats, meetings=meetings)
    assert_balanced(entrants, seats, matches, meetings=meetings)
    complete = comb(entrants, seats)
    copies = -(-meetings // comb(entrants - 2, seats - 2))
    assert len(matches) <= copies * complete


@pytest.mark.parametrize(
    ("entrants", "seats", "meetings", "matches"),
    [
        (4, 4, 3, 3),  # the one group three times
        (5, 4, 1, 5),  # no smaller balanced design than all five groups
        (6, 4, 6, 15),  # exactly all groups
        (6, 4, 12, 30),  # all groups twice
        (6, 4, 8, 21),  # all groups once, and a design
        (13, 4, 1, 13),  # the projective plane of order 3, where each pair meets exactly once
        (12, 4, 1, 12),
    ],
)
def test_sizes_with_known_answers(entrants: int, seats: int, meetings: int, matches: int) -> None:
    assert len(round_robin(entrants, seats, meetings=meetings)) == matches


def test_a_round_robin_of_four_seats_is_near_the_least_size() -> None:
    """Each match makes six meetings, so 1/6 of the pairs is the least; a third more is allowed for balance."""
    for entrants in range(20, 101, 8):
        assert len(round_robin(entrants, 4)) <= 1.35 * comb(entrants, 2) / 6 + entrants


def test_the_list_is_the_same_in_every_process() -> None:
    program = "from arbiter.schedule import round_robin; print(round_robin(30, 4), round_robin(17, 5, meetings=3))"
    for hash_seed in ("1", "2"):
        shown = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        assert shown == f"{round_robin(30, 4)} {round_robin(17, 5, meetings=3)}\n"


@pytest.mark.parametrize(
    ("entrants", "seats", "meetings", "message"),
    [
        (3, 4, None, "3 entrants can't fill a match of 4 seats: at least 4 are needed"),
        (3, 1, None, "a match of 1 seats: there must be at least 2"),
        (8, 4, 0, "meetings = 0: each pair must meet at least once"),
    ],
)
def test_numbers_out_of_range_are_named(entrants: int, seats: int, meetings: int | None, message: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        round_robin(entrants, seats, meetings=meetings)
    assert str(refusal.value) == message
    assert isinstance(refusal.value, UsageError)
