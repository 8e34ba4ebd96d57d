"""Who sits where: rotations through all cyclic orders, so that seats and neighbours balance.

A match of n entrants has n sittings. On each board the n sittings are the n rotations of one cyclic order, so that
every entrant has every hand of the board once. Rotations alone would keep everyone's left neighbour, who gets one's
passed cards; therefore the boards run through all cyclic orders.

Places are counted in the match's list of entrants. Where sides play, partners sit opposite and stay partners: with t
sides, place p belongs to side p mod t, and seat s to the side whose place sits there, the same for all seats s mod t.
Without sides every place is a side of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import factorial, gcd, lcm, prod

from arbiter.deals.deal import byte_stream
from arbiter.engine import RuleSet
from arbiter.errors import UsageError

_GOLDEN = 0.6180339887498949


class SeatingsError(UsageError):
    """Seatings that can't be had."""


class SeatingsKind(StrEnum):
    """Which arrangements of the entrants a board is played in."""

    ROTATIONS = "rotations"
    """The rotations of one cyclic order, another order for each board: n sittings."""
    ALL = "all"
    """Every arrangement: n! sittings, 24 at four seats, fewer with sides."""
    RANDOM = "random"
    """A number of distinct ones, drawn for each board from its deal seed."""


@dataclass(frozen=True, slots=True)
class Seatings:
    """In which arrangements each board of a match is played, one per sitting."""

    kind: SeatingsKind = SeatingsKind.ROTATIONS
    count: int = 0
    """Sittings per match; for ``random`` alone, else 0."""

    def sittings(self, rules: RuleSet) -> int:
        """Number of sittings of a match."""
        if self.kind is SeatingsKind.ROTATIONS:
            return rules.players
        return arrangement_count(rules) if self.kind is SeatingsKind.ALL else self.count

    def places(self, rules: RuleSet, deal_seed: bytes, board: int, number: int) -> tuple[int, ...]:
        """By seat: the place of who sits there, on ``board`` (from 1) in sitting ``number`` (from 0).

        Only ``random`` looks at the deal seed.
        """
        if self.kind is SeatingsKind.ROTATIONS:
            return rotation(rules, board, number)
        if self.kind is SeatingsKind.ALL:
            return arrangement(rules, number)
        drawn = _distinct(deal_seed, board, arrangement_count(rules))
        return arrangement(rules, next(value for index, value in enumerate(drawn) if index == number))


ROTATIONS = Seatings()
"""What is played unless something else is asked for."""

MOST_SEATS_FOR_ALL = 4
"""With more seats, playing every arrangement takes hundreds of sittings a match."""


def read_seatings(value: object, rules: RuleSet) -> Seatings:
    """Seatings as they are written: ``"rotations"``, ``"all"``, or the number of drawn ones.

    Raises:
        SeatingsError: none of these, ``all`` above four seats, or more than there are arrangements.
    """
    if value == SeatingsKind.ROTATIONS.value:
        return ROTATIONS
    if value == SeatingsKind.ALL.value:
        if rules.players > MOST_SEATS_FOR_ALL:
            raise SeatingsError(
                f"'all' at {rules.players} seats is {factorial(rules.players)} sittings a match; write a number instead"
            )
        return Seatings(SeatingsKind.ALL)
    if type(value) is not int:
        raise SeatingsError(f"is {value!r}; write 'rotations', 'all' or a number")
    if not 1 <= value <= arrangement_count(rules):
        raise SeatingsError(f"is {value}; there are {arrangement_count(rules)} arrangements, so write 1 to that number")
    return Seatings(SeatingsKind.RANDOM, value)


def sides_per_match(rules: RuleSet) -> int:
    """Number of sides of a match: teams where the rule set has them, else seats."""
    return len(rules.teams) if rules.teams is not None else rules.players


def partners_sit_opposite(rules: RuleSet) -> bool:
    """Whether each team has every t-th seat of t teams, so that rotations leave partners opposite; true without
    teams."""
    sides = sides_per_match(rules)
    expected = {frozenset(range(side, rules.players, sides)) for side in range(sides)}
    return rules.teams is None or {frozenset(team) for team in rules.teams} == expected


