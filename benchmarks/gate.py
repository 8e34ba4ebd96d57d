"""Simulate gates drawn from real boards: error rates, boards needed, and what pairing and other devices save.

Candidates and the baseline play the same boards against the same opponents; a simulated gate draws blocks from their
differences with replacement, moved so that the true improvement is known, and judges them with the gate's own tests.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, fmean, quantiles, stdev, variance
from typing import Final

from rich.console import Console
from rich.table import Table

from arbiter.cli.gate import BLOCK_BOARDS, MAX_BOARDS
from arbiter.deals import Seatings, SeatingsKind
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit, hand_range
from arbiter.verdict import Answer, Betting, Hypotheses, decide, estimate
from benchmarks.gate_boards import CANDIDATES, CHUNK, RULES, SEED, Paired, play
from benchmarks.gate_variates import gains
from benchmarks.line_plot import Axis, Line, draw_lines

HYPOTHESES: Final = Hypotheses(0.0, 0.5)
TESTS: Final = {
    "likelihood ratio": (Form.SPRT, Unit.BOARD),
    "betting": (Form.BETTING, Unit.BOARD),
    "likelihood ratio, unit block": (Form.SPRT, Unit.BLOCK),
}
CURVE: Final = [step / 8 for step in range(-4, 13)]
"""True improvements of the pictures, in points per hand."""
PICTURED: Final = "a near copy"
GATES_PER_TASK: Final = 250
HALF_WIDTH: Final = 0.5
NORMAL_95: Final = NormalDist().inv_cdf(0.975)
LOOKS: Final = (96, 240, 480, 1200)
"""Boards at which intervals are compared."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What became of simulated gates.

    Attributes:
        passed: share that passed.
        failed: share that failed.
        boards: boards that each took.
    """

    passed: float
    failed: float
    boards: list[int]


def simulate_chunk(values: Sequence[float], test: str, seed: str, gates: int) -> list[tuple[Answer | None, int]]:
    """The answer of each gate and the boards that it took."""
    form, unit = TESTS[test]
    draw = random.Random(seed)
    blocks = MAX_BOARDS // BLOCK_BOARDS
    new = GateTerms(Mode.SUPERIORITY, form, unit, HYPOTHESES, 1).new_test(RULES, BLOCK_BOARDS)
    found: list[tuple[Answer | None, int]] = []
    for _ in range(gates):
        drawn = (draw.choices(values, k=BLOCK_BOARDS) for _ in range(blocks))
        ended = decide(new, drawn if unit is Unit.BOARD else ([fmean(block)] for block in drawn))
        found.append((ended.answer, ended.blocks * BLOCK_BOARDS))
    return found


def simulate(pool: ProcessPoolExecutor, values: Sequence[float], test: str, delta: float, gates: int) -> Gates:
    """Gates with the true improvement ``delta``, or as the values are where they never differ."""
    shift = delta - fmean(values) if len(set(values)) > 1 else 0.0
    moved = [value + shift for value in values]
    tasks = [
        pool.submit(simulate_chunk, moved, test, f"{SEED!r} {test} {delta} {number}", GATES_PER_TASK)
        for number in range(math.ceil(gates / GATES_PER_TASK))
    ]
    found = [each for task in tasks for each in task.result()]
    share = 1 / len(found)
    return Gates(
        passed=share * sum(answer is Answer.DELTA1 for answer, _ in found),
        failed=share * sum(answer is Answer.DELTA0 for answer, _ in found),
        boards=[boards for _, boards in found],
    )


def fixed_size(per_board: float) -> float:
    """Boards of a test of fixed size with the same error rates: ((z_alpha + z_beta) / (delta1 - delta0))^2 Var."""
    quantile = NormalDist().inv_cdf(1 - HYPOTHESES.alpha) + NormalDist().inv_cdf(1 - HYPOTHESES.beta)
    return (quantile / (HYPOTHESES.delta1 - HYPOTHESES.delta0)) ** 2 * per_board


def unpaired_variance(paired: Paired) -> float:
    """Variance of a board's improvement if the two bots had played different boards."""
    return sum(variance([fmean(board) for board in bot]) for bot in (paired.candidate, paired.baseline))


