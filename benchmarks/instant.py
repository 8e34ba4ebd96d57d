"""Count the time losses of bots that answer at once, under a tight clock, on a machine that is busy with other work.

As many sittings as there are cores are played at once, each of four caged processes, while one process per core does
nothing but compute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import Launch, LoadMeter, choose_cage, load_manifest, take_snapshot
from arbiter.deals import derive_bot_seed, derive_deal_seed
from arbiter.engine import RULE_SETS, PassDirection
from arbiter.links import BotHost, FaultCode, ProcessLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, Starved, play_sitting

BOT: Final = Path(__file__).resolve().parent.parent / "sample_bots" / "uniform"
RULES: Final = RULE_SETS["black_lady"]
SEED: Final = b"bots that answer at once"
CLOCK: Final = Clock(bank=2.0, increment=0.001, hard_stop=2.0)
"""A thirtieth of the default's bank and a hundredth of its increment."""
BUSY: Final = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"


@dataclass(frozen=True, slots=True)
class Count:
    """What came of one sitting, or of several together."""

    decisions: int
    """Passes and cards that a bot decided."""
    time_losses: int
    other_faults: int
    voids: int
    """Sittings voided for starvation."""
    share_used: float
    """Of the time that a bot was given in a sitting, the share that it used; the greatest of all bots."""


class _Watched(ProcessLink):
    """Counts a bot's answers and reads its clock, as it is told what that holds."""

    answers = 0
    left = math.inf

    async def send(self, batch: bot_pb2.SitResponse) -> None:
        self.left = batch.time_left.ToNanoseconds() / 1e9
        await super().send(batch)

    async def receive(self) -> bot_pb2.SitRequest:
        message = await super().receive()
        self.answers += len(message.passes.request_id) + len(message.plays.request_id)
        return message

    def share_used(self, clock: Clock) -> float:
        """Of all the time that the bot was given, the share that it used up to the last batch."""
        given = clock.bank + clock.increment * self.answers
        return 1 - self.left / given if given else 1.0


def play(numbers: Sequence[int], boards: int, clock: Clock, watched: bool = True) -> list[Count]:
    """Sittings of this many boards one after the other, all boards of a sitting open at once.

    ``numbers`` tell the sittings' deals apart. Unless the machine is ``watched``, no lost time is given back. As in a
    worker, one event loop serves all sittings of a process.
    """

    async def one_by_one() -> list[Count]:
        return [await _play(number, boards, clock, watched) for number in numbers]

    return asyncio.run(one_by_one())


async def _play(number: int, boards: int, clock: Clock, watched: bool) -> Count:
    plan = SittingPlan(
        sitting=f"instant/{number}/0",
        rules=RULES,
        format=MatchFormat.HANDS,
        boards=boards,
        deal_seed=derive_deal_seed(SEED, number),
        seating=0,
        bots=tuple(
            SeatedBot(place, f"bot{place}", "", derive_bot_seed(SEED, number, 0, place), clock) for place in range(4)
        ),
        open_tables=boards,
    )
    with tempfile.TemporaryDirectory(prefix="arbiter-", dir="/tmp") as folder:  # short: a socket's path has a limit
        Path(folder).chmod(0o755)
        bot = take_snapshot(BOT, Path(folder, "bots")).path
        sockets = Path(folder, "sockets")
        sockets.mkdir(mode=0o755)
        host = BotHost(sockets)
        cage = choose_cage(False)
        links = []
        for seated in plan.bots:
            connection = host.add(f"seat{seated.entrant}")
            launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
            links.append(_Watched(cage, launch, connection))
        async with host:
            try:
                record = await play_sitting(plan, links, read_load=LoadMeter().read if watched else None)
            except Starved:
                return Count(0, 0, 0, 1, max(link.share_used(clock) for link in links))
    codes = [fault.code for hand in record.hands for fault in hand.faults] + [fault.code for fault in record.faults]
    decisions = sum(
        len(hand.passed or ()) + sum(len(trick.cards) for trick in hand.tricks)
        for hand in record.hands
        if not hand.stand_ins
    )
    losses = codes.count(FaultCode.TIMEOUT)
    return Count(decisions, losses, len(codes) - losses, 0, max(link.share_used(clock) for link in links))


@contextmanager
def busy_cores(seconds: float) -> Iterator[list[subprocess.Popen[bytes]]]:
    """One process per core that only computes, until the block is left or, whatever happens, ``seconds`` are over.

    Raises:
        RuntimeError: on leaving the block, when they had ended before.
    """
    cores = os.cpu_count() or 1
    processes = [subprocess.Popen([sys.executable, "-c", BUSY, str(seconds)]) for _ in range(cores)]
    try:
        yield processes
        over = [process for process in processes if process.poll() is not None]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if over:
        raise RuntimeError(f"{len(over)} of the {cores} busy processes ended before the sittings did")


def measure(decisions: int, boards: int, clock: Clock = CLOCK, *, seconds: float = 1800.0) -> Count:
    """At least this many decisions, in sittings of ``boards`` boards, as many at once as there are cores.

    Raises:
        RuntimeError: it took longer than ``seconds``, so that the cores were not busy to the end.
    """
    passes = sum(direction is not PassDirection.NONE for direction in RULES.pass_cycle) / len(RULES.pass_cycle)
    sittings = math.ceil(decisions / (RULES.players * boards * (13 + passes)))
    cores = os.cpu_count() or 1
    spawn = multiprocessing.get_context("spawn")
    with busy_cores(seconds), ProcessPoolExecutor(cores, spawn) as pool:
        tasks = [pool.submit(play, range(core, sittings, cores), boards, clock) for core in range(cores)]
        counts = [count for task in tasks for count in task.result()]
    return Count(
        sum(count.decisions for count in counts),
        sum(count.time_losses for count in counts),
        sum(count.other_faults for count in counts),
        sum(count.voids for count in counts),
        max(count.share_used for count in counts),
    )


def main() -> int:
    """Play and print; exit status 1 when a bot lost on time or failed otherwise, or a sitting was void."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instant", description="Time losses of instant bots.")
    parser.add_argument("--decisions", type=int, default=100_000, help="at the least (default 100000)")
    parser.add_argument("--boards", type=int, default=64, help="boards per sitting, all open at once (default 64)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    started = time.perf_counter()
    count = measure(options.decisions, options.boards)
    figures = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "bank_seconds": CLOCK.bank,
        "increment_seconds": CLOCK.increment,
        "hard_stop_seconds": CLOCK.hard_stop,
        "decisions": count.decisions,
        "time_losses": count.time_losses,
        "other_faults": count.other_faults,
        "voids": count.voids,
        "greatest_share_of_time_used": round(count.share_used, 3),
        "wall_seconds": round(time.perf_counter() - started, 1),
    }
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, figure in figures.items():
            print(f"{name.replace('_', ' ')}: {figure}")
    return 1 if count.time_losses or count.other_faults or count.voids else 0


if __name__ == "__main__":
    sys.exit(main())
