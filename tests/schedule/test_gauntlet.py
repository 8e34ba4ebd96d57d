"""The gauntlet's promises: champions meet the same field equally often, and never one another."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.schedule import ScheduleError, gauntlet


def test_one_bot_against_six_at_tables_of_four() -> None:
    matches = gauntlet(7, 4, 1)
    assert {match[0] for match in matches} == {0}
    assert sorted(match[1:] for match in matches) == list(combinations(range(1, 7), 3))


def test_sides_of_two_meet_the_field_one_by_one() -> None:
    assert gauntlet(5, 2, 2) == [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)]
    assert Counter(gauntlet(4, 2, 1, meetings=3)) == {(0, member): 3 for member in (1, 2, 3)}


@settings(max_examples=60)
@given(st.data())
def test_every_champion_meets_the_same_groups_of_a_balanced_field(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 11), label="seats")
    champions = data.draw(st.integers(1, 4), label="champions")
    field = data.draw(st.integers(seats - 1, 24), label="field")
    meetings = data.draw(st.none() | st.integers(1, 12), label="meetings")
    matches = gauntlet(champions + field, seats, champions, meetings=meetings)

    groups: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for champion, *members in matches:
        assert champion < champions <= min(members)
        assert len(members) == seats - 1
        assert members == sorted(set(members))
        groups[champion].append(tuple(members))
    assert sorted(groups) == list(range(champions))
    assert all(group == groups[0] for group in groups.values()), "the same company in the same order"

    met = Counter(member for group in groups[0] for member in group)
    assert set(met) == set(range(champions, champions + field)), "the field is complete"
    assert len(set(met.values())) == 1
    assert met[champions] >= (meetings or 1)
    together = Counter(pair for group in groups[0] for pair in combinations(group, 2))
    often = [together[pair] for pair in combinations(range(champions, champions + field), 2)]
    assert not often or max(often) - min(often) <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 4, 3), "3 of 5 entrants are champions, which leaves a field of 2: at 4 seats at least 3 are needed"),
        ((5, 4, 0), "a gauntlet of 0 champions at 4 seats: there must be 1 and 2 at least"),
    ],
)
def test_a_field_too_small_is_named(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        gauntlet(*arguments)
    assert str(refusal.value) == message
    with pytest.raises(ScheduleError, match="meetings = 0"):
        gauntlet(7, 4, 1, meetings=0)
