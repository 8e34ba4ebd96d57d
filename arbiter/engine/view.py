"""What one seat may see, built in this one place for the wire, the tests and bots that run in-process.

Every field is the seat's own cards or public. Nothing else of a :class:`Hand` may reach a bot, so whoever sends
something to a seat takes it from here (or from a finished :class:`~arbiter.engine.hand.Trick`, which is public in
every part).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from arbiter.engine.hand import Hand
from arbiter.engine.ruleset import PassDirection


class PassView(NamedTuple):
    """A seat before it passes."""

    seat: int
    hand: int
    """Its cards as a mask."""
    direction: PassDirection
    pass_count: int
    """How many cards to pass."""


class PlayView(NamedTuple):
    """A seat that owes a card."""

    seat: int
    hand: int
    """Its cards as a mask."""
    legal: int
    """What it may play, as a mask of distinct cards."""
    leader: int
    """Seat that led, or leads, this trick."""
    trick: tuple[int, ...]
    """Card indexes on the table, the leader's first."""
    broken: bool
    """Whether hearts are broken."""
    points: tuple[int, ...]
    """By seat: points taken so far in this hand."""


class PlayColumns(NamedTuple):
    """What seats that owe a card see, one row for each; rows of several values follow one another in their column."""

    hand: list[int]
    legal: list[int]
    leader: list[int]
    trick_size: list[int]
    """How many cards lie on the table."""
    trick: list[int]
    """Card indexes on the table, ``trick_size`` values a row."""
    broken: list[bool]
    points: list[int]
    """By seat, a value for each a row."""


_Fields = tuple[int, int, int, int, tuple[int, ...], bool, tuple[int, ...]]
_play_view: Final[Callable[[_Fields], PlayView]] = partial(tuple.__new__, PlayView)
"""A view from its fields, without the detour that a named tuple's own constructor makes: one is built per decision."""


def pass_view(hand: Hand, seat: int) -> PassView:
    """What ``seat`` sees of a hand in which it has to pass."""
    return PassView(seat, hand.hands[seat], hand.direction, hand.rules.source.pass_count)


def play_view(hand: Hand) -> PlayView:
    """What the seat that owes a card sees."""
    seat = hand.turn
    return _play_view((seat, hand.hands[seat], hand.legal, hand.leader, tuple(hand.trick), hand.broken, hand.points))


def play_columns(hands: Sequence[Hand]) -> PlayColumns:
    """The same for many hands, in which the same or different seats owe a card."""
    columns = PlayColumns([], [], [], [], [], [], [])
    own, legal, leader, trick_size, trick, broken, points = columns
    for hand in hands:  # once, because each hand is far from the last in memory
        own.append(hand.hands[hand.turn])
        legal.append(hand.legal)
        leader.append(hand.leader)
        lying = len(hand._played) - hand._start
        trick_size.append(lying)
        if lying:
            trick += hand._played[hand._start :]
        broken.append(hand.broken)
        points += hand.points
    return columns
