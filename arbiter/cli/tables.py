"""Tables of what became of workers, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from arbiter.cli.console import one_line
from arbiter.store import Alarm
from arbiter.tournament import WorkerReport


def workers_table(workers: Sequence[WorkerReport]) -> Table:
    """What became of each worker's sittings."""
    table = Table(title="Workers", title_style="bold", title_justify="left")
    table.add_column("worker", style="bold", no_wrap=True)
    for heading in ("lost", "with faults", "slow"):
        table.add_column(heading, justify="right", no_wrap=True)
    for worker in workers:
        shares = (worker.lost, worker.faulty, worker.slow)
        cells = (Text(f"{each.bad}/{each.of}", style="red" if each.outlying else "") for each in shares)
        table.add_row(Text(one_line(worker.worker) + (" *" if worker.outlying else "")), *cells)
    table.caption = "of the attempts or sittings that tell; * more than chance allows beside the others"
    table.caption_justify = "left"
    return table


def alarms_table(alarms: Sequence[Alarm]) -> Table:
    """Reports that can't be right."""
    table = Table(title="Alarms", title_style="bold", title_justify="left")
    for heading in ("sitting", "attempt", "reason"):
        table.add_column(heading, justify="right" if heading == "attempt" else "left")
    for alarm in alarms:
        table.add_row(Text(str(alarm.key)), str(alarm.attempt), Text(one_line(alarm.reason)))
    return table
