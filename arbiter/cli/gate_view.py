"""Live progress of a gate on standard error: the evidence, its limits, and the estimate so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from arbiter.cli.gate_state import gate_line, gate_picture
from arbiter.cli.progress import REFRESH, ProgressView
from arbiter.service.gate_messages import report_message
from arbiter.store import SittingKey, Store
from arbiter.tournament.gate import GateJudge, GateReport

LINE_EVERY: Final = 10.0
"""Seconds between two lines where there is no terminal."""

LOOK_EVERY: Final = 0.1
"""Seconds between two looks for something to write."""


class GateView(ProgressView):
    """Shows a gate while it runs: drawn on a terminal, a line now and then where there is none."""

    def __init__(self, console: Console, judge: GateJudge) -> None:
        super().__init__(console)
        self._judge: Final = judge

    async def follow(self, store: Store, tournament: str, live: Callable[[], Mapping[SittingKey, int]]) -> None:
        """Draw until cancelled."""
        if not self._console.is_terminal:
            await self._write_lines()
        with Live(console=self._console, refresh_per_second=4, transient=True) as display:
            while True:
                progress = await asyncio.to_thread(store.progress, tournament)
                head = Text.assemble((tournament, "bold"), f"  {progress.hands + sum(live().values()):,} hands")
                latest = self._judge.latest
                picture = gate_picture(None if latest is None else report_message(latest))
                display.update(Group(head, *picture, *self._warning()))
                await asyncio.sleep(REFRESH)

    async def _write_lines(self) -> None:
        shown: GateReport | None = None
        while True:
            latest = self._judge.latest
            if latest is not None and latest is not shown:
                shown = latest
                line = gate_line(report_message(latest))
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
                await asyncio.sleep(LINE_EVERY)
            await asyncio.sleep(LOOK_EVERY)

    def _warning(self) -> list[RenderableType]:
        if self._trouble and time.monotonic() - self._trouble[0] < 5:
            return [Text(f"warning: {self._trouble[1]}", style="yellow")]
        return []
