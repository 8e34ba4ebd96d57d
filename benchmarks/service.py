"""What a sitting costs beside its play, with Celery, Redis and database as they are: ``python -m benchmarks.service``.

Tournaments of ever more sittings are played by one worker whose bots play in its own process, one board a sitting
unless told otherwise, so that all else shows: queue, lease, replay, report, the check of the replay, the database, and
the coordinator. Beside that stands a sitting as it is by default, with bots that are processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # ships no types
from rich.console import Console
from rich.table import Table

from arbiter.cage import choose_cage, take_snapshot
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import Entrant, Store, TournamentState
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import CelerySender, Coordinator, Desk, Lead, parse_spec, plan_tournament
from benchmarks import measures

ROOT: Final = Path(__file__).resolve().parent.parent
SITTINGS_A_MATCH: Final = 4
TOURNAMENT: Final = "cost"
DEFAULT_BOARDS: Final = 64
"""Boards of a match by default."""
BOTS: Final = ("careful", "lowest", "montecarlo", "moonshooter")
"""Sample bots of a sitting of default size; one of them thinks."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one tournament took. Times are seconds a sitting."""

    sittings: int
    beside_play: float
    """Wall time of the worker beside play."""
    arbiter_cpu: float
    """CPU time of the arbiter: coordinator, worker service, check of replays, database."""
    redis_cpu: float
    worker_cpu: float
    """CPU time of the worker, its play included."""
    playing: float
    """Wall time of play."""


def measure(sittings: int, boards: int = 1) -> Cost:
    """Play a tournament of so many sittings, a multiple of four, of so many boards each."""
    return asyncio.run(_measure(sittings, boards))


def write_plan(store: Store, sittings: int, boards: int = 1) -> str:
    """Write the plan of a tournament of so many sittings of so many boards, and return its id."""
    spec = parse_spec(
        {
            "name": TOURNAMENT,
            "meetings": sittings // SITTINGS_A_MATCH,
            "match": {"boards": boards},
            "deal_seed": bytes(range(32)).hex(),
            "entrants": [{"bot": f"bot{number}"} for number in range(4)],
        },
        Path(),
    )
    entrants = [Entrant(index, f"bot{index}", f"{index:064x}", {}) for index in range(4)]
    tournament, matches = plan_tournament(TOURNAMENT, spec, entrants, datetime.now(UTC))
    store.create_tournament(tournament, entrants, matches, SITTINGS_A_MATCH)
    return TOURNAMENT


async def _measure(sittings: int, boards: int) -> Cost:
    with (
        tempfile.TemporaryDirectory(prefix="arbiter-cost-", dir="/tmp") as data,
        RunDirectory() as run,
        Store.open(Path(data, "arbiter.db")) as store,
    ):
        write_plan(store, sittings, boards)
        store.set_state(TOURNAMENT, TournamentState.RUNNING, now=datetime.now(UTC))
        return await _run(store, Path(data), run)


async def _coordinate(store: Store, lead: Lead, desk: Desk, sender: CelerySender) -> TournamentState:
    coordinator = Coordinator(store, sender, lambda _: lead)
    desk.changed = coordinator.wake
    return await coordinator.run_one(TOURNAMENT)


async def _run(store: Store, data: Path, run: Path) -> Cost:
    desk, tokens, report = Desk(store), WorkerTokens(store.accounts), data / "worker.json"
    async with EmbeddedRedis(run) as redis, WorkerServer(desk, FileVersions(data), tokens, f"unix:{run}/a") as server:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "ARBITER_REDIS_URL": redis.url,
            "ARBITER_QUEUE": TOURNAMENT,
            "ARBITER_WORKER_ADDRESS": server.address,
            "ARBITER_WORKER_TOKEN": tokens.own,
            "ARBITER_RUN_DIR": str(run),
            "ARBITER_UNSAFE_PROCESSES": "1",
            "ARBITER_WORKER_RECYCLE": str(sys.maxsize),  # nobody would start another one here
        }
        command = [sys.executable, "-m", "benchmarks.quick_worker", str(report)]
        worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        ended = asyncio.ensure_future(asyncio.to_thread(worker.wait))
        sender = CelerySender(redis.url, TOURNAMENT)
        try:
            with Lead(store, f"tournament/{TOURNAMENT}", "benchmark") as lead:
                cpu, redis_cpu = time.process_time(), _redis_cpu(run)
                playing = asyncio.ensure_future(_coordinate(store, lead, desk, sender))
                await asyncio.wait({playing, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not playing.done():
                    playing.cancel()
                    raise RuntimeError(f"the worker has ended with exit status {ended.result()}")
                state = playing.result()
                cpu, redis_cpu = time.process_time() - cpu, _redis_cpu(run) - redis_cpu
        finally:
            sender.close()
            worker.terminate()
            await ended
    if state is not TournamentState.COMPLETED:
        raise RuntimeError(f"the tournament is {state}")
    done = json.loads(report.read_text())
    begins, ends = done["ends"][::2], done["ends"][1::2]
    sittings = len(ends)
    pauses = [begin - end for begin, end in zip(begins[1:], ends, strict=False)]
    return Cost(
        sittings,
        beside_play=sum(pauses) / len(pauses),
        arbiter_cpu=cpu / sittings,
        redis_cpu=redis_cpu / sittings,
        worker_cpu=done["cpu"] / sittings,
        playing=sum(end - begin for begin, end in zip(begins, ends, strict=True)) / sittings,
    )


def default_sitting() -> float:
    """Seconds that a sitting of default size takes, start and end of its bots included."""
    with tempfile.TemporaryDirectory(prefix="arbiter-bots-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        bots = [take_snapshot(ROOT / "sample_bots" / name, Path(folder)).path for name in BOTS]
        played = measures.processes(choose_cage(False), bots, DEFAULT_BOARDS, DEFAULT_BOARDS)
    return DEFAULT_BOARDS / played.hands_per_second + played.start_and_end_seconds


def _redis_cpu(run: Path) -> float:
    """CPU time of the server that has its files in this folder."""
    for process in psutil.process_iter(["cmdline"]):
        if any(str(run) in part for part in process.info["cmdline"] or ()) and "python" not in process.name():
            times = process.cpu_times()
            return float(times.user + times.system)
    return 0.0


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="What a sitting costs.")
    parser.add_argument("--sittings", type=int, nargs="+", default=[12, 100, 1000, 10_000], help="multiples of four")
    parser.add_argument("--boards", type=int, default=1, help="boards of a sitting (default 1)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    costs, whole = [], []
    for sittings in options.sittings:
        print(f"{sittings} sittings", file=sys.stderr)
        whole.append(default_sitting())
        costs.append(measure(sittings, options.boards))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        print(
            json.dumps(
                {"machine": machine, "costs": [asdict(cost) for cost in costs], "default_sittings": whole}, indent=2
            )
        )
        return 0
    table = Table(title=f"Milliseconds a sitting ({machine})", title_justify="left")
    for heading in (
        "sittings",
        "beside play",
        "of a default sitting",
        "arbiter CPU",
        "Redis CPU",
        "worker CPU",
        "play",
    ):
        table.add_column(heading, justify="right")
    for cost, seconds in zip(costs, whole, strict=True):
        times = (cost.arbiter_cpu, cost.redis_cpu, cost.worker_cpu, cost.playing)
        table.add_row(
            f"{cost.sittings:,}",
            f"{1000 * cost.beside_play:.1f}",
            f"{seconds:.1f} s: {cost.beside_play / (seconds + cost.beside_play):.1%}",
            *(f"{1000 * cpu:.1f}" for cpu in times),
        )
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
