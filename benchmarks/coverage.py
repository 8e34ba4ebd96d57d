"""Count how often 95 % intervals hold the truth, over tournaments drawn from recorded boards of sample bots.

A simulated tournament is a round-robin of six bots at tables of four, 15 matches, or a single one of them. The boards
of each match are drawn with replacement from the recorded ones of its four bots, so that the truth is known: what all
recorded boards say. Estimates without an interval are not counted.
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

BOARDS: Final = (1, 2, 4, 8, 16, 32, 64)
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

    points: Mapping[int, float]
    places: Mapping[int, float]
    ranks: Mapping[int, int]
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
    played = [standing for standing in standings(len(NAMES), evidence) if standing.points and standing.place]
    pairs = crosstable(len(NAMES), evidence)
    return Truth(
        points={each.entrant: each.points.value for each in played if each.points},
        places={each.entrant: each.place.value for each in played if each.place},
        ranks={each.entrant: each.rank for each in played},
        leads={key: pairing.difference.value for key, pairing in pairs.items()},
    )


def draw(chance: random.Random, boards: Sequence[Sequence[BoardScore]], count: int) -> list[BoardScore]:
    """A tournament of this many boards a match."""
    return [
        BoardScore(score.match, number, score.entrants, score.hands, score.points)
        for of_match in boards
        for number, score in enumerate(chance.choices(of_match, k=count), 1)
    ]


def covered(evidence: Sequence[BoardScore], truth: Truth) -> list[float | None]:
    """By quantity: the share of a tournament's intervals that hold the truth; None where there are none."""
    hits: list[list[bool]] = [[] for _ in QUANTITIES]
    for standing in standings(len(NAMES), evidence):
        if standing.ranks is None:
            continue
        hits[0] += _holds(standing.points, truth.points[standing.entrant])
        hits[1] += _holds(standing.place, truth.places[standing.entrant])
        hits[3].append(standing.ranks[0] <= truth.ranks[standing.entrant] <= standing.ranks[1])
    for (one, other), pairing in crosstable(len(NAMES), evidence).items():
        if one < other:
            hits[2] += _holds(pairing.difference, truth.leads[one, other])
    return [statistics.fmean(of_quantity) if of_quantity else None for of_quantity in hits]


def play_chunk(boards: int, single: bool, chunk: int) -> list[list[float | None]]:
    """The shares of a chunk's tournaments, of all matches or of a single one each, every match in turn."""
    recorded = pool()
    fields = [[of_match] for of_match in recorded] if single else [recorded]
    truths = [truth_of(field) for field in fields]
    chance = random.Random(f"coverage/{boards}/{chunk}/single" if single else f"coverage/{boards}/{chunk}")
    found = []
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        turn = number % len(fields)
        found.append(covered(draw(chance, fields[turn], boards), truths[turn]))
    return found


def measure(boards: int, single: bool, tournaments: int, processes: int) -> dict[str, Share | None]:
    """Coverage by quantity over at least so many tournaments; None where hardly any has an interval."""
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as workers:
        tasks = [workers.submit(play_chunk, boards, single, chunk) for chunk in range(math.ceil(tournaments / CHUNK))]
        shares = [share for task in tasks for share in task.result()]
    return {
        quantity: share_of([share for share in of_quantity if share is not None])
        for quantity, of_quantity in zip(QUANTITIES, zip(*shares, strict=True), strict=True)
    }


def share_of(shares: Sequence[float]) -> Share | None:
    """The mean of tournaments' shares; None of fewer than two."""
    if len(shares) < 2:
        return None
    return Share(statistics.fmean(shares), statistics.stdev(shares) / math.sqrt(len(shares)))


def _holds(estimate: Estimate | None, truth: float) -> list[bool]:
    """Whether an interval holds the truth; nothing without one."""
    half = None if estimate is None else estimate.half_width
    return [] if estimate is None or half is None else [abs(estimate.value - truth) <= half]


def main() -> int:
    """Measure and print; ``--json`` prints figures for programs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description="Coverage of 95 % intervals.")
    parser.add_argument("--tournaments", type=int, default=10_000, help="for each number of boards (default 10000)")
    parser.add_argument(
        "--boards", type=int, nargs="*", default=BOARDS, help="boards per match (default 1 2 4 8 16 32 64)"
    )
    parser.add_argument("--processes", type=int, default=2, help="processes to compute in (default 2)")
    parser.add_argument("--single", action="store_true", help="tournaments of a single match")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {}
    for boards in options.boards:
        found[boards] = measure(boards, options.single, options.tournaments, options.processes)
        print(f"{boards} boards per match: done", file=sys.stderr)
    if options.json:
        figures = {
            boards: {name: share and [share.covered, share.standard_error] for name, share in shares.items()}
            for boards, shares in found.items()
        }
        print(json.dumps(figures, indent=2))
        return 0
    table = Table(title=f"Coverage of 95 % intervals, {options.tournaments:,} tournaments each", title_justify="left")
    for heading in ("boards per match", *QUANTITIES):
        table.add_column(heading, justify="right")
    for boards, shares in found.items():
        cells = [
            "no interval" if s is None else f"{s.covered:.2%} ± {s.standard_error:.2%} ({s.deviations:+.1f})"
            for s in shares.values()
        ]
        table.add_row(str(boards), *cells)
    table.caption = "± one standard error over tournaments; in brackets the distance from 95 % in standard errors"
    table.caption_justify = "left"
    Console(width=140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
