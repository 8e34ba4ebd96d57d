"""Show what the ladder finds of a known truth, and how long its fit takes.

A field of bots with known ratings plays at tables of random fours: points are 6.5 a hand less the lead over the table's
mean, plus the residuals of a recorded board of sample bots, seats shuffled. So moons and the rest of the luck are real.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from arbiter.rating import Rating, TableResult, ladder
from benchmarks.boards import HANDS, recorded_boards
from benchmarks.ladder_plot import Mark, draw

FIELD: Final = 40
SPREAD: Final = 1.2
"""Standard deviation of the true ratings, in points per hand: a field of near equals."""
TABLES: Final = (10, 40, 160, 640)
"""Boards of each bot."""
DRAWN: Final = 160
"""Boards of each bot in the picture."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What fits found, over all repetitions."""

    boards: int
    """Of each bot."""
    kendall: float
    """Mean of Kendall's tau between fitted and true order."""
    error: float
    """Root mean square distance from the truth, in points per hand."""
    covered: float
    """Share of the 95 % intervals that hold the truth."""
    covered_error: float
    """Its standard error over repetitions."""
    ranked: float | None
    """Share of the rank intervals that hold the true rank; None where no rating is settled."""


def residuals() -> list[list[float]]:
    """By recorded board: the points of its four bots less what they had on average in that company."""
    by_group: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for board in recorded_boards():
        by_group.setdefault(board.group, []).append(board.points)
    found = []
    for boards in by_group.values():
        means = [statistics.fmean(column) for column in zip(*boards, strict=True)]
        found += [[points - mean for points, mean in zip(board, means, strict=True)] for board in boards]
    return found


def field(chance: random.Random, size: int) -> dict[str, float]:
    """True ratings of a field, their mean zero."""
    drawn = [chance.gauss(0, SPREAD) for _ in range(size)]
    mean = statistics.fmean(drawn)
    return {f"bot{number:03}": rating - mean for number, rating in enumerate(drawn)}


def play(
    chance: random.Random, truth: Mapping[str, float], luck: Sequence[Sequence[float]], tables: int
) -> list[TableResult]:
    """Tables of random fours, each bot at equally many."""
    names = list(truth)
    found: list[TableResult] = []
    while len(found) < tables:
        chance.shuffle(names)
        for place in range(0, len(names), 4):
            four = tuple(names[place : place + 4])
            noise = chance.sample(chance.choice(luck), 4)
            points = tuple(round(HANDS * (6.5 - truth[name]) + n) for name, n in zip(four, noise, strict=True))
            found.append(TableResult(four, points, HANDS))
    return found[:tables]


def kendall(found: Mapping[str, Rating], truth: Mapping[str, float]) -> float:
    """Kendall's tau between fitted and true ratings."""
    from scipy.stats import kendalltau

    return float(kendalltau([found[name].value for name in truth], list(truth.values())).statistic)


def measure(boards: int, repetitions: int) -> Recovery:
    """Fit fields of :data:`FIELD` bots with so many boards each."""
    luck = residuals()
    orders, errors, shares = [], [], []
    ranked: list[bool] = []
    for repetition in range(repetitions):
        chance = random.Random(f"ladder/{boards}/{repetition}")
        truth = field(chance, FIELD)
        found = ladder({name: name for name in truth}, play(chance, truth, luck, boards * FIELD // 4))
        orders.append(kendall(found, truth))
        errors += [(found[name].value - rating) ** 2 for name, rating in truth.items()]
        held = [abs(found[name].value - rating) <= 1.96 * found[name].standard_error for name, rating in truth.items()]
        shares.append(statistics.fmean(held))
        settled = [(found[name].ranks, rating) for name, rating in truth.items() if found[name].ranks is not None]
        for ranks, rating in settled:
            assert ranks is not None
            ranked.append(ranks[0] <= 1 + sum(other > rating for _, other in settled) <= ranks[1])
    return Recovery(
        boards,
        statistics.fmean(orders),
        statistics.fmean(errors) ** 0.5,
        statistics.fmean(shares),
        statistics.stdev(shares) / len(shares) ** 0.5,
        statistics.fmean(ranked) if ranked else None,
    )


def timed(bots: int, tables: int) -> list[float]:
    """Seconds of five fits of the same results, everything from the results to the ratings."""
    chance = random.Random("ladder/time")
    truth = field(chance, bots)
    results = play(chance, truth, residuals(), tables)
    seconds = []
    for _ in range(5):
        chance.shuffle(results)
        started = time.perf_counter()
        ladder({name: name for name in truth}, results)
        seconds.append(time.perf_counter() - started)
    return seconds


def picture() -> str:
    """One field, every bot's rating with its interval beside the truth."""
    chance = random.Random("ladder/picture")
    truth = field(chance, FIELD)
    found = ladder({name: name for name in truth}, play(chance, truth, residuals(), DRAWN * FIELD // 4))
    marks = [
        Mark(found[name].value, 1.96 * found[name].standard_error, rating)
        for name, rating in sorted(truth.items(), key=lambda item: -item[1])
    ]
    return draw(marks, f"Ratings of {FIELD} bots after {DRAWN} boards each")


def main() -> int:
    """Measure and print; ``--svg`` draws, ``--json`` prints figures for programs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ladder", description="What the ladder finds.")
    parser.add_argument("--repetitions", type=int, default=100, help="fields for each number of boards (default 100)")
    parser.add_argument("--svg", type=Path, help="draw one field's ratings into this file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows = []
    for boards in TABLES:
        rows.append(measure(boards, options.repetitions))
        print(f"{boards} boards: done", file=sys.stderr)
    seconds = timed(200, 100_000)
    if options.svg:
        options.svg.write_text(picture(), "utf-8")
    if options.json:
        print(json.dumps({"recovery": [asdict(row) for row in rows], "seconds": seconds}, indent=2))
        return 0
    table = Table(title=f"{FIELD} bots, true ratings of deviation {SPREAD} points per hand", title_justify="left")
    for heading in ("boards of each", "Kendall's tau", "error, points per hand", "95 % intervals that hold", "ranks"):
        table.add_column(heading, justify="right")
    for row in rows:
        held = f"{row.covered:.1%} ± {row.covered_error:.1%}"
        ranks = "none" if row.ranked is None else f"{row.ranked:.1%}"
        table.add_row(str(row.boards), f"{row.kendall:.2f}", f"{row.error:.2f}", held, ranks)
    table.caption = (
        f"200 bots, 100,000 tables: median {statistics.median(seconds):.2f} s"
        f" ({min(seconds):.2f} to {max(seconds):.2f}), Python {platform.python_version()}"
    )
    table.caption_justify = "left"
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
