"""Measure what the cage costs: the start of a bot, and a decision over gRPC, beside the same without a cage.

Every repetition does both ways one after the other, and differences and ratios are taken within a repetition, because
machines are noisy. Without a cage a service of root needs an interpreter that every user
can reach.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from arbiter.cage import Cage, Launch, Manifest, choose_cage, take_snapshot
from arbiter.links import BotHost
from benchmarks import measures

BOT = Path(__file__).resolve().parent.parent / "sample_bots" / "uniform"
TABLES = ((1, 24), (64, 384))
"""Open tables, and hands to play with so many."""


async def start_seconds(cage: Cage, launch: Launch) -> float:
    """From the call to the end of a bot that ends at once."""
    began = time.perf_counter()
    await (await cage.start(launch)).wait()
    return time.perf_counter() - began


async def starts(folder: Path, cages: Sequence[Cage], repetitions: int) -> list[list[float]]:
    """Seconds of start and end, by repetition and cage."""
    bot = folder / "ends"
    bot.mkdir(mode=0o755)
    (bot / "play").write_text("#!/bin/sh\n")
    (bot / "play").chmod(0o755)
    host = BotHost(folder)
    launch = Launch(bot, Manifest("ends", "executable", ("play",)), host.add("seat").socket)
    async with host:
        for cage in cages:  # what is found out once is not counted
            await start_seconds(cage, launch)
        return [[await start_seconds(cage, launch) for cage in cages] for _ in range(repetitions)]


def main() -> int:
    """Measure and print; ``--json`` prints all repetitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cage", description="Measure what the cage costs.")
    parser.add_argument("--starts", type=int, default=40, help="starts of a bot, each way (default 40)")
    parser.add_argument("--sittings", type=int, default=10, help="sittings, each way and number of tables (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    cages = (choose_cage(False), choose_cage(True))
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="arbiter-cost-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        print("starts", file=sys.stderr)
        added = [1000 * (caged - bare) for caged, bare in asyncio.run(starts(folder, cages, options.starts))]
        bot = take_snapshot(BOT, folder / "bots").path
        for repetition in range(options.sittings):
            print(f"sittings {repetition + 1} of {options.sittings}", file=sys.stderr)
            for tables, hands in TABLES:
                caged, bare = (measures.processes(cage, [bot] * 4, hands, tables).hands_per_second for cage in cages)
                ratios.setdefault(f"{tables} open table{'s' if tables > 1 else ''}", []).append(bare / caged)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        print(json.dumps({"machine": machine, "added_start_milliseconds": added, "time_ratios": ratios}, indent=2))
        return 0
    table = Table(title=f"Cost of the cage ({machine})", title_justify="left")
    for heading in ("", "median", "quartiles", "repetitions"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("added to the start and end of a bot", *_spread(added, "{:.0f} ms"))
    for name, values in ratios.items():
        table.add_row(f"time of a decision, caged to bare, {name}", *_spread(values, "{:.2f}"))
    Console(width=110).print(table)
    return 0


def _spread(values: Sequence[float], form: str) -> tuple[str, str, str]:
    low, middle, high = statistics.quantiles(values, n=4)
    return form.format(middle), f"{form.format(low)} to {form.format(high)}", str(len(values))


if __name__ == "__main__":
    sys.exit(main())
