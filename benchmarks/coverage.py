"""Count how often 95 % intervals hold the truth, over tournaments drawn from recorded boards of sample bots.

A simulated tournament is a round-robin of six bots at tables of four, 15 matches. The boards of each match are drawn
with replacement from the recorded ones of its four bots, so that the truth is known: what all recorded boards say.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table

from arbiter.rating import BoardScore, Estimate, crosstable, standings
from benchmarks.boards import BOTS, GROUPS, HANDS, recorded_boards

BOARDS: Final = (1, 2, 4, 8, 16, 32)
"""Boards in each match."""
CHUNK: Final = 100
"""Tournaments of one task."""
NAMES: Final = tuple(BOTS)
QUANTITIES: Final = ("points per hand", "mean place", "head to head", "rank")


@dataclass(frozen=True, slots=True)
class Share:
    """A share of intervals, the tournament being the unit of its standard error."""

    covered: float
    standard_error: float

    @property
    def deviations(self) -> float:
        """Distance from 95 % in standard errors."""
        return (self.covered - 0.95) / self.standard_error if self.standard_error else math.inf


@dataclass(frozen=True, slots=True)
class Truth:
    """What all recorded boards say, by bot."""

    points: Sequence[float]
    places: Sequence[float]
    ranks: Sequence[int]
    leads: Mapping[tuple[int, int], float]


def pool() -> list[list[BoardScore]]:
    """The recorded boards of each four bots, as evidence of a match."""
    found: dict[tuple[str, ...], list[BoardScore]] = defaultdict(list)
    for board in recorded_boards():
        boards = found[board.group]
        entrants = tuple(NAMES.index(name) for name in board.group)
        boards.append(BoardScore(GROUPS.index(board.group), len(boards) + 1, entrants, HANDS, board.points))
    return [found[group] for group in GROUPS]


def truth_of(boards: Sequence[Sequence[BoardScore]]) -> Truth:
    """The truth of tournaments drawn from these boards."""
    evidence = [score for of_match in boards for score in of_match]
    by_entrant = {standing.entrant: standing for standing in standings(len(NAMES), evidence)}
    pairs = crosstable(len(NAMES), evidence)
    return Truth(
        points=[_value(by_entrant[number].points) for number in range(len(NAMES))],
        places=[_value(by_entrant[number].place) for number in range(len(NAMES))],
        ranks=[by_entrant[number].rank for number in range(len(NAMES))],
        leads={key: pairing.difference.value for key, pairing in pairs.items()},
    )


def draw(chance: random.Random, boards: Sequence[Sequence[BoardScore]], count: int) -> list[BoardScore]:
    """A tournament of this many boards a match."""
    return [
        BoardScore(score.match, number, score.entrants, score.hands, score.points)
        for of_match in boards
        for number, score in enumerate(chance.choices(of_match, k=count), 1)
    ]


def covered(evidence: Sequence[BoardScore], truth: Truth) -> list[float]:
    """By quantity: the share of a tournament's intervals that hold the truth."""
    hits: list[list[bool]] = [[] for _ in QUANTITIES]
    for standing in standings(len(NAMES), evidence):
        if standing.ranks is None:
            raise ValueError(f"{NAMES[standing.entrant]} played no board")
        hits[0].append(_holds(standing.points, truth.points[standing.entrant]))
        hits[1].append(_holds(standing.place, truth.places[standing.entrant]))
        hits[3].append(standing.ranks[0] <= truth.ranks[standing.entrant] <= standing.ranks[1])
    for (one, other), pairing in crosstable(len(NAMES), evidence).items():
        if one < other:
            hits[2].append(_holds(pairing.difference, truth.leads[one, other]))
    return [statistics.fmean(of_quantity) for of_quantity in hits]


def play_chunk(boards: int, chunk: int) -> list[list[float]]:
    """The shares of a chunk's tournaments."""
    recorded = pool()
    truth = truth_of(recorded)
    chance = random.Random(f"coverage/{boards}/{chunk}")
    return [covered(draw(chance, recorded, boards), truth) for _ in range(CHUNK)]


def measure(boards: int, tournaments: int, processes: int) -> dict[str, Share]:
    """Coverage by quantity over at least so many tournaments."""
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as workers:
        tasks = [workers.submit(play_chunk, boards, chunk) for chunk in range(math.ceil(tournaments / CHUNK))]
        shares = [share for task in tasks for share in task.result()]
    found = {}
    for quantity, of_quantity in zip(QUANTITIES, zip(*shares, strict=True), strict=True):
        error = statistics.stdev(of_quantity) / math.sqrt(len(of_quantity))
        found[quantity] = Share(statistics.fmean(of_quantity), error)
    return found


def _value(estimate: Estimate | None) -> float:
    if estimate is None:
        raise ValueError("a bot without a board has no truth")
    return estimate.value


def _holds(estimate: Estimate | None, truth: float) -> bool:
    half = None if estimate is None else estimate.half_width
    return half is not None and abs(_value(estimate) - truth) <= half


def main() -> int:
    """Measure and print; ``--json`` prints figures for programs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description="Coverage of 95 % intervals.")
    parser.add_argument("--tournaments", type=int, default=10_000, help="for each number of boards (default 10000)")
    parser.add_argument(
        "--boards", type=int, nargs="*", default=BOARDS, help="boards per match (default 1 2 4 8 16 32)"
    )
    parser.add_argument("--processes", type=int, default=2, help="processes to compute in (default 2)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {}
    for boards in options.boards:
        found[boards] = measure(boards, options.tournaments, options.processes)
        print(f"{boards} boards per match: done", file=sys.stderr)
    if options.json:
        figures = {
            boards: {quantity: [share.covered, share.standard_error] for quantity, share in shares.items()}
            for boards, shares in found.items()
        }
        print(json.dumps(figures, indent=2))
        return 0
    table = Table(title=f"Coverage of 95 % intervals, {options.tournaments:,} tournaments each", title_justify="left")
    for heading in ("boards per match", *QUANTITIES):
        table.add_column(heading, justify="right")
    for boards, shares in found.items():
        cells = [f"{s.covered:.2%} ± {s.standard_error:.2%} ({s.deviations:+.1f})" for s in shares.values()]
        table.add_row(str(boards), *cells)
    table.caption = "± one standard error over tournaments; in brackets the distance from 95 % in standard errors"
    table.caption_justify = "left"
    Console(width=140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
