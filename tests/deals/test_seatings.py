"""Seatings: every seat, every neighbour, every pass direction and dealer, equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from math import factorial, lcm
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.deals import (
    ROTATIONS,
    Seatings,
    SeatingsError,
    SeatingsKind,
    arrangement_count,
    cyclic_order,
    dealer,
    order_count,
    partners_sit_opposite,
    read_seatings,
    rotation,
    sides_per_match,
)
from arbiter.engine import RuleSet, compile_rules, pass_direction, rule_set


def with_seats(players: int, cycle: Sequence[str] = ()) -> RuleSet:
    """A rule set for this number of seats, where given with this pass cycle."""
    passing: dict[str, Any] = {"pass_cycle": list(cycle), "pass_count": 3} if cycle else {}
    if players == 3:
        return rule_set("black_maria_3", (), passing)
    if players == 4:
        return rule_set("black_lady", (), passing)
    return rule_set("cancellation", (), {"players": players, **passing})


@pytest.mark.parametrize("players", [3, 4, 6, 7, 11])
def test_over_the_sittings_everyone_has_every_seat_of_every_board_once(players: int) -> None:
    rules = with_seats(players)
    assert ROTATIONS.sittings(rules) == players
    for board in (1, 2, 3, 10, 1000, 123_456):
        sittings = [rotation(rules, board, number) for number in range(players)]
        for places in sittings:
            assert sorted(places) == list(range(players))
        for seat in range(players):
            assert sorted(places[seat] for places in sittings) == list(range(players))


@pytest.mark.parametrize(("players", "sides"), [(3, 3), (4, 4), (5, 5), (6, 6), (4, 2), (6, 2), (6, 3), (8, 4)])
def test_cyclic_orders_are_all_there_are(players: int, sides: int) -> None:
    count = order_count(players, sides)
    orders = {cyclic_order(players, sides, number) for number in range(count)}
    assert len(orders) == count
    assert cyclic_order(players, sides, 0) == tuple(range(players))
    for order in orders:
        assert order[0] == 0
        assert sorted(order) == list(range(players))
        for position, place in enumerate(order):
            assert place % sides == order[position % sides] % sides, "partners sit opposite"
    if players < 8:
        opposite = sum(
            all(place % sides == order[at % sides] % sides for at, place in enumerate(order))
            for order in ((0, *rest) for rest in permutations(range(1, players)))
        )
        assert opposite == count


def test_over_24_boards_neighbours_meet_every_direction_and_dealer_equally_often() -> None:
    rules = with_seats(4)
    met: Counter[tuple[object, ...]] = Counter()
    for board in range(1, 25):
        direction = pass_direction(rules, board)
        for number in range(4):
            places = rotation(rules, board, number)
            dealt_by = places[dealer(compile_rules(rules), board)]
            for seat in range(4):
                met[places[seat], places[(seat + 1) % 4], direction, dealt_by] += 1
    assert len(met) == 12 * 4 * 4
    assert set(met.values()) == {2}


@pytest.mark.parametrize(
    ("players", "cycle"),
    [
        (3, ()),
        (3, ("left", "right", "none")),
        (4, ()),
        (4, ("left", "right", "across")),
        (4, ("left",)),
        (5, ("left", "right", "none")),
        (6, ("left", "right", "across", "none")),
    ],
)
def test_every_order_meets_every_place_in_the_cycle(players: int, cycle: Sequence[str]) -> None:
    rules = with_seats(players, cycle)
    period = lcm(len(rules.pass_cycle), players)
    boards = period * factorial(players - 1)
    met = Counter((rotation(rules, board, 0), (board - 1) % period) for board in range(1, boards + 1))
    assert len(met) == boards


@given(st.integers(3, 11), st.integers(1, 10**9), st.data())
def test_a_seating_is_a_rotation_of_the_boards_order(players: int, board: int, data: st.DataObject) -> None:
    rules = with_seats(players)
    number = data.draw(st.integers(0, players - 1))
    first, places = rotation(rules, board, 0), rotation(rules, board, number)
    assert places == first[number:] + first[:number]
    assert first[0] == 0


def test_partners_stay_opposite_on_every_board_of_every_sitting() -> None:
    rules = rule_set("partnership")
    assert sides_per_match(rules) == 2
    assert partners_sit_opposite(rules)
    left_of: Counter[tuple[int, int]] = Counter()
    for board in range(1, 9):
        for number in range(4):
            places = rotation(rules, board, number)
            assert {frozenset(places[::2]), frozenset(places[1::2])} == {frozenset((0, 2)), frozenset((1, 3))}
            left_of.update((places[seat], places[(seat + 1) % 4]) for seat in range(4))
    assert len(left_of) == 8
    assert len(set(left_of.values())) == 1


@pytest.mark.parametrize("players", [5, 6, 8, 11])
def test_a_few_boards_have_different_neighbours(players: int) -> None:
    left_of_first = {rotation(with_seats(players), board, 0)[1] for board in range(1, players + 1)}
    assert len(left_of_first) > players // 2


SEED = bytes(range(32))


@pytest.mark.parametrize(("name", "count"), [("black_lady", 24), ("black_maria_3", 6), ("partnership", 8)])
def test_all_is_every_arrangement_once(name: str, count: int) -> None:
    rules, every = rule_set(name), Seatings(SeatingsKind.ALL)
    assert every.sittings(rules) == arrangement_count(rules) == count
    for board in (1, 7):
        assert len({every.places(rules, SEED, board, number) for number in range(count)}) == count


def test_all_holds_the_rotations_of_every_board() -> None:
    rules, every = rule_set("black_lady"), Seatings(SeatingsKind.ALL)
    arrangements = {every.places(rules, SEED, 1, number) for number in range(24)}
    assert {rotation(rules, board, number) for board in range(1, 7) for number in range(4)} == arrangements


@given(st.integers(1, 24), st.integers(1, 10**6))
def test_drawn_seatings_are_distinct_and_follow_from_the_seed(count: int, board: int) -> None:
    rules, drawn = rule_set("black_lady"), Seatings(SeatingsKind.RANDOM, count)
    places = [drawn.places(rules, SEED, board, number) for number in range(count)]
    assert len(set(places)) == count
    assert places == [drawn.places(rules, SEED, board, number) for number in range(count)]
    assert all(sorted(seated) == [0, 1, 2, 3] for seated in places)


def test_drawn_seatings_are_not_biased() -> None:
    rules, one = rule_set("black_lady"), Seatings(SeatingsKind.RANDOM, 1)
    boards = 4800
    met = Counter(one.places(rules, SEED, board, 0) for board in range(1, boards + 1))
    expected = boards / 24
    # Chi-square with 23 degrees of freedom passes 49.7 once in a thousand; the seed is fixed, so this is no coin toss.
    assert sum((count - expected) ** 2 / expected for count in met.values()) < 49.7


def test_other_seeds_draw_other_seatings() -> None:
    rules, drawn = rule_set("black_lady"), Seatings(SeatingsKind.RANDOM, 2)
    one, other = ([drawn.places(rules, seed, board, 0) for board in range(1, 9)] for seed in (SEED, bytes(32)))
    assert one != other


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        ("some", "black_lady", "is 'some'; write 'rotations', 'all' or a number"),
        (True, "black_lady", "is True; write"),
        (0, "black_lady", "is 0; there are 24 arrangements"),
        (25, "black_lady", "is 25; there are 24 arrangements"),
        (9, "partnership", "is 9; there are 8 arrangements"),
        ("all", "cancellation", "'all' at 6 seats is 720 sittings a match"),
    ],
)
def test_seatings_that_cannot_be_had_are_refused(value: object, name: str, message: str) -> None:
    with pytest.raises(SeatingsError, match=message):
        read_seatings(value, rule_set(name))