def order_count(players: int, sides: int) -> int:
    """Number of cyclic orders of ``players`` places that leave the partners of ``sides`` sides opposite.

    (t - 1)! ways to seat the other sides, and k! ways to seat the k partners of each, one of which is held fixed to
    count rotations once. Without sides of more than one place this is (n - 1)!.
    """
    partners = players // sides
    return factorial(sides - 1) * factorial(partners - 1) * prod([factorial(partners)] * (sides - 1))


@lru_cache(maxsize=1024)
def cyclic_order(players: int, sides: int, number: int) -> tuple[int, ...]:
    """Cyclic order ``number`` (from 0) as the places around the table, place 0 first; number 0 is 0, 1, 2, ..."""
    partners = players // sides
    number, rank = divmod(number, factorial(sides - 1))
    around = [0, *(1 + index for index in _permutation(sides - 1, rank))]
    order = [0] * players
    for position, side in enumerate(around):
        if position == 0:
            number, rank = divmod(number, factorial(partners - 1))
            members = [0, *(1 + index for index in _permutation(partners - 1, rank))]
        else:
            number, rank = divmod(number, factorial(partners))
            members = _permutation(partners, rank)
        for turn, member in enumerate(members):
            order[position + turn * sides] = side + member * sides
    return tuple(order)


def arrangement_count(rules: RuleSet) -> int:
    """Number of arrangements of a match's places: every rotation of every cyclic order."""
    return rules.players * order_count(rules.players, sides_per_match(rules))


def arrangement(rules: RuleSet, number: int) -> tuple[int, ...]:
    """By seat: the places in arrangement ``number`` (from 0): the rotations of order 0, then those of order 1, ..."""
    order, turn = divmod(number, rules.players)
    return _rotated(cyclic_order(rules.players, sides_per_match(rules), order), turn)


def rotation(rules: RuleSet, board: int, number: int) -> tuple[int, ...]:
    """By seat: the places in rotation ``number`` (from 0) of the cyclic order of ``board`` (from 1).

    Boards run through the cyclic orders, each time a golden section of them further, so that a few boards already have
    orders of all kinds. Pass directions and dealers run through the boards too; where their common period shares a
    factor
    with the number of orders, the orders are moved on by one after each full period, so that every order meets every
    pass direction and dealer.
    """
    players, sides = rules.players, sides_per_match(rules)
    orders = order_count(players, sides)
    period = lcm(len(rules.pass_cycle), players)
    index = board - 1
    shift = index // lcm(period, orders) % gcd(period, orders)
    return _rotated(cyclic_order(players, sides, (index + shift) * _stride(orders) % orders), number)


def _rotated(order: tuple[int, ...], turn: int) -> tuple[int, ...]:
    return order[turn:] + order[:turn]


def _distinct(deal_seed: bytes, board: int, count: int) -> Iterator[int]:
    """Distinct numbers below ``count``, unbiased: eight bytes of the board's stream each, big-endian, by rejection."""
    stream = byte_stream(deal_seed, b"hearts-arbiter/seatings/v1", board.to_bytes(8, "big"))
    limit = 2**64 - 2**64 % count
    seen: set[int] = set()
    while len(seen) < count:
        drawn = int.from_bytes(bytes(next(stream) for _ in range(8)), "big")
        if drawn < limit and drawn % count not in seen:
            seen.add(drawn % count)
            yield drawn % count


def _stride(count: int) -> int:
    """A step that visits all of ``count`` places: the first from the golden section on that shares no factor with
    it."""
    step = round(count * _GOLDEN)
    while gcd(step, count) != 1:
        step += 1
    return step


def _permutation(length: int, rank: int) -> list[int]:
    """The permutation of 0 to ``length`` - 1 with this rank in lexicographic order."""
    rest = list(range(length))
    permutation = []
    for left in range(length, 0, -1):
        index, rank = divmod(rank, factorial(left - 1))
        permutation.append(rest.pop(index))
    return permutation