def rare_disaster() -> list[float]:
    """Differences made up to mislead: a little better on 98 of 100 boards, as bad as can be on the other two."""
    draw, bound = random.Random(1), hand_range(RULES)
    return [-bound if number % 50 == 0 else 0.5 + draw.uniform(-0.25, 0.25) for number in range(1000)]


def hands_table(played: dict[str, Paired], arrangements: Paired) -> Table:
    """Hands for a 95 % interval of the improvement, unpaired and paired."""
    table = Table(title=f"Hands of both bots together for ±{HALF_WIDTH:g} points a hand at 95 %", title_justify="left")
    for heading in ("candidate", "improvement", "sd of a board", "boards alike", "unpaired deals", "unpaired boards"):
        table.add_column(heading, justify="left" if heading == "candidate" else "right")
    for heading in ("paired, 1 seating", "paired, 4 rotations", "paired, 24 seatings"):
        table.add_column(heading, justify="right")
    size = (NORMAL_95 / HALF_WIDTH) ** 2
    for name, paired in played.items():
        differences = paired.improvements
        each = [points for board in (*paired.candidate, *paired.baseline) for points in board]
        single = [
            old[seating] - new[seating]
            for seating in range(4)
            for new, old in zip(paired.candidate[seating::4], paired.baseline[seating::4], strict=True)
        ]
        error = stdev(differences) / math.sqrt(len(differences))
        every = f"{size * 48 * variance(arrangements.improvements):,.0f}" if name == PICTURED else ""
        table.add_row(
            name,
            f"{fmean(differences):+.2f} ± {error:.2f}",
            f"{stdev(differences):.2f}",
            f"{sum(value == 0 for value in differences) / len(differences):.0%}",
            f"{size * 2 * 2 * variance(each):,.0f}",
            f"{size * 8 * unpaired_variance(paired):,.0f}",
            f"{size * 2 * variance(single):,.0f}",
            f"{size * 8 * variance(differences):,.0f}",
            every,
        )
    table.caption = "improvement over careful ± standard error, in points per hand"
    return table


def gates_table(
    pool: ProcessPoolExecutor, pools: Mapping[str, list[float]], unpaired: Mapping[str, float], gates: int
) -> Table:
    """Error rates and boards of simulated gates; ``unpaired`` are variances, where there are any."""
    title = f"{gates:,} gates each: delta0 0, delta1 0.5, alpha and beta 5 %, blocks of {BLOCK_BOARDS} boards"
    table = Table(title=f"{title}, at most {MAX_BOARDS:,}", title_justify="left")
    for heading in ("candidate", "test"):
        table.add_column(heading)
    for heading in ("pass at 0", "fail at 0.5", "no verdict", "boards at 0", "at 0.5", "at 1", "90 % at 0.5"):
        table.add_column(heading, justify="right")
    for heading in ("fixed size", "unpaired"):
        table.add_column(heading, justify="right")
    for name, values in pools.items():
        for test in TESTS:
            null = simulate(pool, values, test, 0.0, gates)
            at_null = [_rate(null.passed, gates), "", f"{1 - null.passed - null.failed:.1%}", _mean(null)]
            if len(set(values)) == 1:  # no other improvement can be had from them
                table.add_row(name, test, *at_null)
                continue
            half, whole = (simulate(pool, values, test, delta, gates) for delta in (0.5, 1.0))
            none = max(1 - each.passed - each.failed for each in (null, half, whole))
            table.add_row(
                name,
                test,
                at_null[0],
                _rate(half.failed, gates),
                f"{none:.1%}",
                at_null[3],
                _mean(half),
                _mean(whole),
                f"{quantiles(half.boards, n=10)[-1]:.0f}",
                f"{fixed_size(variance(values)):.0f}",
                f"{fixed_size(unpaired[name]):.0f}" if name in unpaired else "",
            )
            print(f"{name}, {test}: done", file=sys.stderr)
    return table


