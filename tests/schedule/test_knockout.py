"""The knockout's promises: full groups, the best go on, byes evenly, one final."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.schedule import MatchResult, ScheduleError, Stage, knockout_records, knockout_sizes, knockout_stage
from tests.schedule.stages import lots_of, results, shuffled


def by_index(groups: list[tuple[int, ...]]) -> Stage:
    """Results in which the lower index always does better."""
    return [MatchResult(group, tuple(Fraction(-entrant) for entrant in group)) for group in groups]


def play(entrants: int, seats: int, advance: int, chance: random.Random) -> tuple[list[Stage], list[int]]:
    """A whole knockout and its lots."""
    lots = lots_of(entrants, chance)
    strength = [chance.gauss(0, 1) for _ in range(entrants)]
    played: list[Stage] = []
    while groups := knockout_stage(entrants, seats, advance, played, lots):
        played.append(results(groups, strength, chance))
    return played, lots


@pytest.mark.parametrize(
    ("entrants", "seats", "advance", "sizes"),
    [
        (4, 4, 2, [1]),
        (16, 4, 2, [4, 2, 1]),
        (16, 4, 1, [4, 1]),
        (8, 2, 1, [4, 2, 1]),
        (5, 4, 2, [1, 1]),
        (9, 4, 2, [2, 1, 1]),
        (121, 11, 5, [11, 5, 2, 1, 1]),
        (11, 3, 1, [3, 1, 1]),
    ],
)
def test_how_many_groups_each_stage_has(entrants: int, seats: int, advance: int, sizes: list[int]) -> None:
    assert knockout_sizes(entrants, seats, advance) == sizes


@settings(max_examples=80)
@given(st.data())
def test_stages_lead_to_one_final_of_full_groups(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 11), label="seats")
    advance = data.draw(st.integers(1, seats - 1), label="advance")
    entrants = data.draw(st.integers(seats, 50), label="entrants")
    chance = random.Random(data.draw(st.integers(0, 9999), label="chance"))
    played, lots = play(entrants, seats, advance, chance)
    assert [len(stage) for stage in played] == knockout_sizes(entrants, seats, advance)
    assert len(played[-1]) == 1

    left = set(range(entrants))
    byes = Counter[int]()
    for number, stage in enumerate(played):
        seated = [entrant for result in stage for entrant in result.entrants]
        assert all(len(result.entrants) == seats for result in stage)
        assert len(set(seated)) == len(seated)
        assert set(seated) <= left
        byes.update(left - set(seated))
        assert max(byes[e] for e in left) - min(byes[e] for e in left) <= 1
        if number + 1 == len(played):
            break
        records = knockout_records(entrants, seats, advance, played[: number + 1], lots)
        on = {entrant for entrant in left if records[entrant].reached == number + 1}
        assert len(on) < len(left)
        assert left - set(seated) <= on, "who rests goes on"
        for result in stage:
            through = [result.merit(entrant) for entrant in result.entrants if entrant in on]
            assert len(through) >= advance
            assert min(through) >= max((result.merit(e) for e in result.entrants if e not in on), default=min(through))
        spare = len(on) - advance * len(stage) - (len(left) - len(seated))
        assert spare == 0 or len(on) == seats, "losers go on only to fill the final"
        left = on


@settings(max_examples=30)
@given(st.integers(2, 5), st.integers(0, 20), st.integers(0, 9999))
def test_the_order_of_results_changes_nothing(seats: int, more: int, seed: int) -> None:
    entrants, chance = seats + more, random.Random(seed)
    played, lots = play(entrants, seats, 1, chance)
    for number in range(len(played)):
        other = [shuffled(stage, chance) for stage in played[:number]]
        assert knockout_stage(entrants, seats, 1, other, lots) == [result.entrants for result in played[number]]
    assert knockout_records(entrants, seats, 1, [shuffled(stage, chance) for stage in played], lots) == (
        knockout_records(entrants, seats, 1, played, lots)
    )


def test_sixteen_in_groups_of_four_of_which_two_go_on() -> None:
    lots = list(range(16))
    first = knockout_stage(16, 4, 2, [], lots)
    assert first == [(0, 7, 8, 15), (1, 6, 9, 14), (2, 5, 10, 13), (3, 4, 11, 12)]
    second = knockout_stage(16, 4, 2, [by_index(first)], lots)
    assert second == [(0, 3, 4, 7), (1, 2, 5, 6)]
    final = knockout_stage(16, 4, 2, [by_index(first), by_index(second)], lots)
    assert final == [(0, 1, 2, 3)]
    played = [by_index(first), by_index(second), by_index(final)]
    assert knockout_stage(16, 4, 2, played, lots) == []
    records = knockout_records(16, 4, 2, played, lots)
    assert [record.reached for record in records] == [2] * 4 + [1] * 4 + [0] * 8
    assert [record.place for record in records[:4]] == [0, 1, 2, 3]


def test_the_best_of_the_losers_fill_the_final() -> None:
    """Five at a table of four: one has a bye, two go on, and the third place fills up."""
    lots = [0, 1, 2, 3, 4]
    first = knockout_stage(5, 4, 2, [], lots)
    assert first == [(1, 2, 3, 4)]
    assert knockout_stage(5, 4, 2, [by_index(first)], lots) == [(0, 1, 2, 3)]


def test_equals_are_parted_by_the_seed_and_share_their_place_on_record() -> None:
    equal = [MatchResult(group, (Fraction(1), Fraction(1))) for group in knockout_stage(4, 2, 1, [], [3, 2, 1, 0])]
    assert knockout_stage(4, 2, 1, [equal], [3, 2, 1, 0]) == [(3, 2)]
    records = knockout_records(4, 2, 1, [equal], [3, 2, 1, 0])
    assert [(record.reached, record.place) for record in records] == [(0, 0), (0, 0), (1, None), (1, None)]


def test_what_is_impossible_is_named() -> None:
    with pytest.raises(ScheduleError, match="advance = 4: of a group of 4, 1 to 3 can go on"):
        knockout_sizes(16, 4, 4)
    with pytest.raises(ScheduleError, match="3 entrants can't fill a match of 4 seats"):
        knockout_sizes(3, 4, 1)
    with pytest.raises(ScheduleError, match="stage 1 has other groups than this knockout"):
        knockout_stage(8, 4, 2, [by_index([(0, 1, 2, 3), (4, 5, 6, 7)])], list(range(8)))
    final = by_index([(0, 1)])
    with pytest.raises(ScheduleError, match="2 stages were played; a knockout of 2 entrants has 1"):
        knockout_stage(2, 2, 1, [final, final], [0, 1])
