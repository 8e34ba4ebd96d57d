"""Measure what duplicate boards save: the variance of the difference between two bots of nearly equal strength.

The same four bots play the same number of hands in three ways: every hand from a deal of its own, boards in the
rotations of one cyclic order, boards in all arrangements. The unit is the board with all its seatings: d is the mean
over them of one bot's points less the other's, k the number of seatings, and k Var(d) the variance per hand played.
A 95 % interval of half-width w takes k Var(d) (1.96 / w)^2 hands.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from arbiter.deals import Seatings, SeatingsKind, derive_bot_seed, derive_deal_seed
from arbiter.engine import RULE_SETS
from arbiter.links import LocalLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, play_sitting
from arbiter.sdk import Bot, Card
from benchmarks.duplicate_plot import draw
from sample_bots.batch.bot import Batch
from sample_bots.careful.bot import Careful
from sample_bots.lowest.bot import Lowest
from sample_bots.moonshooter.bot import Moonshooter
from sample_bots.uniform.bot import Uniform

RULES: Final = RULE_SETS["black_lady"]
SEED: Final = b"what duplicate boards are worth"
NORMAL_95: Final = statistics.NormalDist().inv_cdf(0.975)
HALF_WIDTH: Final = 0.5
"""Points per hand on either side of the difference that a verdict is to know it to."""
CHUNK_HANDS: Final = 480
"""Hands of one task; the boards of a task are its deal set."""
CLOCK: Final = Clock(bank=1e6, hard_stop=1e6)
"""Time is not what is measured."""
WAYS: Final = {
    "independent deals": Seatings(SeatingsKind.RANDOM, 1),
    "4 rotations": Seatings(SeatingsKind.ROTATIONS),
    "all 24 seatings": Seatings(SeatingsKind.ALL),
}


class Wary(Careful):
    """Careful with one constant changed: it gives 1.15 times the weight to being rid of a card."""

    def danger(self, card: Card, hand: int, unseen: int) -> float:
        """See :meth:`Careful.danger`."""
        return 1.15 * super().danger(card, hand, unseen)


FIELDS: Final[dict[str, tuple[type[Bot], ...]]] = {
    "careful and a near copy, with batch and moonshooter": (Careful, Wary, Batch, Moonshooter),
    "careful and a near copy, with lowest and uniform": (Careful, Wary, Lowest, Uniform),
    "careful and batch, with lowest and moonshooter": (Careful, Batch, Lowest, Moonshooter),
}
"""The two bots compared and the other two.

Two equal ones would make half of the 24 seatings the same game twice.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one way of playing gave."""

    seatings: int
    boards: int
    difference: float
    """Points per hand of the first bot less the second's."""
    standard_error: float
    variance: float
    """Per hand played, in points squared."""
    variance_error: float
    """Its standard error."""

    @property
    def hands(self) -> float:
        """Hands for a 95 % interval of :data:`HALF_WIDTH` on either side."""
        return self.variance * (NORMAL_95 / HALF_WIDTH) ** 2

    @property
    def hands_error(self) -> float:
        """Half-width of the 95 % interval of :attr:`hands`."""
        return NORMAL_95 * self.variance_error * (NORMAL_95 / HALF_WIDTH) ** 2


def estimate(seatings: int, differences: Sequence[float]) -> Estimate:
    """The variance per hand from the boards' mean differences.

    The variance's own standard error is that of a sample variance of any distribution,
    Var(s^2) = (m4 - s^4 (n - 3) / (n - 1)) / n (Mood, Graybill and Boes, *Introduction to the Theory of Statistics*,
    3rd ed., VI.2.3).
    """
    count = len(differences)
    mean = statistics.fmean(differences)
    variance = statistics.variance(differences, mean)
    fourth = statistics.fmean((difference - mean) ** 4 for difference in differences)
    error = math.sqrt((fourth - variance**2 * (count - 3) / (count - 1)) / count)
    return Estimate(seatings, count, mean, math.sqrt(variance / count), seatings * variance, seatings * error)