def intervals_table(values: Sequence[float]) -> Table:
    """Half-widths of 95 % intervals."""
    table = Table(title=f"Half-width of 95 % intervals in points per hand: {PICTURED}", title_justify="left")
    for heading in ("boards", "fixed size", "confidence sequence by betting", "asymptotic confidence sequence"):
        table.add_column(heading, justify="right")
    draw = random.Random(2)
    for boards in LOOKS:
        widths = []
        for _ in range(50):
            drawn = [draw.choices(values, k=BLOCK_BOARDS) for _ in range(boards // BLOCK_BOARDS)]
            flat = [value for block in drawn for value in block]
            new = GateTerms(Mode.SUPERIORITY, Form.BETTING, Unit.BOARD, HYPOTHESES, 1).new_test(RULES, BLOCK_BOARDS)
            assert isinstance(new, Betting)
            for block in drawn:
                new = new.after(block)
            low, high = new.interval()
            plain = estimate(flat).interval
            assert plain is not None
            widths.append(((plain[1] - plain[0]) / 2, (high - low) / 2, asymptotic(flat)))
        table.add_row(f"{boards:,}", *(f"{fmean(column):.2f}" for column in zip(*widths, strict=True)))
    return table


def coverage_chunk(values: Sequence[float], delta: float, seed: str, gates: int) -> list[tuple[float, bool, bool]]:
    """Of gates that are stopped by the likelihood ratio: the estimate, and whether either interval holds ``delta``."""
    draw = random.Random(seed)
    found = []
    for _ in range(gates):
        test, betting = (
            GateTerms(Mode.SUPERIORITY, form, Unit.BOARD, HYPOTHESES, 1).new_test(RULES, BLOCK_BOARDS) for form in Form
        )
        assert isinstance(betting, Betting)
        seen: list[float] = []
        while test.answer is None and test.blocks < MAX_BOARDS // BLOCK_BOARDS:
            block = draw.choices(values, k=BLOCK_BOARDS)
            test, betting, seen = test.after(block), betting.after(block), [*seen, *block]
        plain = estimate(seen)
        assert plain.mean is not None
        assert plain.interval is not None
        low, high = betting.interval()
        found.append((plain.mean, plain.interval[0] <= delta <= plain.interval[1], low <= delta <= high))
    return found


def coverage_table(pool: ProcessPoolExecutor, values: Sequence[float], gates: int) -> Table:
    """What a sequential stop does to the estimate and its intervals."""
    title = f"At the end of {gates:,} gates by likelihood ratio: {PICTURED}"
    table = Table(title=title, title_justify="left")
    for heading in (
        "true improvement",
        "mean estimate",
        "plain interval holds it",
        "confidence sequence does",
    ):
        table.add_column(heading, justify="right")
    for delta in (0.0, 0.25, 0.5, 1.0):
        moved = [value + delta - fmean(values) for value in values]
        tasks = [
            pool.submit(coverage_chunk, moved, delta, f"{SEED!r} coverage {delta} {number}", GATES_PER_TASK)
            for number in range(math.ceil(gates / GATES_PER_TASK))
        ]
        means, plain, sequence = zip(*(each for task in tasks for each in task.result()), strict=True)
        error = stdev(means) / math.sqrt(len(means))
        table.add_row(
            f"{delta:g}",
            f"{fmean(means):+.3f} ± {error:.3f}",
            _rate(sum(plain) / len(plain), len(plain)),
            _rate(sum(sequence) / len(sequence), len(sequence)),
        )
    return table


def asymptotic(values: Sequence[float], best_at: int = 200) -> float:
    """Half-width of the asymptotic 95 % confidence sequence, narrowest at some number of observations.

    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform Central Limit Theory and Asymptotic Confidence
    Sequences, Annals of Statistics 52, 2024, theorem 2.2, with rho as their appendix B.2 recommends.
    """
    count, error = len(values), 0.05
    rho2 = (-2 * math.log(error) + math.log(-2 * math.log(error) + 1)) / best_at
    width = 2 * (count * rho2 + 1) / (count**2 * rho2) * math.log(math.sqrt(count * rho2 + 1) / error)
    return stdev(values) * math.sqrt(width)


def pictures(
    pool: ProcessPoolExecutor, values: Sequence[float], fixed: tuple[float, float], gates: int, folder: Path
) -> None:
    """Draw how often gates pass and how many boards they take, over the true improvement.

    Args:
        fixed: boards of a test of fixed size, paired and unpaired.
    """
    colours = {"likelihood ratio": "#1f4e8c", "betting": "#c0653a"}
    passing, taking = [], []
    for test, colour in colours.items():
        found = [(delta, simulate(pool, values, test, delta, gates)) for delta in CURVE]
        passing.append(Line(test, [(delta, 100 * each.passed) for delta, each in found], colour))
        taking.append(Line(test, [(delta, fmean(each.boards)) for delta, each in found], colour))
    ends = (CURVE[0], CURVE[-1])
    across = Axis("true improvement in points per hand", [-0.5, 0, 0.5, 1, 1.5])
    rates = [
        Line("alpha", [(ends[0], 5), (0, 5), (0, 0)], "#888", dashed=True),
        Line("1 - beta", [(0.5, 0), (0.5, 95), (ends[1], 95)], "#555", dashed=True),
    ]
    title = f"Gates that pass: {PICTURED}, delta0 0, delta1 0.5"
    up = Axis("per cent", [0, 20, 40, 60, 80, 100])
    (folder / "gate-power.svg").write_text(draw_lines([*passing, *rates], across, up, title))
    sizes = [
        Line("fixed size, paired", [(end, fixed[0]) for end in ends], "#555", dashed=True),
        Line("fixed size, unpaired", [(end, fixed[1]) for end in ends], "#aaa", dashed=True),
    ]
    most = 200 * math.ceil(max(fixed[1], *(boards for line in taking for _, boards in line.points)) / 200)
    up = Axis("boards, mean", [200 * step for step in range(most // 200 + 1)])
    (folder / "gate-boards.svg").write_text(
        draw_lines([*taking, *sizes], across, up, f"Boards that a gate takes: {PICTURED}")
    )


def _mean(gates: Gates) -> str:
    return f"{fmean(gates.boards):.0f}"


def _rate(share: float, gates: int) -> str:
    return f"{share:.2%} ± {math.sqrt(share * (1 - share) / gates):.2%}"


def main() -> int:
    """Play, simulate, print; ``--images`` draws."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description="Error rates and size of gates.")
    parser.add_argument("--boards", type=int, default=1200, help="boards that each candidate plays (default 1200)")
    parser.add_argument("--gates", type=int, default=10_000, help="simulated gates each (default 10000)")
    parser.add_argument("--processes", type=int, default=2, help="processes to work in (default 2)")
    parser.add_argument("--images", type=Path, help="draw gate-power.svg and gate-boards.svg into this folder")
    options = parser.parse_args()
    if options.images:  # a folder that can't be made is better known now than in the end
        options.images.mkdir(parents=True, exist_ok=True)
    played = play(list(CANDIDATES), options.boards, options.processes)
    few = max(CHUNK, options.boards // 6)
    arrangements = play([PICTURED], few, options.processes, Seatings(SeatingsKind.ALL))[PICTURED]
    console = Console(width=200)
    console.print(hands_table(played, arrangements))
    values = {name: paired.improvements for name, paired in played.items()}
    unpaired = {name: unpaired_variance(paired) for name, paired in played.items()}
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as pool:
        console.print(gates_table(pool, {**values, "a rare disaster": rare_disaster()}, unpaired, options.gates))
        console.print(intervals_table(values[PICTURED]))
        console.print(coverage_table(pool, values[PICTURED], options.gates // 4))
        console.print(gains(values))
        if options.images:
            sizes = (fixed_size(variance(values[PICTURED])), fixed_size(unpaired[PICTURED]))
            pictures(pool, values[PICTURED], sizes, options.gates // 4, options.images)
    return 0


if __name__ == "__main__":
    sys.exit(main())
