"""What a bot is shown: its own cards and everything public, as values that are worked out when they are looked at."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, NamedTuple

from arbiter.engine.cards import CARDS, Card, cards_of
from arbiter.engine.hand import Trick
from arbiter.engine.rules import Rules
from arbiter.engine.ruleset import PassDirection, RuleSet
from arbiter.sdk.table import Table


@dataclass(slots=True)
class MatchInfo:
    """What the arbiter says once, before the first card."""

    rules: RuleSet
    """Every parameter of the game."""
    compiled: Rules
    """The same as masks and tables, for bots that play hands out in their head."""
    card_points: tuple[int, ...]
    """Points of each card by index."""
    game_format: bool
    """True when a board is a whole game to the target, False when it is one hand."""
    boards: int
    """Number of boards in the sitting."""
    open_tables: int
    """How many tables are open at once."""
    bot_seed: bytes
    """What ``view.random`` is derived from; nothing to do with the deals."""
    time_left: float
    """What the bot's clock held, in seconds, when the last batch was sent."""

    @property
    def players(self) -> int:
        """Number of seats."""
        return self.rules.players


class _View(ABC):
    """What the three kinds of view share."""

    __slots__ = ()

    @property
    @abstractmethod
    def table(self) -> Table:
        """What the bot knows of the table."""

    @property
    def match(self) -> MatchInfo:
        """What the arbiter said before the first card."""
        return self.table.match

    @property
    def rules(self) -> RuleSet:
        """Every parameter of the game."""
        return self.table.match.rules

    @property
    def players(self) -> int:
        """Number of seats."""
        return self.table.match.rules.players

    @property
    def board(self) -> int:
        """Number of the board, from 1."""
        return self.table.board

    @property
    def hand_number(self) -> int:
        """Number of the hand at this table, from 1; above 1 only in a game."""
        return self.table.hand_number

    @property
    def seat(self) -> int:
        """The bot's seat, from 0; seat + 1 sits to its left and plays after it."""
        return self.table.seat

    @property
    def dealer(self) -> int:
        """The dealer's seat."""
        return self.table.dealer

    @property
    def direction(self) -> PassDirection:
        """Where passed cards go in this hand."""
        return self.table.direction

    @property
    def totals(self) -> tuple[int, ...]:
        """By seat: totals before this hand."""
        return self.table.totals

    @property
    def time_left(self) -> float:
        """What the bot's clock held, in seconds, when this request was sent."""
        return self.table.match.time_left

    @property
    def random(self) -> random.Random:
        """Randomness of this one decision: the same whenever and in whatever order it is asked for.

        A bot that draws from here and looks at no clock plays the same cards again under the same bot seed.
        """
        return self.table.random_of(self._decision())

    def _decision(self) -> int:
        """Number of the decision within its hand: 0 for the pass, then one per trick."""
        return self.table.trick_count + 1


class PassView(_View):
    """A request for cards to pass."""

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        self._table: Final = table

    @property
    def table(self) -> Table:
        """What the bot knows of the table."""
        return self._table

    @property
    def hand(self) -> list[Card]:
        """The cards dealt, ascending by suit and rank."""
        return cards_of(self.table.dealt_mask)

    @property
    def hand_mask(self) -> int:
        """The same as a mask."""
        return self.table.dealt_mask

    @property
    def pass_count(self) -> int:
        """How many cards to pass."""
        return self.table.match.rules.pass_count

    def _decision(self) -> int:
        return 0


class _CardFields(NamedTuple):
    """What a request for a card says: a tuple, because one is made for each decision, and none is made faster."""

    table: Table
    """What the bot knows of the table."""
    hand_mask: int
    """The cards held as a mask."""
    legal_mask: int
    """What may be played, as a mask."""
    leader: int
    """Seat that led this trick; the bot's own when it leads."""
    trick_indexes: tuple[int, ...]
    """The cards on the table as card indexes, the leader's first."""
    hearts_broken: bool
    """Whether hearts are broken."""
    points: tuple[int, ...]
    """By seat: points taken so far in this hand."""


class CardView(_CardFields, _View):
    """A request for a card to play."""

    @property
    def hand(self) -> list[Card]:
        """The cards held, ascending by suit and rank."""
        return cards_of(self.hand_mask)

    @property
    def legal(self) -> list[Card]:
        """What may be played, ascending by suit and rank."""
        return cards_of(self.legal_mask)

    @property
    def trick(self) -> list[Card]:
        """The cards on the table, the leader's first."""
        return [CARDS[index] for index in self.trick_indexes]

    @property
    def tricks(self) -> list[Trick]:
        """All finished tricks of this hand, in order."""
        return self.table.tricks

    @property
    def passed(self) -> list[Card]:
        """What went in this hand's pass: what the bot chose, or what the stand-in did where that was refused."""
        return [CARDS[index] for index in self.table.passed]

    @property
    def received(self) -> list[Card]:
        """What the bot received in this hand's pass."""
        return [CARDS[index] for index in self.table.received]


class MoonView(_View):
    """The bot shot the moon and may choose what it costs."""

    __slots__ = ("_table", "subtract_by_default")

    def __init__(self, table: Table, subtract_by_default: bool) -> None:
        self._table: Final = table
        self.subtract_by_default: Final = subtract_by_default
        """What stands when the bot gives no answer: True for subtracting."""

    @property
    def table(self) -> Table:
        """What the bot knows of the table."""
        return self._table


class HandResult(NamedTuple):
    """A hand that ended."""

    table: Table
    """What the bot knew of it."""
    points: tuple[int, ...]
    """By seat, moon and all."""
    totals: tuple[int, ...]
    """By seat, after the hand."""
    moon: int | None
    """Seat that shot the moon."""
