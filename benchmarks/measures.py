"""What is measured. Each function plays real hands and returns hands per second."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path

from arbiter.cage import Cage, Launch, load_manifest
from arbiter.deals import deal
from arbiter.engine import RULE_SETS, compile_rules, new_hand
from arbiter.links import BotHost, Link, LocalLink, ProcessLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, StandInBot, play_sitting

SEED = bytes(range(32))
RULES = RULE_SETS["black_lady"]


def engine(hands: int) -> float:
    """The engine alone: random legal cards, no pass, deals made beforehand."""
    rules = compile_rules(RULES)
    deals = [deal(rules, SEED, board).hands for board in range(1, hands + 1)]
    draw = random.Random(1).random
    started = time.perf_counter()
    for dealt in deals:
        hand = new_hand(rules, dealt, dealer=0)
        while choices := hand.legal_indexes:
            hand.play(choices[int(draw() * len(choices))])
    return hands / (time.perf_counter() - started)


def in_process(hands: int, open_tables: int) -> float:
    """A sitting of four bots in this process, through the contract's messages but without gRPC."""
    plan = _plan(hands, open_tables)
    return _timed(plan, [LocalLink(StandInBot()) for _ in plan.bots])


def processes(cage: Cage, bot: Path, hands: int, open_tables: int) -> tuple[float, float]:
    """A sitting of four bot processes over gRPC.

    Returns:
        Hands per second from the first card to the last, and the seconds that starting and ending the bots took.
    """

    async def play() -> tuple[float, float]:
        plan = _plan(hands, open_tables)
        with tempfile.TemporaryDirectory(prefix="arbiter-") as folder:
            Path(folder).chmod(0o711)  # bots without a cage have to pass to their sockets
            host = BotHost(Path(folder))
            links: list[Link] = []
            for seated in plan.bots:
                connection = host.add(f"seat{seated.entrant}")
                launch = Launch(bot, load_manifest(bot), connection.socket, {"ARBITER_TOKEN": connection.token})
                links.append(ProcessLink(cage, launch, connection))
            async with host:
                started = time.perf_counter()
                record = await play_sitting(plan, links)
                whole = time.perf_counter() - started
        if record.faults:
            raise RuntimeError(f"a bot failed: {record.faults[0]}")
        return hands / record.play_seconds, whole - record.play_seconds

    return asyncio.run(play())


def _plan(hands: int, open_tables: int) -> SittingPlan:
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


def _timed(plan: SittingPlan, links: list[LocalLink]) -> float:
    started = time.perf_counter()
    asyncio.run(play_sitting(plan, links))
    return plan.boards / (time.perf_counter() - started)
