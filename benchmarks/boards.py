"""Record what sample bots make of boards, for simulations that draw from real results.

Every four of six sample bots play boards in four rotations. The file has a line for each board: the four bots, then the
points of each, summed over the four hands that it played.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final

from arbiter.deals import Seatings, SeatingsKind, derive_bot_seed, derive_deal_seed
from arbiter.engine import RULE_SETS
from arbiter.links import LocalLink
from arbiter.match import MatchFormat, SeatedBot, SittingPlan, play_sitting
from arbiter.sdk import Bot
from benchmarks.duplicate import CLOCK, Wary
from sample_bots.batch.bot import Batch
from sample_bots.careful.bot import Careful
from sample_bots.lowest.bot import Lowest
from sample_bots.moonshooter.bot import Moonshooter
from sample_bots.uniform.bot import Uniform

FILE: Final = Path(__file__).parent / "data" / "boards.csv"
RULES: Final = RULE_SETS["black_lady"]
SEATINGS: Final = Seatings(SeatingsKind.ROTATIONS)
HANDS: Final = SEATINGS.sittings(RULES)
"""Hands of each bot on a board."""
SEED: Final = b"boards for simulations of ratings"
BOTS: Final[dict[str, type[Bot]]] = {
    "careful": Careful,
    "wary": Wary,
    "batch": Batch,
    "moonshooter": Moonshooter,
    "lowest": Lowest,
    "uniform": Uniform,
}
GROUPS: Final = tuple(combinations(BOTS, RULES.players))


@dataclass(frozen=True, slots=True)
class Board:
    """One line of the file."""

    group: tuple[str, ...]
    points: tuple[int, ...]
    """Those of ``group``, over :data:`HANDS` hands each."""


def recorded_boards() -> list[Board]:
    """What the file holds."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    half = RULES.players
    return [Board(tuple(row[:half]), tuple(int(points) for points in row[half:])) for row in rows]


def play_group(number: int, boards: int) -> list[Board]:
    """Play boards of a deal set of its own between the bots of a group."""
    group = GROUPS[number]
    points: dict[int, list[int]] = defaultdict(lambda: [0] * len(group))
    for sitting in range(HANDS):
        plan = SittingPlan(
            sitting=f"boards/{number}/{sitting}",
            rules=RULES,
            format=MatchFormat.HANDS,
            boards=boards,
            deal_seed=derive_deal_seed(SEED, number),
            seating=sitting,
            bots=tuple(
                SeatedBot(place, name, "", derive_bot_seed(SEED, number, sitting, place), CLOCK)
                for place, name in enumerate(group)
            ),
            seatings=SEATINGS,
        )
        record = asyncio.run(play_sitting(plan, [LocalLink(BOTS[name]()) for name in group]))
        if record.faults or any(hand.faults for hand in record.hands):
            raise RuntimeError(f"a bot failed in {plan.sitting}")
        for hand in record.hands:
            for seat, place in enumerate(hand.places):
                points[hand.board][place] += hand.points[seat]
    return [Board(group, tuple(points[board])) for board in sorted(points)]


def write(boards: Sequence[Board]) -> None:
    """Write the file."""
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerows((*board.group, *board.points) for board in boards)


def main() -> int:
    """Play and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boards", description="Record boards of sample bots.")
    parser.add_argument("--boards", type=int, default=300, help="boards for each four bots (default 300)")
    parser.add_argument("--processes", type=int, default=2, help="processes to play in (default 2)")
    options = parser.parse_args()
    played: list[Board] = []
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as pool:
        tasks = [pool.submit(play_group, number, options.boards) for number in range(len(GROUPS))]
        for number, task in enumerate(tasks, 1):
            played += task.result()
            print(f"group {number} of {len(GROUPS)}", file=sys.stderr)
    write(played)
    return 0


if __name__ == "__main__":
    sys.exit(main())
