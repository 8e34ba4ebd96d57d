"""What a bot is shown: its own cards and everything public, as values that are worked out when they are looked at."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from arbiter.engine.cards import CARDS, Card, cards_of
from arbiter.engine.hand import Trick
from arbiter.engine.rules import Rules
from arbiter.engine.ruleset import PassDirection, RuleSet


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


class Table:
    """What a bot knows of one table from the deal on; the views of a hand share it."""

    __slots__ = (
        "board",
        "dealer",
        "dealt_mask",
        "direction",
        "hand_number",
        "match",
        "passed",
        "received",
        "seat",
        "totals",
        "tricks",
    )

    def __init__(
        self,
        match: MatchInfo,
        board: int,
        hand_number: int,
        seat: int,
        dealer: int,
        direction: PassDirection,
        dealt_mask: int,
        totals: tuple[int, ...],
    ) -> None:
        self.match = match
        self.board = board
        self.hand_number = hand_number
        self.seat = seat
        self.dealer = dealer
        self.direction = direction
        self.dealt_mask = dealt_mask
        self.totals = totals
        self.passed: tuple[int, ...] = ()
        """Card indexes, once all seats have passed."""
        self.received: tuple[int, ...] = ()
        """The same of what came."""
        self.tricks: list[Trick] = []


class _View:
    """What the three kinds of view share."""

    __slots__ = ("_random", "table")

    def __init__(self, table: Table) -> None:
        self.table: Final = table
        self._random: random.Random | None = None

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
        if self._random is None:
            table = self.table
            key = f"{table.match.bot_seed.hex()}/{table.board}/{table.hand_number}/{self._decision()}"
            self._random = random.Random(key)
        return self._random

    def _decision(self) -> int:
        """Number of the decision within its hand: 0 for the pass, then one per trick."""
        return len(self.table.tricks) + 1


class PassView(_View):
    """A request for cards to pass."""

    __slots__ = ()

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


class CardView(_View):
    """A request for a card to play."""

    __slots__ = ("_trick", "hand_mask", "hearts_broken", "leader", "legal_mask", "points")

    def __init__(
        self,
        table: Table,
        hand_mask: int,
        legal_mask: int,
        leader: int,
        trick: tuple[int, ...],
        hearts_broken: bool,
        points: tuple[int, ...],
    ) -> None:
        self.table = table  # type: ignore[misc]  # set here, not by super(): this runs once per decision
        self._random = None
        self.hand_mask: Final = hand_mask
        """The cards held as a mask."""
        self.legal_mask: Final = legal_mask
        """What may be played, as a mask."""
        self.leader: Final = leader
        """Seat that led this trick; the bot's own when it leads."""
        self._trick = trick
        self.hearts_broken: Final = hearts_broken
        """Whether hearts are broken."""
        self.points: Final = points
        """By seat: points taken so far in this hand."""

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
        return [CARDS[index] for index in self._trick]

    @property
    def trick_indexes(self) -> tuple[int, ...]:
        """The same as card indexes."""
        return self._trick

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

    __slots__ = ("subtract_by_default",)

    def __init__(self, table: Table, subtract_by_default: bool) -> None:
        super().__init__(table)
        self.subtract_by_default: Final = subtract_by_default
        """What stands when the bot gives no answer: True for subtracting."""


@dataclass(frozen=True, slots=True)
class HandResult:
    """A hand that ended."""

    table: Table
    """What the bot knew of it."""
    points: tuple[int, ...]
    """By seat, moon and all."""
    totals: tuple[int, ...]
    """By seat, after the hand."""
    moon: int | None
    """Seat that shot the moon."""
