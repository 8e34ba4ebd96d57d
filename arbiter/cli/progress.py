"""Live progress of a tournament on standard error, on a terminal alone: how far, how fast, how long, and who leads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.cli.standings_text import standings_table
from arbiter.service.standings_messages import standings_message
from arbiter.store import Progress, SittingKey, Store, StoreUnavailable
from arbiter.tournament import TournamentReport, TournamentSpec, report

REFRESH: Final = 0.4
"""Seconds between two looks."""


class ProgressView:
    """Shows a tournament while it runs."""

    def __init__(self, console: Console) -> None:
        self._console: Final = console
        self._trouble: tuple[float, str] | None = None

    def trouble(self, line: str) -> None:
        """Something is amiss that may pass; shown for some seconds, or printed where there is no terminal."""
        self._trouble = (time.monotonic(), line)
        if not self._console.is_terminal:
            self._console.print(f"warning: {line}", markup=False, highlight=False, soft_wrap=True)

    async def follow(self, store: Store, tournament: str, live: Callable[[], Mapping[SittingKey, int]]) -> None:
        """Draw until cancelled; ``live`` gives the hands played so far in sittings that are being played."""
        if not self._console.is_terminal:
            await asyncio.Event().wait()
        started = time.monotonic()
        first = await asyncio.to_thread(store.progress, tournament)
        spec = TournamentSpec.from_dict(store.tournament(tournament).spec)
        standing = await asyncio.to_thread(report, store, tournament)
        sittings = standing.matches_in_all * spec.seatings.sittings(spec.rules)
        with Live(console=self._console, refresh_per_second=4, transient=True) as display:
            while True:
                try:
                    progress = await asyncio.to_thread(store.progress, tournament)
                except StoreUnavailable as error:
                    self.trouble(str(error))
                    await asyncio.sleep(REFRESH)
                    continue
                if standing.progress.matches_complete != progress.matches_complete:
                    standing = await asyncio.to_thread(report, store, tournament)
                playing = sum(live().values())
                done = progress.hands + playing
                rate = (done - first.hands) / max(0.1, time.monotonic() - started)
                display.update(self._draw(standing, progress, done, sittings, rate))
                await asyncio.sleep(REFRESH)

    def _draw(
        self, standing: TournamentReport, progress: Progress, done: int, sittings: int, rate: float
    ) -> RenderableType:
        recorded = progress.recorded
        total = sittings * standing.spec.boards
        # A game has as many hands as it takes, so games are counted in sittings.
        games = standing.spec.match_format.value == "game"
        share = recorded / sittings if games else done / total
        left = (total - done) / rate if rate and not games else None
        head = Table.grid(padding=(0, 2))
        head.add_row(
            Text(standing.tournament.id, style="bold"),
            ProgressBar(total=1.0, completed=min(1.0, share), width=30),
            Text(f"{share:4.0%}"),
            Text(f"{done:,} hands" if games else f"{done:,} of {total:,} hands"),
            Text(f"{rate:,.0f} hands/s"),
            Text(f"sittings {recorded}/{sittings}"),
            Text("" if left is None else f"{timedelta(seconds=round(left))} left"),
        )
        parts: list[RenderableType] = [head]
        if progress.matches_complete:
            parts.append(
                standings_table(
                    standings_message(standing, pb.Tournament()),
                    title=f"After {progress.matches_complete} of {standing.matches_in_all} matches",
                )
            )
        if self._trouble and time.monotonic() - self._trouble[0] < 5:
            parts.append(Text(f"warning: {self._trouble[1]}", style="yellow"))
        return Group(*parts)
