"""Live progress of a gate on standard error: the evidence, its limits, and the estimate so far."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbiter.cli.gate_text import evidence_text, improvement_text
from arbiter.cli.progress import REFRESH, ProgressView
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

    async def follow(self, store: Store, tournament: str, live: Mapping[SittingKey, int]) -> None:
        """Draw until cancelled."""
        if not self._console.is_terminal:
            await self._write_lines()
        with Live(console=self._console, refresh_per_second=4, transient=True) as display:
            while True:
                progress = await asyncio.to_thread(store.progress, tournament)
                head = Text.assemble((tournament, "bold"), f"  {progress.hands + sum(live.values()):,} hands")
                display.update(self._picture(head, self._judge.latest))
                await asyncio.sleep(REFRESH)

    async def _write_lines(self) -> None:
        shown: GateReport | None = None
        while True:
            latest = self._judge.latest
            if latest is not None and latest is not shown:
                shown = latest
                line = f"{latest.boards:,} boards: {improvement_text(latest)}; {evidence_text(latest)}"
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
                await asyncio.sleep(LINE_EVERY)
            await asyncio.sleep(LOOK_EVERY)

    def _picture(self, head: Text, latest: GateReport | None) -> RenderableType:
        parts: list[RenderableType] = [head]
        if latest is None:
            parts.append(Text("playing the first block", style="dim"))
        else:
            rows = Table.grid(padding=(0, 2))
            shares = (latest.for_delta0, latest.for_delta1)
            for name, scale in zip(("for delta0", "for delta1"), shares, strict=True):
                share = min(1.0, max(0.0, scale.evidence / scale.limit))
                rows.add_row(
                    name,
                    ProgressBar(total=1.0, completed=share, width=30),
                    f"{scale.evidence:+.2f} of {scale.limit:.2f}",
                )
            parts += [
                rows,
                Text(f"{latest.boards:,} boards, block {latest.blocks} of {latest.most_blocks} at the most"),
                Text(improvement_text(latest)),
            ]
        if self._trouble and time.monotonic() - self._trouble[0] < 5:
            parts.append(Text(f"warning: {self._trouble[1]}", style="yellow"))
        return Group(*parts)
