"""What is measured of the arbiter. Each function plays real hands."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Played:
    """What a sitting of four bot processes took."""

    hands_per_second: float
    """From the first card to the last, in wall time."""
    start_and_end_seconds: float
    """Beside that."""
    arbiter_microseconds: float
    """CPU time of the arbiter's process for a hand, start and end of bots included."""
    bots_microseconds: float | None
    """CPU time of the four bots for a hand, their start included; None where no control group counts it."""


def processes(cage: Cage, bots: Sequence[Path], hands: int, open_tables: int) -> Played:
    """A sitting of four bot processes over gRPC; ``bots`` are their folders."""

    async def play() -> Played:
        plan = bench_plan(hands, open_tables)
        with tempfile.TemporaryDirectory(prefix="arbiter-", dir="/tmp") as folder:  # short: sockets' paths are
            Path(folder).chmod(0o711)  # bots without a cage have to pass to their sockets
            host = BotHost(Path(folder))
            links: list[_Counted] = []
            for seated, bot in zip(plan.bots, bots, strict=True):
                connection = host.add(f"seat{seated.entrant}")
                launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
                links.append(_Counted(cage, launch, connection))
            async with host:
                started, cpu = time.perf_counter(), time.process_time()
                record = await play_sitting(plan, links)
                whole, cpu = time.perf_counter() - started, time.process_time() - cpu
        faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
        if faults:
            raise RuntimeError(f"a bot failed: {faults[0]}")
        used = [link.used for link in links if link.used is not None]
        return Played(
            hands / record.play_seconds,
            whole - record.play_seconds,
            cpu / hands * 1e6,
            sum(used) / hands * 1e6 if len(used) == len(links) else None,
        )

    return asyncio.run(play())


class _Counted(ProcessLink):
    """Looks at its bot's CPU time before the bot is ended."""

    used: float | None = None

    async def close(self, grace: float) -> Ending:
        self.used = self.cpu_seconds if self.used is None else self.used
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
