"""One bot's side of a sitting: what it is due, what it owes, its clock and its faults."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from arbiter.api.bot.v1 import bot_pb2
from arbiter.engine import play_columns
from arbiter.links import Link
from arbiter.match.clock import RunningClock
from arbiter.match.outbox import Outbox, TrickLog
from arbiter.match.plan import SeatedBot

if TYPE_CHECKING:
    from arbiter.match.table import Table


class Due(Enum):
    """What a request asks for."""

    PASS = auto()
    CARD = auto()
    MOON = auto()


Request: TypeAlias = "tuple[Due, Table]"


class Player:
    """A bot in a sitting. It is ``playing`` until it is lost; then the stand-in decides for it."""

    def __init__(
        self,
        place: int,
        bot: SeatedBot,
        link: Link,
        two_packs: bool,
        tricks: TrickLog,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place: Final = place
        """Its place in the sitting's list of bots."""
        self.bot: Final = bot
        self.link: Final = link
        self.outbox: Final = Outbox(two_packs, tricks)
        self.open: Final[dict[int, Request]] = {}
        """Unanswered requests by id."""
        self._unsent_ids: list[int] = []
        self._unsent: list[Table] = []
        """Tables that a card was asked for and no message made of it yet, beside the requests' ids."""
        self.asked = 0
        """Id of the latest request."""
        self.sent = 0
        """Id of the latest request that the bot has been sent; a later one can't be answered yet."""
        self.playing = True
        self.faults = 0
        self.due: Final = asyncio.Event()
        """Set while there is a request that has not been sent, or the sitting is over."""
        self.enough = 1
        """How many requests make a batch that is worth a message of its own."""
        self.ripe: Final = asyncio.Event()
        """Set while there are that many that have not been sent, or nobody is at work who could make them more."""
        self._notable = 1
        """Id of the request that somebody is told of: the first that has not been sent, then the one that is enough."""
        self.clock: Final = RunningClock(bot.clock, now)

    def ask_pass(self, table: Table) -> None:
        """Request cards to pass."""
        self.outbox.ask_pass(self._next_id(Due.PASS, table), table.board)

    def ask_card(self, table: Table) -> None:
        """Request a card of the table's hand."""
        # Most requests are these, so this is _next_id without a call.
        self.asked = number = self.asked + 1
        self.open[number] = Due.CARD, table
        self._unsent_ids.append(number)
        self._unsent.append(table)
        if number == self._notable:
            self._tell()

    def ask_moon(self, table: Table, subtract_by_default: bool) -> None:
        """Request a choice about a moon."""
        self.outbox.ask_moon(self._next_id(Due.MOON, table), table.board, subtract_by_default)

    def batches(self) -> list[bot_pb2.SitResponse]:
        """What is due to the bot, as messages to be sent now."""
        if self._unsent:
            tables = self._unsent
            self.outbox.ask_cards(
                self._unsent_ids, [table.board for table in tables], play_columns([table.hand for table in tables])
            )
            self._unsent_ids, self._unsent = [], []
        self.sent = self.asked
        self._notable = self.sent + 1
        self.ripe.clear()
        return self.outbox.take(max(0.0, self.clock.bank))

    def take(self, request_id: int, due: Due) -> Table | None:
        """The table that an answer belongs to, its request now closed; None when the bot was sent no such request."""
        request = self.open.get(request_id)
        if request is None or request[0] is not due or request_id > self.sent:
            return None
        del self.open[request_id]
        return request[1]

    def _next_id(self, due: Due, table: Table) -> int:
        self.asked = number = self.asked + 1
        self.open[number] = due, table
        if number == self._notable:
            self._tell()
        return number

    def _tell(self) -> None:
        self.due.set()
        if self.asked >= self.sent + self.enough:
            self.ripe.set()
        else:
            self._notable = self.sent + self.enough
            self.ripe.clear()
