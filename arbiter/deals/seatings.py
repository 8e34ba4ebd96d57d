"""Who sits where: rotations through all cyclic orders, so that seats and neighbours balance.

A match of n entrants has n sittings. On each board the n sittings are the n rotations of one cyclic order, so that
every entrant has every hand of the board once. Rotations alone would keep everyone's left neighbour, who gets one's
passed cards; therefore the boards run through all cyclic orders.

Places are counted in the match's list of entrants. Where sides play, partners sit opposite and stay partners: with t
sides, place p belongs to side p mod t, and seat s to the side whose place sits there, the same for all seats s mod t.
Without sides every place is a side of its own.
"""

from __future__ import annotations

from math import factorial, gcd, lcm, prod

from arbiter.engine import RuleSet

_GOLDEN = 0.6180339887498949


def seatings_per_match(rules: RuleSet) -> int:
    """Number of sittings of a match: one per rotation."""
    return rules.players


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


def seating(rules: RuleSet, board: int, number: int) -> tuple[int, ...]:
    """By seat: the place of who sits there, on ``board`` (from 1) in sitting ``number`` (from 0).

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
    order = cyclic_order(players, sides, (index + shift) * _stride(orders) % orders)
    return tuple(order[(seat + number) % players] for seat in range(players))


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
