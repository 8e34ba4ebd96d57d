"""Memory of a worker over many hands: ``python -m benchmarks.memory``.

One process plays sittings one after the other, each with four bot processes over gRPC, as a worker does; after each its
resident memory is read. ``tests/match/test_memory.py`` also writes replays.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # ships no types
from rich.console import Console
from rich.progress import track

from arbiter.cage import choose_cage, take_snapshot
from benchmarks import measures

BOT: Final = Path(__file__).resolve().parent / "bots" / "random"
HANDS: Final = 1024
"""Hands of a sitting, all of whose tables are open at once."""


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description="Memory over many hands.")
    parser.add_argument("--hands", type=int, default=100_000, help="at the least (default 100000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    process, resident = psutil.Process(), []
    with tempfile.TemporaryDirectory(prefix="arbiter-bots-", dir="/tmp") as folder:
        bot = take_snapshot(BOT, Path(folder)).path
        Path(folder).chmod(0o755)
        sittings = range(-(-options.hands // HANDS))
        for _ in track(sittings, description="Playing", console=Console(stderr=True)):
            measures.processes(choose_cage(False), [bot] * 4, HANDS, HANDS)
            resident.append(process.memory_info().rss / 1e6)
    tenth = max(1, len(resident) // 10)
    found = {
        "python": platform.python_version(),
        "hands": HANDS * len(resident),
        "megabytes_after_first_sitting": round(resident[0], 1),
        "median_of_second_tenth": round(statistics.median(resident[tenth : 2 * tenth] or resident), 1),
        "median_of_last_tenth": round(statistics.median(resident[-tenth:]), 1),
        "most": round(max(resident), 1),
    }
    if options.json:
        print(json.dumps({**found, "megabytes": resident}, indent=2))
    else:
        for name, figure in found.items():
            print(f"{name.replace('_', ' ')}: {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
