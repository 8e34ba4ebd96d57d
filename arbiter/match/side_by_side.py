"""Plays many tables at once by array operations, as long as nothing happens at them but cards that are allowed.

A table's course, with its faults, stand-ins and offences, is written once, in :mod:`arbiter.match.table`. Here the
hands of many tables lend their state to :class:`~arbiter.engine.rows.HandRows`, which moves all those that one message
answers; where anything else is in a message, its tables get their hands back first and go on one by one. Which of the
two plays a card changes nothing but what it costs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from arbiter.engine import PlayColumns, Rules
from arbiter.engine.rows import HandRows
from arbiter.match.outbox import TrickLog
from arbiter.match.player import Player, see_singly
from arbiter.match.table import Table

FEW: Final = 16
"""Below so many cards of a message array operations cost more than they save."""


class SideBySide:
    """The tables of a sitting whose hands are lent to rows.

    Args:
        rules: the rule set, of one pack.
        open_tables: how many tables are open at once.
        early_end: whether a hand ends once it is settled.
        players: all of the sitting, by place.
        tricks: where completed tricks are written.
    """

    def __init__(
        self, rules: Rules, open_tables: int, early_end: bool, players: Sequence[Player], tricks: TrickLog
    ) -> None:
        self._players: Final = players
        self._tricks: Final = tricks
        self._hands: Final = HandRows(rules, open_tables, early_end)
        self._places: Final = np.zeros((open_tables, rules.seats), dtype=np.int64)
        """By row and seat: place of who sits there."""

    def see(self, tables: Sequence[Table]) -> PlayColumns:
        """What the bots see that owe a card at these tables."""
        if len(tables) < FEW or not self._all_play():
            self.give_back(tables)
            return see_singly(tables)
        if new := [table for table in tables if table.row < 0]:
            taken = self._hands.take([table.hand for table in new])
            self._places[taken] = [table.places for table in new]
            for table, row in zip(new, taken.tolist(), strict=True):
                table.row = row
        return self._hands.see(np.array([table.row for table in tables]))

    def play(self, player: Player, request_ids: Sequence[int], cards: Sequence[int]) -> bool:
        """Apply a bot's cards, if there is nothing else in them than cards that it was asked for and may play.

        Otherwise nothing is applied, all these tables have their hands back, and False is returned.
        """
        ids = list(request_ids)
        asked = [request for request in map(player.open.get, ids) if request is not None]
        tables = [table for _, table in asked]
        rows = np.array([table.row for table in tables])
        card = np.array(cards, dtype=np.int64)
        if (
            not FEW <= len(ids) == len(asked) == len(set(ids))
            or max(ids) > player.sent
            or rows.min() < 0
            or not self._all_play()
            or not self._hands.allow(rows, card)
        ):
            self.give_back(tables)
            return False
        deque(map(player.open.pop, ids), maxlen=0)
        turns, tricks = self._hands.play(rows, card)
        if tricks is not None:
            boards = [tables[place].board for place in tricks.place]
            self._tricks.extend(boards, tricks.leader, tricks.cards, tricks.winner, tricks.points)
        due = np.where(turns < 0, -1, self._places[rows, turns])
        for other in self._players:
            if which := np.flatnonzero(due == other.place).tolist():
                other.ask_cards([asked[at] for at in which])
        if over := [tables[at] for at in np.flatnonzero(turns < 0).tolist()]:
            self.give_back(over)
            for table in over:
                table.advance()
        return True

    def give_back(self, tables: Iterable[Table]) -> None:
        """Let these tables have their hands back, where they were lent."""
        lent = {table.row: table for table in tables if table.row >= 0}
        if lent:
            self._hands.give_back([*lent])
            for table in lent.values():
                table.row = -1

    def _all_play(self) -> bool:
        """Whether no bot is lost: where one is, its stand-in may be due after any card."""
        return all(player.playing for player in self._players)
