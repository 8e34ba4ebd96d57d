"""Difference families and the check of what is made of them."""

from __future__ import annotations

import pytest

from arbiter.schedule import design
from arbiter.schedule.design import balanced_design, check_balance
from arbiter.schedule.difference_family import coverage, develop, least_blocks, search
from arbiter.schedule.errors import ScheduleError, UnbalancedError
from arbiter.schedule.known_families import FAMILIES, known_family
from tests.schedule.balance import assert_balanced


def test_the_fano_plane() -> None:
    assert coverage(7, [[0, 1, 3]]) == [0, 1, 1, 1, 1, 1, 1]
    assert sorted(develop(7, [[0, 1, 3]])) == [
        (0, 1, 3), (0, 2, 6), (0, 4, 5), (1, 2, 4), (1, 5, 6), (2, 3, 5), (3, 4, 6),
    ]  # fmt: skip
    assert_balanced(7, 3, develop(7, [[0, 1, 3]]), meetings=1)


def test_half_of_an_even_modulus_counts_twice() -> None:
    """Developed, the block {0, 3} modulo 6 gives each of its three pairs twice."""
    assert coverage(6, [[0, 3]])[3] == 2
    assert sorted(develop(6, [[0, 3]])) == [(0, 3), (0, 3), (1, 4), (1, 4), (2, 5), (2, 5)]


@pytest.mark.parametrize(
    ("n", "seats", "meetings", "blocks"), [(13, 4, 1, 1), (14, 4, 1, 2), (200, 4, 1, 17), (13, 4, 5, 5)]
)
def test_the_least_number_of_blocks(n: int, seats: int, meetings: int, blocks: int) -> None:
    assert least_blocks(n, seats, meetings) == blocks


@pytest.mark.parametrize(("n", "seats", "blocks"), [(13, 4, 1), (21, 5, 1), (25, 4, 3), (40, 4, 4), (64, 6, 3)])
def test_a_search_covers_all_differences_within_one(n: int, seats: int, blocks: int) -> None:
    families = (search(n, seats, blocks, steps=3000, attempt=attempt) for attempt in range(20))
    family = next(family for family in families if family is not None)
    assert [len(set(block)) for block in family] == [seats] * blocks
    covered = coverage(n, family)[1:]
    assert max(covered) - min(covered) <= 1


def test_a_search_gives_up_after_its_steps() -> None:
    """There is no projective plane of order six, so no block of seven covers the differences modulo 43 once."""
    assert search(43, 7, 1, steps=200, attempt=0) is None


@pytest.mark.parametrize(("entrants", "seats"), sorted(FAMILIES))
def test_known_families_are_balanced(entrants: int, seats: int) -> None:
    family = known_family(entrants, seats)
    assert family is not None
    assert [len(set(block)) for block in family] == [seats] * len(family)
    covered = coverage(entrants, family)[1:]
    assert min(covered) >= 1
    assert max(covered) - min(covered) <= 1


def test_a_known_family_is_used_and_developed_well() -> None:
    entrants, seats = min(FAMILIES)
    family = known_family(entrants, seats)
    assert family is not None
    assert balanced_design(entrants, seats, 1) == develop(entrants, family)
    assert_balanced(entrants, seats, develop(entrants, family), meetings=1)


def test_where_no_design_is_found_the_error_names_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "STEPS", (2,))
    with pytest.raises(ScheduleError) as refusal:
        balanced_design(100, 4, 3)
    assert str(refusal.value) == (
        "no balanced design found for 100 entrants in matches of 4 seats with 3 meetings or more of each pair; "
        "one entrant more or less, or another number of meetings, may have one"
    )


@pytest.mark.parametrize(
    ("matches", "message"),
    [
        ([(0, 1, 2), (1, 2, 2)], "match (1, 2, 2) holds an entrant twice; a match needs different entrants"),
        ([(0, 1, 2), (0, 1, 3)], "entrants play 1 to 2 matches; all should play equally many"),
        ([(0, 1), (2, 3)], "pairs meet 0 to 1 times; they should meet 1 times or more, equally often within one"),
        (
            [(0, 1), (0, 1), (0, 1), (2, 3), (2, 3), (2, 3), (0, 2), (0, 3), (1, 2), (1, 3)],
            "pairs meet 1 to 3 times; they should meet 1 times or more, equally often within one",
        ),
    ],
)
def test_the_check_finds_every_imbalance(matches: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(UnbalancedError) as refusal:
        check_balance(4, matches, meetings=1)
    assert str(refusal.value) == message
