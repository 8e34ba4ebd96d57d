"""Whether a service costs the same in the end as in the beginning: ``python -m benchmarks.endurance``.

One tournament of sittings of one board is played by a service in parts, each a process of its own: API, coordinator,
Redis, PostgreSQL and one worker, whose bots play in its own process, so that all else shows. Then a smaller one with
real bots in cages. After each tenth of the sittings the processors' time and the memory of every part are read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # ships no types
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from arbiter.cli.local import bots_of
from arbiter.errors import InfrastructureError
from arbiter.identity import issue_token
from arbiter.store import Entrant, Scope, SittingState, Store, TournamentState
from arbiter.supervisor.redis import find_server
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import parse_spec, plan_tournament
from tests.postgres import find_programs, serving

ROOT: Final = Path(__file__).resolve().parent.parent
BOT: Final = ROOT / "benchmarks" / "bots" / "random"
PARTS: Final = ("API", "coordinator", "Redis", "PostgreSQL", "worker")
STEPS: Final = 10
SITTINGS_A_MATCH: Final = 4
TOURNAMENT: Final = "endurance"
PATIENCE: Final = 120.0
"""Seconds in which something has to be recorded."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All parts at one moment."""

    recorded: int
    """Sittings so far."""
    seconds: float
    """Since the first of them was sent."""
    cpu: dict[str, float]
    """By part: seconds of processors, a worker's bots left out."""
    megabytes: dict[str, float]
    """By part: resident memory; of PostgreSQL what its processes share is counted in each."""