def play_chunk(field: str, way: str, chunk: int, boards: int) -> list[float]:
    """By board of a deal set of its own: mean over the seatings of the first bot's points less the second's."""
    seatings = WAYS[way]
    bots = FIELDS[field]
    deal_set = list(WAYS).index(way) << 32 | chunk  # no two ways share a deal
    sums: dict[int, float] = defaultdict(float)
    for number in range(seatings.sittings(RULES)):
        plan = SittingPlan(
            sitting=f"duplicate/{deal_set}/{number}",
            rules=RULES,
            format=MatchFormat.HANDS,
            boards=boards,
            deal_seed=derive_deal_seed(SEED, deal_set),
            seating=number,
            bots=tuple(
                SeatedBot(place, f"bot{place}", "", derive_bot_seed(SEED, deal_set, number, place), CLOCK)
                for place in range(4)
            ),
            seatings=seatings,
        )
        record = asyncio.run(play_sitting(plan, [LocalLink(bot()) for bot in bots]))
        if record.faults or any(hand.faults for hand in record.hands):
            raise RuntimeError(f"a bot failed in {plan.sitting}")
        for hand in record.hands:
            sums[hand.board] += hand.points[hand.places.index(0)] - hand.points[hand.places.index(1)]
    return [sums[board] / seatings.sittings(RULES) for board in range(1, boards + 1)]


def measure(field: str, hands: int, processes: int) -> dict[str, Estimate]:
    """At least ``hands`` hands in each way, in boards that are played to their last seating."""
    estimates = {}
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as pool:
        for way, seatings in WAYS.items():
            started = time.perf_counter()
            sittings = seatings.sittings(RULES)
            boards = CHUNK_HANDS // sittings
            chunks = math.ceil(hands / CHUNK_HANDS)
            tasks = [pool.submit(play_chunk, field, way, chunk, boards) for chunk in range(chunks)]
            estimates[way] = estimate(sittings, [value for task in tasks for value in task.result()])
            seconds = time.perf_counter() - started
            print(f"{field}, {way}: {chunks * CHUNK_HANDS} hands in {seconds:.0f} s", file=sys.stderr)
    return estimates


def main() -> int:
    """Measure and print; ``--svg`` draws, ``--json`` prints figures for programs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duplicate", description="Value of duplicate boards.")
    parser.add_argument("--hands", type=int, default=24_000, help="hands in each way, at the least (default 24000)")
    parser.add_argument("--processes", type=int, default=2, help="processes to play in (default 2)")
    parser.add_argument("--svg", type=Path, help="draw the hands that a verdict takes into this file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    results = {field: measure(field, options.hands, options.processes) for field in FIELDS}
    if options.svg:
        bars = {field: [(way, e.hands, e.hands_error) for way, e in ways.items()] for field, ways in results.items()}
        options.svg.write_text(draw(bars, f"Hands for a 95 % verdict of ±{HALF_WIDTH:g} points a hand"))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        figures = {field: {way: asdict(e) for way, e in ways.items()} for field, ways in results.items()}
        print(json.dumps({"machine": machine, "fields": figures}, indent=2))
        return 0
    table = Table(title=f"The first bot's points less the second's ({machine})", title_justify="left")
    for heading in (
        "bots",
        "",
        "boards",
        "hands",
        "difference",
        "variance per hand",
        f"hands for ±{HALF_WIDTH:g}",
        f"boards for ±{HALF_WIDTH:g}",
    ):
        table.add_column(heading, justify="left" if heading in ("bots", "") else "right")
    for field, ways in results.items():
        for way, e in ways.items():
            table.add_row(
                field,
                way,
                f"{e.boards:,}",
                f"{e.boards * e.seatings:,}",
                f"{e.difference:+.2f} ± {e.standard_error:.2f}",
                f"{e.variance:.1f} ± {e.variance_error:.1f}",
                f"{e.hands:,.0f} ± {e.hands_error:,.0f}",
                f"{e.hands / e.seatings:,.0f}",
            )
    table.caption = "difference and variance with their standard errors, hands with a 95 % interval"
    table.caption_justify = "left"
    Console(width=140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
