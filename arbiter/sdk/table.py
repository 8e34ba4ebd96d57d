"""What a bot knows of a table, which the views of a hand share."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeAlias

from arbiter.engine.hand import Trick
from arbiter.engine.ruleset import PassDirection

if TYPE_CHECKING:
    from arbiter.sdk.views import MatchInfo

TrickRow: TypeAlias = tuple[int, int, tuple[int, ...], int, int]
"""A finished trick as it comes: table, leader, card indexes, winner or -1, points."""


class Table:
    """What a bot knows of one table from the deal on; the views of a hand share it."""

    __slots__ = (
        "_random",
        "_tricks",
        "board",
        "dealer",
        "dealt_mask",
        "direction",
        "hand_number",
        "match",
        "new_tricks",
        "passed",
        "received",
        "seat",
        "totals",
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
        self._random: tuple[int, random.Random] | None = None
        self._tricks: list[Trick] = []
        self.new_tricks: list[TrickRow] = []
        """Finished tricks that nobody has looked at yet."""

    @property
    def tricks(self) -> list[Trick]:
        """All finished tricks of this hand, in order."""
        if self.new_tricks:
            for _, leader, cards, winner, points in self.new_tricks:
                self._tricks.append(Trick(leader, cards, winner if winner >= 0 else None, points))
            self.new_tricks.clear()
        return self._tricks

    def random_of(self, decision: int) -> random.Random:
        """Randomness of the decision with this number within the hand, one and the same until the next is asked for."""
        if self._random is None or self._random[0] != decision:
            key = f"{self.match.bot_seed.hex()}/{self.board}/{self.hand_number}/{decision}"
            self._random = decision, random.Random(key)
        return self._random[1]

    @property
    def trick_count(self) -> int:
        """How many tricks of this hand are finished."""
        return len(self._tricks) + len(self.new_tricks)
