"""The Swiss system's promises, and the least number of repeated meetings compared with brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.schedule import MatchResult, ScheduleError, Stage, swiss_scores, swiss_stage
from arbiter.schedule.tables import Field, least_repeats
from tests.schedule.stages import lots_of, results, shuffled

Division = list[tuple[int, ...]]


def divisions(members: list[int], seats: int, byes: int) -> Iterator[Division]:
    """All ways to divide members into tables, the rest resting, in lexicographic order."""
    if len(members) == byes:
        yield []
        return
    first, *others = members
    if len(members) >= seats:
        for company in combinations(others, seats - 1):
            rest = [member for member in others if member not in company]
            for division in divisions(rest, seats, byes):
                yield [(first, *company), *division]
    if byes:
        yield from divisions(others, seats, byes - 1)


def complete(division: Division, field: Field) -> bool:
    seated = {member for table in division for member in table}
    return all(member in seated or field.may_rest[member] for member in range(len(field.may_rest)))


@st.composite
def fields(draw: st.DrawFn) -> Field:
    seats = draw(st.integers(2, 5), label="seats")
    members = draw(st.integers(seats, 9), label="members")
    often = draw(st.lists(st.integers(0, 2), min_size=members**2, max_size=members**2))
    met = [[often[min(a, b) * members + max(a, b)] * (a != b) for b in range(members)] for a in range(members)]
    resting = draw(st.permutations(range(members)))[: draw(st.integers(members % seats, members))]
    may_rest = tuple(member in resting for member in range(members))
    return Field(tuple(map(tuple, met)), may_rest, seats)


@settings(max_examples=150)
@given(fields())
def test_tables_repeat_as_little_as_any_and_are_nearest_in_rank_then(field: Field) -> None:
    every = divisions(list(range(len(field.may_rest))), field.seats, field.byes)
    allowed = [division for division in every if complete(division, field)]
    sums = [sum(map(field.repeats, division)) for division in allowed]
    best = [division for division, found in zip(allowed, sums, strict=True) if found == min(sums)]
    assert least_repeats(field) == min(best)


def test_what_the_search_gives_up_is_bettered_by_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    met = [[int(a // 4 == b // 4 and a != b) for b in range(24)] for a in range(24)]
    field = Field(tuple(map(tuple, met)), tuple(member >= 20 for member in range(24)), 4)
    whole = least_repeats(field)
    monkeypatch.setattr("arbiter.schedule.tables.STEPS", 5)
    short = least_repeats(field)
    for tables in (whole, short):
        assert sorted(member for table in tables for member in table) == list(range(24))
        assert sum(map(field.repeats, tables)) == 0


def test_exchanges_leave_the_bye_where_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter.schedule.tables.STEPS", 1)
    met = [[int(a // 3 == b // 3 and a != b) for b in range(13)] for a in range(13)]
    field = Field(tuple(map(tuple, met)), tuple(member in (3, 7) for member in range(13)), 4)
    tables = least_repeats(field)
    resting = set(range(13)) - {member for table in tables for member in table}
    assert resting <= {3, 7}
    assert sum(map(field.repeats, tables)) == 0


def swiss(entrants: int, seats: int, stages: int, chance: random.Random) -> tuple[list[Stage], list[int]]:
    """A Swiss that was played, and its lots."""
    lots = lots_of(entrants, chance)
    strength = [chance.gauss(0, 1) for _ in range(entrants)]
    played: list[Stage] = []
    for _ in range(stages):
        played.append(results(swiss_stage(entrants, seats, played, lots), strength, chance))
    return played, lots


@settings(max_examples=15)
@given(st.data())
def test_every_stage_is_full_and_byes_and_places_are_dealt_out_evenly(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 11), label="seats")
    entrants = data.draw(st.integers(seats, 3 * seats + 2), label="entrants")
    stages = data.draw(st.integers(1, 5), label="stages")
    chance = random.Random(data.draw(st.integers(0, 9999), label="chance"))
    played, _ = swiss(entrants, seats, stages, chance)
    byes = Counter[int]()
    had = Counter[tuple[int, int]]()
    for number, stage in enumerate(played, 1):
        seated = [entrant for result in stage for entrant in result.entrants]
        assert len(stage) == entrants // seats
        assert {len(result.entrants) for result in stage} == {seats}
        assert len(set(seated)) == len(seated)
        byes.update(set(range(entrants)) - set(seated))
        assert max(byes[e] for e in range(entrants)) - min(byes[e] for e in range(entrants)) <= 1
        had.update((entrant, place) for result in stage for place, entrant in enumerate(result.entrants))
        for entrant in range(entrants):
            times = [had[entrant, place] for place in range(seats)]
            assert max(times) <= -(-number // seats) + 1, "places come round"


@pytest.mark.parametrize(("entrants", "seats", "stages"), [(5, 4, 5), (9, 4, 9), (11, 4, 11), (7, 3, 14), (8, 5, 8)])
def test_byes_come_round(entrants: int, seats: int, stages: int) -> None:
    for seed in range(5):
        played, _ = swiss(entrants, seats, stages, random.Random(seed))
        seated = Counter(entrant for stage in played for result in stage for entrant in result.entrants)
        assert set(seated.values()) == {stages * (entrants - entrants % seats) // entrants}


@pytest.mark.parametrize(
    ("entrants", "seats", "stages"),
    [(16, 4, 3), (17, 4, 3), (20, 4, 4), (33, 4, 5), (64, 4, 6), (30, 3, 6), (40, 5, 4), (66, 6, 4), (121, 11, 3)],
)
def test_nobody_meets_anyone_twice_where_there_is_room(entrants: int, seats: int, stages: int) -> None:
    played, _ = swiss(entrants, seats, stages, random.Random(entrants))
    met = Counter(pair for stage in played for result in stage for pair in combinations(sorted(result.entrants), 2))
    assert set(met.values()) == {1}


@settings(max_examples=15)
@given(st.integers(2, 5), st.integers(0, 9), st.integers(1, 4), st.integers(0, 9999))
def test_the_order_of_results_changes_nothing(seats: int, more: int, stages: int, seed: int) -> None:
    entrants, chance = seats + more, random.Random(seed)
    played, lots = swiss(entrants, seats, stages, chance)
    other = [shuffled(stage, chance) for stage in played]
    assert swiss_scores(entrants, seats, other) == swiss_scores(entrants, seats, played)
    first, second = (swiss_stage(entrants, seats, stages, lots) for stages in (played, other))
    assert [sorted(table) for table in first] == [sorted(table) for table in second]


def test_a_stage_follows_from_results_and_lots_alone() -> None:
    played, lots = swiss(19, 4, 3, random.Random(7))
    assert [swiss_stage(19, 4, played[:number], lots) for number in range(4)] == [
        swiss_stage(19, 4, played[:number], lots) for number in range(4)
    ]
    assert swiss_stage(19, 4, [], lots) != swiss_stage(19, 4, [], list(range(19)))


def test_the_first_stage_is_by_lot_and_the_second_by_score() -> None:
    first = swiss_stage(8, 2, [], [7, 6, 5, 4, 3, 2, 1, 0])
    assert [sorted(table) for table in first] == [[6, 7], [4, 5], [2, 3], [0, 1]]
    stage = [MatchResult((a, b), (Fraction(b > a), Fraction(a > b))) for a, b in map(sorted, first)]
    assert swiss_scores(8, 2, [stage]) == [1, 0] * 4
    second = swiss_stage(8, 2, [stage], list(range(8)))
    assert [sorted(table) for table in second] == [[0, 2], [4, 6], [1, 3], [5, 7]]


def test_scores_count_who_was_outdone_halves_for_equals_and_the_mean_for_a_bye() -> None:
    stage = [MatchResult((3, 0, 4, 1), (Fraction(9), Fraction(5), Fraction(5), Fraction(1)))]
    assert swiss_scores(5, 4, [stage]) == [Fraction(3, 2), 0, Fraction(3, 2), 3, Fraction(3, 2)]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ([], "stage 1 is not one of 1 matches of 4 different entrants from 0 to 4"),
        ([MatchResult((0, 1, 2), (Fraction(1),) * 3)], "stage 1 is not one of 1 matches"),
        ([MatchResult((0, 1, 2, 5), (Fraction(1),) * 4)], "stage 1 is not one of 1 matches"),
    ],
)
def test_a_stage_of_something_else_is_refused(stage: list[MatchResult], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        swiss_stage(5, 4, [stage], list(range(5)))


def test_numbers_out_of_range_are_named() -> None:
    with pytest.raises(ScheduleError, match="3 entrants can't fill a match of 4 seats"):
        swiss_stage(3, 4, [], [0, 1, 2])
    with pytest.raises(ScheduleError, match=r"lots \[0, 0, 1, 2\]: each of 4 entrants needs one of its own"):
        swiss_stage(4, 4, [], [0, 0, 1, 2])
    with pytest.raises(ScheduleError, match=r"a match of \(0, 0\) with 2 merits"):
        MatchResult((0, 0), (Fraction(1), Fraction(2)))
