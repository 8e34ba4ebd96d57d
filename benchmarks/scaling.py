"""How a service scales with its workers: ``python -m benchmarks.scaling``.

What a sitting and a renewal of its lease cost the arbiter and Redis is measured; then a service of up to a thousand
workers is simulated from that: each worker waits for its lease, plays, renews the lease meanwhile, and goes on while
its report is checked, one report at a time; and the arbiter and Redis serve one call after the other, each as long as
it was measured to take.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import os
import platform
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import grpc
from rich.console import Console
from rich.table import Table

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import Store, TournamentState
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import Desk
from arbiter.tournament.desk import LEASE
from benchmarks import service
from workers.work import HEARTBEAT

WORKERS: Final = (1, 2, 10, 30, 100, 300, 1000)
PLAY_SECONDS: Final = (2.0, 30.0, 300.0)
RENEWALS: Final = 400
SITTINGS_A_WORKER: Final = 20
SPREAD: Final = 0.25
"""Plays take this share more or less, evenly."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one processor."""

    sitting: float
    """The arbiter's, for a sitting: to send, lease, check and record it."""
    renewal: float
    """The arbiter's, for a renewal of a lease."""
    redis: float
    """Redis's, for a sitting."""


@dataclass(frozen=True, slots=True)
class Run:
    """A simulated service."""

    workers: int
    play_seconds: float
    sittings_per_second: float
    playing: float
    """Share of their time that workers play."""
    arbiter: float
    """Share of one processor that the arbiter takes."""
    redis: float
    """The same of Redis."""
    renewal_pause: float
    """Longest time in seconds between two renewals of a lease; when it is longer than a lease, leases are lost."""


def measure(sittings: int) -> Costs:
    """What it costs on this machine."""
    cost = service.measure(sittings)
    return Costs(cost.arbiter_cpu, asyncio.run(_renewal_cpu()), cost.redis_cpu)


async def _renewal_cpu() -> float:
    with (
        tempfile.TemporaryDirectory(prefix="arbiter-scale-", dir="/tmp") as data,
        RunDirectory() as run,
        Store.open(Path(data, "arbiter.db")) as store,
    ):
        tournament = service.write_plan(store, 4)
        store.set_state(tournament, TournamentState.RUNNING, now=datetime.now(UTC))
        desk, tokens = Desk(store), WorkerTokens(store.accounts)
        async with (
            WorkerServer(desk, FileVersions(Path(data)), tokens, f"unix:{run}/a") as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            stub = worker_pb2_grpc.WorkerServiceStub(channel)
            metadata = (("authorization", f"Bearer {tokens.own}"),)
            sitting = f"{tournament}/0/0"
            lease = await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=sitting, worker="w"), metadata=metadata)
            renewal = pb.RenewLeaseRequest(sitting=sitting, attempt=lease.attempt)
            started = time.process_time()
            for _ in range(RENEWALS):
                await stub.RenewLease(renewal, metadata=metadata)
            # The caller's half of a call is in this process too; it is the smaller one, and stays in.
            return (time.process_time() - started) / RENEWALS


def simulate(costs: Costs, workers: int, play_seconds: float, heartbeat: float = HEARTBEAT) -> Run:
    """A service in which every worker plays some sittings, and begins at a random moment.

    A sitting's cost to the arbiter is half before its play and half after it; Redis carries it before. What the arbiter
    comes to only after the end counts for nothing.
    """
    rng = random.Random(1)
    end = SITTINGS_A_WORKER * play_seconds
    # (time, worker, what is due: 0 to ask for work, 1 to renew, 2 to report, end of its play)
    events = [(rng.uniform(0, play_seconds), worker, 0, 0.0) for worker in range(workers)]
    heapq.heapify(events)
    arbiter_free = redis_free = arbiter_busy = redis_busy = played = pause = 0.0
    renewed, reported = [0.0] * workers, [0.0] * workers
    done = 0
    while events and events[0][0] < end:
        now, worker, due, until = heapq.heappop(events)
        if due == 2 and reported[worker] > now:
            heapq.heappush(events, (reported[worker], worker, 2, until))
            continue
        if due == 0:
            redis_free = max(now, redis_free) + costs.redis
            redis_busy += costs.redis
            now = redis_free
        cost = costs.renewal if due == 1 else costs.sitting / 2
        arbiter_free = max(now, arbiter_free) + cost
        arbiter_busy += cost
        if due == 2:
            done += arbiter_free <= end
            reported[worker] = arbiter_free
            heapq.heappush(events, (now, worker, 0, 0.0))
            continue
        if due == 0:
            seconds = play_seconds * rng.uniform(1 - SPREAD, 1 + SPREAD)
            played += seconds * (arbiter_free <= end)
            until = arbiter_free + seconds
        elif due == 1:
            pause = max(pause, arbiter_free - renewed[worker])
        renewed[worker] = arbiter_free
        renewal = arbiter_free + heartbeat
        heapq.heappush(events, (renewal, worker, 1, until) if renewal < until else (until, worker, 2, until))
    span = max(end, 1e-9)
    return Run(
        workers,
        play_seconds,
        done / span,
        min(1.0, played / (span * workers)),
        min(1.0, arbiter_busy / span),
        min(1.0, redis_busy / span),
        pause,
    )


def main() -> int:
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description="How a service scales.")
    parser.add_argument("--sittings", type=int, default=200, help="sittings that are measured (default 200)")
    parser.add_argument("--costs", type=float, nargs=3, metavar=("SITTING", "RENEWAL", "REDIS"), help="in ms, measured")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    costs = Costs(*(ms / 1000 for ms in options.costs)) if options.costs else measure(options.sittings)
    runs = [simulate(costs, workers, seconds) for seconds in PLAY_SECONDS for workers in WORKERS]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        found = {"machine": machine, "costs": asdict(costs), "runs": [asdict(run) for run in runs]}
        print(json.dumps(found, indent=2))
        return 0
    table = Table(title=f"Simulated service ({machine})", title_justify="left")
    for heading in ("play of a sitting", "workers", "sittings/s", "workers play", "arbiter", "Redis", "renewals"):
        table.add_column(heading, justify="right")
    for run in runs:
        shares = [f"{share:.1%}" for share in (run.playing, run.arbiter, run.redis)]
        rate, pause = f"{run.sittings_per_second:.2f}", f"{run.renewal_pause:.1f} s"
        table.add_row(f"{run.play_seconds:g} s", f"{run.workers:,}", rate, *shares, pause)
    table.caption = (
        f"renewals: longest time between two of a lease, which lasts {LEASE.total_seconds():g} s. Measured, in ms:"
        f" a sitting takes {1000 * costs.sitting:.1f} of the arbiter's processor and {1000 * costs.redis:.2f} of"
        f" Redis's, a renewal {1000 * costs.renewal:.2f} of the arbiter's"
    )
    table.caption_justify = "left"
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
