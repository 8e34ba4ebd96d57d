"""Print what the arbiter plays per second, from one table open to two thousand, and what its alternatives do.

Every repetition measures all of them one after the other, and ratios are taken within a repetition, because machines
are noisy. A rival that is not installed is left out; ``make rivals`` installs those that need an environment of their
own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from arbiter.cage import choose_cage, take_snapshot
from arbiter.engine import COMPILED
from arbiter.match import StandInBot
from benchmarks import measures
from benchmarks.rivals import RIVALS

ROOT: Final = Path(__file__).resolve().parent.parent
BOTS: Final = ROOT / "benchmarks" / "bots"
RIVALS_PYTHON: Final = ROOT / ".venv-rivals" / "bin" / "python"
TABLES: Final = (1, 16, 64, 256, 1024, 2048)
MANY: Final = 1024
"""How many are open where one number is measured."""
COLUMNS: Final = "four bot processes, 1,024 tables, bots over columns"
ONE_CORE: Final = "four bot processes, 1,024 tables, all on one core"
SIDE_BY_SIDE: Final = "two sittings side by side, four bot processes and 1,024 tables each"
EVALUATE: Final = "OpenSpiel, evaluate_bots, NumPy's random"
EVALUATE_QUICKER: Final = "OpenSpiel, evaluate_bots, Python's random"
LOOP: Final = "OpenSpiel, bare Python loop"
KAGGLE: Final = "kaggle-environments, open_spiel_hearts"
DECISIONS: Final = 52 + 3
"""Decisions of a hand on average: the cards, and four passes in three hands of four."""


@dataclass(slots=True)
class Found:
    """What was measured, one value a repetition in every list."""

    hands_per_second: dict[str, list[float]] = field(default_factory=dict)
    cpu_microseconds: dict[str, list[float]] = field(default_factory=dict)
    """CPU time of a hand, of all processes together, from the first card to the last."""
    microseconds_per_step: dict[str, list[float]] = field(default_factory=dict)
    sittings: dict[str, list[measures.Played]] = field(default_factory=dict)

    def add(self, name: str, rival: Mapping[str, float]) -> None:
        """Take in what a rival printed."""
        for known, kind in (
            (self.hands_per_second, "hands_per_second"),
            (self.cpu_microseconds, "cpu_microseconds"),
            (self.microseconds_per_step, "microseconds_per_step"),
        ):
            if kind in rival:
                known.setdefault(name, []).append(rival[kind])


def main() -> int:
    """Measure and print; ``--json`` prints all repetitions."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure hands per second.")
    parser.add_argument("--repetitions", type=int, default=5, help="interleaved repetitions (default 5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found, before = Found(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="arbiter-bots-", dir="/tmp") as folder:
        jobs = _jobs(found, Path(folder))
        Path(folder).chmod(0o755)
        with Progress(console=Console(stderr=True)) as progress:
            for job in progress.track(jobs * options.repetitions, description="Measuring"):
                job()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    machine += f", hot path {'compiled' if COMPILED else 'interpreted'}"
    machine += f", load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    if options.json:
        print(json.dumps({"machine": machine, **asdict(found), "ratios": _ratios(found)}, indent=2))
    else:
        _print(machine, found)
    return 0


def _jobs(found: Found, folder: Path) -> list[Callable[[], None]]:
    """What one repetition measures, in turn."""
    snapshots = {bot.name: take_snapshot(bot, folder).path for bot in BOTS.iterdir() if bot.is_dir()}

    def engine() -> None:
        found.add("engine alone", {"hands_per_second": measures.engine(3000)})

    def in_process() -> None:
        found.add("in one process, 1,024 tables", {"hands_per_second": measures.in_process(StandInBot, 1024, 1024)})

    def processes(name: str, bot: str, tables: int, cores: int | None = None) -> Callable[[], None]:
        def play() -> None:
            with measures.pinned(cores):
                played = measures.processes(choose_cage(False), [snapshots[bot]] * 4, max(64, 8 * tables), tables)
            found.sittings.setdefault(name, []).append(played)
            figures = {
                "hands_per_second": played.hands_per_second,
                "microseconds_per_step": 1e6 / played.hands_per_second / DECISIONS,
            }
            if played.bots_microseconds is not None:
                figures["cpu_microseconds"] = played.arbiter_microseconds + played.bots_microseconds
            found.add(name, figures)

        return play

    def side_by_side() -> None:
        hands = 8 * MANY
        sittings = measures.side_by_side([choose_cage(False) for _ in range(2)], [snapshots["random"]] * 4, hands, MANY)
        rate = measures.hands_per_second_together(sittings, hands)
        found.add(SIDE_BY_SIDE, {"hands_per_second": rate, "microseconds_per_step": 1e6 / rate / DECISIONS})

    def rival(name: str, python: str) -> Callable[[], None]:
        def run() -> None:
            done = subprocess.run(
                [python, "-m", "benchmarks.rivals", name], cwd=ROOT, capture_output=True, text=True, check=True
            )
            found.add(name, json.loads(done.stdout.splitlines()[-1]))

        return run

    jobs = [engine, in_process, *(processes(_processes(tables), "random", tables) for tables in TABLES)]
    jobs.append(processes(COLUMNS, "columns", MANY))
    jobs.append(processes(ONE_CORE, "random", MANY, cores=1))
    jobs.append(side_by_side)
    jobs += [rival(name, python) for name in RIVALS if (python := _python_of(name)) is not None]
    return jobs


def _python_of(name: str) -> str | None:
    """The interpreter that can measure this rival."""
    modules = {"OpenSpiel": "pyspiel", "kaggle-environments": "kaggle_environments", "python-chess": "chess"}
    module = modules[name.split(",")[0]]
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    for python in (sys.executable, str(RIVALS_PYTHON)):
        if Path(python).exists() and subprocess.run([python, "-c", probe], check=False).returncode == 0:
            return python
    print(f"{name}: not installed; make rivals installs it", file=sys.stderr)
    return None


def _processes(tables: int) -> str:
    return f"four bot processes, {tables:,} table{'s' if tables > 1 else ''}"


def _ratios(found: Found) -> dict[str, list[float]]:
    """What is claimed, one ratio a repetition: hands per second, and CPU time of a hand the other way round."""
    rates, cpu = found.hands_per_second, found.cpu_microseconds
    several = [_processes(tables) for tables in TABLES if tables >= MANY]
    many = _processes(MANY)
    claims = {
        f"{many} : {_processes(1)}": (many, _processes(1)),
        **{f"{ours} : {name}": (ours, name) for name in (EVALUATE, EVALUATE_QUICKER, KAGGLE, LOOP) for ours in several},
        f"{SIDE_BY_SIDE} : {EVALUATE}": (SIDE_BY_SIDE, EVALUATE),
        f"{COLUMNS} : {LOOP}": (COLUMNS, LOOP),
        f"{many} : {ONE_CORE}": (many, ONE_CORE),
        f"{SIDE_BY_SIDE} : {many}": (SIDE_BY_SIDE, many),
    }
    ratios = {
        claim: [one / other for one, other in zip(rates[above], rates[below], strict=True)]
        for claim, (above, below) in claims.items()
        if below in rates
    }
    for dear, cheap in ((name, many) for name in (_processes(1), EVALUATE, EVALUATE_QUICKER, KAGGLE)):
        if dear in cpu and cheap in cpu:
            each = zip(cpu[dear], cpu[cheap], strict=True)
            ratios[f"CPU time of a hand, {dear} : {cheap}"] = [theirs / ours for theirs, ours in each]
    return ratios


def _print(machine: str, found: Found) -> None:
    console = Console(width=110)
    speeds = _table(f"Hands per second ({machine})", "", "median", "least", "most", "CPU µs/hand", "of it arbiter")
    for name, rates in found.hands_per_second.items():
        sittings = found.sittings.get(name, [])
        arbiter = [played.arbiter_microseconds for played in sittings]
        speeds.add_row(name, *_spread(rates), _median(found.cpu_microseconds.get(name, [])), _median(arbiter))
    every = [played for sittings in found.sittings.values() for played in sittings]
    starts = [played.start_and_end_seconds for played in every]
    start_cpu = [played.start_cpu_seconds for played in every if played.start_cpu_seconds is not None]
    speeds.caption = (
        "CPU µs/hand: of all processes, from the first card to the last. Four bots' start and end beside play:"
        f" {statistics.median(starts):.2f} s a sitting, {_median(start_cpu, '.2f') or 'unknown'} s of CPU time to start"
    )
    speeds.caption_justify = "left"
    console.print(speeds)
    ratios = _table("Ratios within a repetition", "", "median", "least", "most")
    for claim, values in _ratios(found).items():
        ratios.add_row(claim, *(f"{value:,.2f}" for value in (statistics.median(values), min(values), max(values))))
    console.print(ratios)
    steps = _table("Microseconds of wall time for one decision of one player", "", "median", "least", "most")
    for name, values in found.microseconds_per_step.items():
        steps.add_row(name, *_spread(values))
    console.print(steps)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    return table


def _spread(values: Sequence[float]) -> tuple[str, str, str]:
    form = ",.0f" if min(values) >= 100 else ",.1f"
    return format(statistics.median(values), form), format(min(values), form), format(max(values), form)


def _median(values: Sequence[float], form: str = ",.0f") -> str:
    return format(statistics.median(values), form) if values else ""


if __name__ == "__main__":
    sys.exit(main())