def measure(sittings: int, quick: bool, progress: Progress) -> list[Reading]:
    """Play a tournament of so many sittings, a multiple of forty; returns what was read after each tenth."""
    programs = find_programs()
    if programs is None:
        raise InfrastructureError("PostgreSQL is not installed; apt install postgresql")
    with ExitStack() as stack:
        server = stack.enter_context(serving(programs))
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arbiter-endurance-", dir="/tmp")))
        run = stack.enter_context(RunDirectory())
        database = server.new()
        store = stack.enter_context(Store.open(database))
        _write_plan(store, sittings, bots_of(store, data).put(BOT).digest)
        _, token = issue_token(store.accounts, "endurance", Scope.WORKER, datetime.now(UTC))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "ARBITER_DATABASE_URL": database,
            "ARBITER_REDIS_URL": f"redis://127.0.0.1:{port}/0",
            "ARBITER_QUEUE": TOURNAMENT,
            "ARBITER_WORKER_ADDRESS": f"unix:{run}/workers",
            "ARBITER_WORKER_TOKEN": token,
            "ARBITER_RUN_DIR": str(run),
            "ARBITER_CACHE_DIR": str(data / "cache"),
            "ARBITER_SPOOL_DIR": str(data / "spool"),
            "ARBITER_WORKER_RECYCLE": str(sittings + 1),
        }
        arbiter, folder = [sys.executable, "-m", "arbiter"], ["--data-dir", str(data)]
        redis = [str(find_server()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        listen = ["--address", "127.0.0.1:0", "--listen", f"unix:{run}/workers"]
        player = ["benchmarks.quick_worker", str(data / "worker.json")] if quick else ["workers"]
        unsafe = {"ARBITER_UNSAFE_PROCESSES": "1"} if quick else {}
        parts = {
            "Redis": stack.enter_context(_running(redis, environment)),
            "API": stack.enter_context(_running([*arbiter, "serve", *listen, *folder], environment)),
            "coordinator": stack.enter_context(_running([*arbiter, "coordinator", *folder], environment)),
            "worker": stack.enter_context(_running([sys.executable, "-m", *player], environment | unsafe)),
        }
        processes = {name: psutil.Process(part.pid) for name, part in parts.items()}
        processes["PostgreSQL"] = _postgres()
        return _read_along(store, sittings, processes, progress)


def _write_plan(store: Store, sittings: int, digest: str) -> None:
    spec = parse_spec(
        {
            "name": TOURNAMENT,
            "meetings": sittings // SITTINGS_A_MATCH,
            "match": {"boards": 1},
            "deal_seed": bytes(range(32)).hex(),
            "entrants": [{"bot": f"bot{number}"} for number in range(4)],
        },
        Path(),
    )
    entrants = [Entrant(index, f"bot{index}", digest, {}) for index in range(4)]
    tournament, matches = plan_tournament(TOURNAMENT, spec, entrants, datetime.now(UTC))
    store.create_tournament(tournament, entrants, matches, SITTINGS_A_MATCH)


@contextmanager
def _running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def _postgres() -> psutil.Process:
    """The server that this process started."""
    return next(child for child in psutil.Process().children() if "postgres" in child.name())


def _read_along(
    store: Store, sittings: int, processes: Mapping[str, psutil.Process], progress: Progress
) -> list[Reading]:
    task = progress.add_task(f"{sittings:,} sittings", total=sittings)
    store.set_state(TOURNAMENT, TournamentState.RUNNING, now=datetime.now(UTC))
    recorded, readings, heard = 0, list[Reading](), time.monotonic()
    # What start-up took of each part is in the first reading, and in no difference of two.
    begun = 0.0
    while recorded < sittings:
        time.sleep(1.0)
        now = store.progress(TOURNAMENT).sittings[SittingState.RECORDED]
        if now > recorded:
            heard = time.monotonic()
        elif time.monotonic() - heard > PATIENCE:
            raise InfrastructureError(f"nothing was recorded for {PATIENCE:g} s, after {recorded} sittings")
        recorded = now
        progress.update(task, completed=recorded)
        if recorded and not readings:
            begun = time.monotonic()
        if recorded and recorded >= sittings * len(readings) / STEPS:
            readings.append(_read(recorded, time.monotonic() - begun, processes))
            _tell(progress, readings)
    return readings


def _tell(progress: Progress, readings: Sequence[Reading]) -> None:
    """What was read last, for whoever waits."""
    last = readings[-1]
    cpu = ", ".join(f"{part} {last.cpu[part]:.1f} s {last.megabytes[part]:.0f} MB" for part in PARTS)
    progress.console.print(f"{last.recorded:,} after {last.seconds:.0f} s: {cpu}", highlight=False, soft_wrap=True)


def _read(recorded: int, seconds: float, processes: Mapping[str, psutil.Process]) -> Reading:
    cpu, megabytes = {}, {}
    for name in PARTS:
        # PostgreSQL has a process for each connection; a worker's are bots, which are not what is measured here.
        children = processes[name].children() if name == "PostgreSQL" else []
        whole = [processes[name], *(child for child in children if child.is_running())]
        times = [process.cpu_times() for process in whole]
        cpu[name] = sum(each.user + each.system for each in times)
        if children:
            cpu[name] += times[0].children_user + times[0].children_system  # those that have ended
        megabytes[name] = sum(process.memory_info().rss for process in whole) / 1e6
    return Reading(recorded, seconds, cpu, megabytes)


def _shown(readings: Sequence[Reading], what: str) -> list[Table]:
    times = _table(f"CPU time a sitting, ms: {what}", "sittings", "sittings/s", *PARTS, "coordinator, of a core")
    memory = _table(f"Memory, MB: {what}", "sittings", *PARTS)
    for before, after in pairwise(readings):
        count, seconds = after.recorded - before.recorded, after.seconds - before.seconds
        spent = {part: after.cpu[part] - before.cpu[part] for part in PARTS}
        times.add_row(
            f"{after.recorded:,}",
            f"{count / seconds:.1f}",
            *(f"{1000 * each / count:.1f}" for each in spent.values()),
            f"{spent['coordinator'] / seconds:.1%}",
        )
        memory.add_row(f"{after.recorded:,}", *(f"{each:.0f}" for each in after.megabytes.values()))
    return [times, memory]


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description="Does a service stay as it is?")
    parser.add_argument(
        "--sittings", type=int, default=10_000, help="with bots in the worker's process; multiple of 40"
    )
    parser.add_argument("--processes", type=int, default=200, help="with caged bots; a multiple of 40")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {}
    with Progress(console=Console(stderr=True)) as progress:
        if options.sittings:
            found["bots in the worker's process"] = measure(options.sittings, True, progress)
        if options.processes:
            found["bots in cages"] = measure(options.processes, False, progress)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        plain = {name: [asdict(each) for each in readings] for name, readings in found.items()}
        print(json.dumps({"machine": machine, **plain}, indent=2))
        return 0
    console = Console(width=110)
    for name, readings in found.items():
        for table in _shown(readings, f"{name} ({machine})"):
            console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
