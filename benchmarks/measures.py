"""What is measured of the arbiter. Each function plays real hands."""

from __future__ import annotations

import asyncio
import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import Cage, Launch, load_manifest
from arbiter.deals import deal
from arbiter.engine import RULE_SETS, compile_rules, new_hand
from arbiter.links import BotHost, Ending, LocalLink, ProcessLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, play_sitting
from arbiter.sdk import Bot

SEED = bytes(range(32))
RULES = RULE_SETS["black_lady"]


def engine(hands: int) -> float:
    """Hands per second of the engine alone: random legal cards, no pass, deals made beforehand."""
    rules = compile_rules(RULES)
    deals = [deal(rules, SEED, board).hands for board in range(1, hands + 1)]
    draw = random.Random(1).random
    started = time.perf_counter()
    for dealt in deals:
        hand = new_hand(rules, dealt, dealer=0)
        while choices := hand.legal_indexes:
            hand.play(choices[int(draw() * len(choices))])
    return hands / (time.perf_counter() - started)


def in_process(bot: Callable[[], Bot], hands: int, open_tables: int) -> float:
    """Hands per second of a sitting of four bots in this process: the contract's messages without gRPC."""
    plan = bench_plan(hands, open_tables)
    links = [LocalLink(bot()) for _ in plan.bots]
    started = time.perf_counter()
    asyncio.run(play_sitting(plan, links))
    return hands / (time.perf_counter() - started)


@contextmanager
def pinned(cores: int | None) -> Iterator[None]:
    """Keep this process, all its threads, and what it starts meanwhile to so many cores; None for all that it has."""
    allowed = os.sched_getaffinity(0)
    _pin(sorted(allowed)[:cores])
    try:
        yield
    finally:
        _pin(allowed)


def _pin(cores: Iterable[int]) -> None:
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.sched_setaffinity(int(thread), cores)


@dataclass(frozen=True, slots=True)
class Played:
    """What a sitting of four bot processes took."""

    hands_per_second: float
    """From the first card to the last, in wall time."""
    start_and_end_seconds: float
    """Beside that."""
    arbiter_microseconds: float
    """CPU time of the arbiter's process for a hand, from the first card to the last."""
    bots_microseconds: float | None
    """The same of the four bots; None where no control group counts it."""
    start_cpu_seconds: float | None
    """CPU time of all five processes before the first card."""
    begun: float
    """When the first card was asked for, in seconds of the machine's monotonic clock."""
    ended: float
    """When the last one was there."""


def processes(cage: Cage, bots: Sequence[Path], hands: int, open_tables: int) -> Played:
    """A sitting of four bot processes over gRPC; ``bots`` are their folders."""

    async def play() -> Played:
        plan = bench_plan(hands, open_tables)
        with tempfile.TemporaryDirectory(prefix="arbiter-", dir="/tmp") as folder:  # short: sockets' paths are
            Path(folder).chmod(0o711)  # bots without a cage have to pass to their sockets
            host = BotHost(Path(folder))
            links: list[_Counted] = []
            cpu = time.process_time()
            for seated, bot in zip(plan.bots, bots, strict=True):
                connection = host.add(f"seat{seated.entrant}")
                launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
                links.append(_Counted(cage, launch, connection))
            async with host:
                started = time.perf_counter()
                record = await play_sitting(plan, links)
                whole = time.perf_counter() - started
        faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
        if faults:
            raise RuntimeError(f"a bot failed: {faults[0]}")
        begun, ended = min(link.arbiter_begun for link in links), min(link.arbiter_ended for link in links)
        used = [(link.begun, link.ended) for link in links if link.begun is not None and link.ended is not None]
        counted = len(used) == len(links)
        return Played(
            hands / record.play_seconds,
            whole - record.play_seconds,
            (ended - begun) / hands * 1e6,
            sum(last - first for first, last in used) / hands * 1e6 if counted else None,
            begun - cpu + sum(first for first, _ in used) if counted else None,
            min(link.asked for link in links),
            min(link.closed for link in links),
        )

    return asyncio.run(play())


def side_by_side(cages: Sequence[Cage], bots: Sequence[Path], hands: int, open_tables: int) -> list[Played]:
    """Such sittings at the same time, one for each cage, each in a process of its own as workers play them."""
    with ProcessPoolExecutor(len(cages), get_context("spawn")) as workers:
        return list(workers.map(processes, cages, repeat(bots), repeat(hands), repeat(open_tables)))


def hands_per_second_together(sittings: Sequence[Played], hands: int) -> float:
    """Of sittings of so many hands side by side, from the first card of any of them to the last one."""
    return len(sittings) * hands / (max(each.ended for each in sittings) - min(each.begun for each in sittings))


class _Counted(ProcessLink):
    """Looks at its bot's CPU time, and the arbiter's, before the first batch is sent and before the bot is ended."""

    begun: float | None = None
    ended: float | None = None
    arbiter_begun = math.inf
    arbiter_ended = math.inf
    asked = math.inf
    closed = math.inf

    async def send(self, batch: bot_pb2.SitResponse) -> None:
        if math.isinf(self.arbiter_begun):
            self.begun, self.arbiter_begun = self.cpu_seconds, time.process_time()
            self.asked = time.monotonic()
        await super().send(batch)

    async def close(self, grace: float) -> Ending:
        if math.isinf(self.arbiter_ended):
            self.ended, self.arbiter_ended = self.cpu_seconds, time.process_time()
            self.closed = time.monotonic()
        return await super().close(grace)


def bench_plan(hands: int, open_tables: int) -> SittingPlan:
    """A sitting of so many boards of one hand, under a clock that nobody feels."""
    return SittingPlan(
        sitting="bench/0/0",
        rules=RULES,
        format=MatchFormat.HANDS,
        boards=hands,
        deal_seed=SEED,
        seating=0,
        bots=tuple(
            SeatedBot(index, f"bot{index}", "", bytes([index]) * 16, Clock(bank=3600.0, hard_stop=600.0))
            for index in range(4)
        ),
        open_tables=open_tables,
    )
