"""Who sits where: rotations through all cyclic orders, so that seats and neighbours balance.

A match of n entrants has n sittings. On each board the n sittings are the n rotations of one cyclic order, so that
every
entrant has every hand of the board once. Rotations alone would keep everyone's left neighbour, who gets one's passed
cards;
therefore the boards run through all (n - 1)! cyclic orders.
"""

from __future__ import annotations

from math import factorial, gcd, lcm

from arbiter.engine import RuleSet


def seatings_per_match(rules: RuleSet) -> int:
    """Number of sittings of a match: one per rotation."""
    return rules.players


def cyclic_order(players: int, number: int) -> tuple[int, ...]:
    """Cyclic order ``number`` of ``players`` places, 0 to (players - 1)! - 1: place 0 first, then a permutation by
    its rank.

    Order 0 is 0, 1, 2, ...; ranks follow lexicographic order.
    """
    rest = list(range(1, players))
    order = [0]
    for left in range(players - 1, 0, -1):
        index, number = divmod(number, factorial(left - 1))
        order.append(rest.pop(index))
    return tuple(order)


def seating(rules: RuleSet, board: int, number: int) -> tuple[int, ...]:
    """By seat: the place in the match's list of entrants of who sits there, on ``board`` (from 1) in sitting
    ``number`` (from 0).

    Boards run through the cyclic orders one after the other. Pass directions and dealers run through the boards too;
    where
    their common period shares a factor with the number of orders, the orders are moved on by one after each full
    period,
    so that every order meets every pass direction and dealer.
    """
    players = rules.players
    orders = factorial(players - 1)
    period = lcm(len(rules.pass_cycle), players)
    index = board - 1
    shift = index // lcm(period, orders) % gcd(period, orders)
    order = cyclic_order(players, (index + shift) % orders)
    return tuple(order[(seat + number) % players] for seat in range(players))
