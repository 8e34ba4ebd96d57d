"""When a bot is sent what it is due: a small batch may grow for a moment while other bots are at work.

A message costs as much as some hundred decisions in it. Were every bot sent at once whatever is due to it, few tables
would wait at each bot and batches would be small: at 1,024 tables half of them held 40 requests or fewer. A bot that
thinks is hardly made to wait: its time is dearer than a message.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from arbiter.match.player import Player

GATHER_PAUSE: Final = 0.01
"""Seconds that a small batch waits at the most for a bot that answers at once: some times what a message costs."""

SHORT_PAUSE: Final = 0.001
"""The same for a bot that thinks: about what a message costs at both ends."""

AT_ONCE: Final = 0.0005
"""Seconds an answer, on average, up to which a bot answers at once."""


class Gathering:
    """Which bots of a sitting are at work, and who of the others may be sent something.

    Args:
        players: all of the sitting.
        at_once: how many may be at work at the same time; None for all. Where processors are few and clocks tight, no
            bot thinks on the time of another then.
        open_tables: how many tables are open at once. Were all batches even, each bot would have its share of them,
            which is worth a message.
    """

    def __init__(self, players: Sequence[Player], open_tables: int, at_once: int | None = None) -> None:
        self._players: Final = players
        self._turns: Final = asyncio.Semaphore(at_once or len(players))
        self._working = 0
        for player in players:
            player.enough = max(1, open_tables // len(players))

    async def wait(self, player: Player) -> None:
        """Return when the bot is to be sent what it is due: when that is enough, when nobody is at work whose answers
        could add to it, or after a moment."""
        if self._working and not player.ripe.is_set():
            pause = GATHER_PAUSE if player.clock.seconds_an_answer <= AT_ONCE else SHORT_PAUSE
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await player.ripe.wait()

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """A bot's turn, once it has come, in which it owes answers. When the last has given its own, nobody waits for
        more."""
        async with self._turns:
            self._working += 1
            try:
                yield
            finally:
                self._working -= 1
                if not self._working:
                    for player in self._players:
                        player.ripe.set()
