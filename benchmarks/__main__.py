"""Print hands per second of the engine, of a sitting in one process, and of four bot processes over gRPC.

Every repetition measures all of them one after the other, and ratios are taken within a repetition, because machines
are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from arbiter.cage import choose_cage, take_snapshot
from arbiter.engine import COMPILED
from benchmarks import measures

ROOT = Path(__file__).resolve().parent.parent
BOT = ROOT / "sample_bots" / "uniform"
TABLES = (1, 16, 64, 256)
BASE = "processes, 1 table"


def main() -> int:
    """Measure and print; ``--json`` prints all repetitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure hands per second.")
    parser.add_argument("--repetitions", type=int, default=5, help="interleaved repetitions (default 5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows: dict[str, list[float]] = {}
    starts: list[float] = []
    with tempfile.TemporaryDirectory(prefix="arbiter-bots-") as folder:
        bot = take_snapshot(BOT, Path(folder)).path
        Path(folder).chmod(0o755)
        for repetition in range(options.repetitions):
            print(f"repetition {repetition + 1} of {options.repetitions}", file=sys.stderr)
            rows.setdefault("engine alone", []).append(measures.engine(3000))
            rows.setdefault("in process, 256 tables", []).append(measures.in_process(1024, 256))
            for tables in TABLES:
                name = f"processes, {tables} table{'s' if tables > 1 else ''}"
                speed, start = measures.processes(choose_cage(False), bot, max(64, 4 * tables), tables)
                rows.setdefault(name, []).append(speed)
                starts.append(start)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    machine += f", engine {'compiled' if COMPILED else 'interpreted'}"
    if options.json:
        print(json.dumps({"machine": machine, "hands_per_second": rows, "start_and_end_seconds": starts}, indent=2))
        return 0
    table = Table(title=f"Hands per second ({machine})", title_justify="left")
    for heading in ("", "median", "least", "most", f"ratio to '{BASE}'"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, values in rows.items():
        ratios = [value / base for value, base in zip(values, rows[BASE], strict=True)]
        table.add_row(
            name,
            f"{statistics.median(values):,.0f}",
            f"{min(values):,.0f}",
            f"{max(values):,.0f}",
            f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})",
        )
    table.caption = f"four bots' start and end beside play: {statistics.median(starts):.2f} s a sitting"
    table.caption_justify = "left"
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
