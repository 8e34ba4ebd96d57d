"""Random hands per second of the engine and of OpenSpiel's Hearts: ``python -m benchmarks.openspiel``.

Both play hands of Black Lady without a pass in a bare Python loop of the same form: ask for the legal cards at each
node, pick one by the next number of a stream that was made beforehand, play it; read the scores at the end. Twice:

- *whole hands*: the deal is part of it, OpenSpiel's through its chance nodes, ours by sorting the pack;
- *plays alone*: the deals were made beforehand, and OpenSpiel copies the state after the deal.

The engine's columns (:mod:`arbiter.engine.columns`) play all hands in step by the same three steps a card: the legal
cards, a pick, a card played. Beside that stand the engine's playouts from the deal on, for who needs what a hand comes
to and not the nodes between.

The engine is measured interpreted and, where ``make compiled`` has compiled it, compiled. Each repetition starts one
process after the other for each of them, which measures OpenSpiel and the engine in turn; ratios are those within a
process.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyspiel
from rich.console import Console
from rich.table import Table

from arbiter.engine import COMPILED, Hand, compile_rules, new_hand, play_out, rule_set, score_hand
from arbiter.engine.columns import HandColumns, deal_in_step, pick

ROOT: Final = Path(__file__).resolve().parent.parent
RULES: Final = compile_rules(rule_set("black_lady"))
GAME: Final = pyspiel.load_game("hearts", {"qs_breaks_hearts": False})
NO_PASS: Final = 0
"""OpenSpiel's first action, which sets the direction of the pass."""
BITS: Final = tuple(1 << index for index in range(52))
STREAM_SIZE: Final = 4_099
"""Numbers in the stream; a prime, so that hands do not fall into step with it."""

SLICE: Final = 50
"""Hands that each plays before the next has its turn, so that all have the same share of a machine's moods."""

IN_STEP: Final = 5 * SLICE
"""Hands of the others after which the columns play all hands once."""

_rng = random.Random(1)
_columns_rng = np.random.default_rng(1)
number: Final = cycle([_rng.randrange(1 << 16) for _ in range(STREAM_SIZE)]).__next__
"""The next number of the stream, by which a card is picked: modulo how many there are."""

Hands = list[int]
"""By seat: a mask of cards."""


def deal() -> Hands:
    """The pack in the order of numbers of the stream."""
    cards = sorted(BITS, key=lambda _: number())
    return [sum(cards[:13]), sum(cards[13:26]), sum(cards[26:39]), sum(cards[39:])]


def openspiel_deal() -> Any:
    """The same by OpenSpiel: its state after the deal."""
    state = GAME.new_initial_state()
    state.apply_action(NO_PASS)
    while state.is_chance_node():
        actions = state.legal_actions()
        state.apply_action(actions[number() % len(actions)])
    return state


def openspiel_hands(hands: int) -> None:
    """OpenSpiel's Python loop, whose nodes are those of the deal and of play alike."""
    for _ in range(hands):
        state = GAME.new_initial_state()
        state.apply_action(NO_PASS)
        while actions := state.legal_actions():
            state.apply_action(actions[number() % len(actions)])
        state.returns()


def engine_hands(hands: int) -> None:
    """The engine in a loop of the same form."""
    for _ in range(hands):
        hand = new_hand(RULES, deal(), dealer=0)
        while cards := hand.legal_indexes:
            hand.play(cards[number() % len(cards)])
        score_hand(RULES, hand.penalty_taken, hand.bonus_taken)


def openspiel_plays(states: list[Any]) -> None:
    """OpenSpiel's loop from the deal on."""
    for dealt in states:
        state = dealt.clone()
        while actions := state.legal_actions():
            state.apply_action(actions[number() % len(actions)])
        state.returns()


def engine_plays(deals: list[Hands]) -> None:
    """The engine's loop from the deal on."""
    for dealt in deals:
        hand = new_hand(RULES, dealt, dealer=0)
        while cards := hand.legal_indexes:
            hand.play(cards[number() % len(cards)])
        score_hand(RULES, hand.penalty_taken, hand.bonus_taken)


def engine_playouts(deals: list[Hands]) -> None:
    """The engine's playouts."""
    draw = random.Random(2).random
    for dealt in deals:
        score_hand(RULES, *play_out(new_hand(RULES, dealt, dealer=0), draw))


def columns_hands(hands: int) -> None:
    """The engine's columns from the deal to the scores, all hands in step."""
    _play_columns(deal_in_step(RULES, hands, 0, _columns_rng))


def columns_plays(dealt: list[Hand]) -> None:
    """The engine's columns from the deal on."""
    _play_columns(HandColumns.of(dealt))


def _play_columns(columns: HandColumns) -> None:
    while not columns.done:
        columns.play(pick(columns.legal, _columns_rng.random(len(columns.legal))))
    for penalty, bonus in zip(columns.penalty_taken.tolist(), columns.bonus_taken.tolist(), strict=True):
        score_hand(RULES, penalty, bonus)


def measure(hands: int) -> dict[str, float]:
    """Hands per second of processor time of each, in this process, in turn by slices of the hands."""
    states = [openspiel_deal() for _ in range(hands)]
    deals = [deal() for _ in range(hands)]
    measures: dict[str, Callable[[slice], None]] = {
        "OpenSpiel, whole hands": lambda part: openspiel_hands(len(deals[part])),
        "engine, whole hands": lambda part: engine_hands(len(deals[part])),
        "OpenSpiel, plays alone": lambda part: openspiel_plays(states[part]),
        "engine, plays alone": lambda part: engine_plays(deals[part]),
        "engine, playouts": lambda part: engine_playouts(deals[part]),
    }
    dealt = [new_hand(RULES, cards, dealer=0) for cards in deals]
    in_step: dict[str, Callable[[], None]] = {
        "columns, whole hands": lambda: columns_hands(hands),
        "columns, plays alone": lambda: columns_plays(dealt),
    }
    seconds = dict.fromkeys([*measures, *in_step], 0.0)
    engine_hands(1)  # fills the engine's tables
    # As timeit does: what is collected in whose turn is chance.
    gc.collect()
    gc.disable()
    rounds = 0
    for start in range(0, hands, SLICE):
        for name, play in measures.items():
            started = time.process_time()
            play(slice(start, start + SLICE))
            seconds[name] += time.process_time() - started
        if start % IN_STEP == 0:
            rounds += 1
            for name, play_all in in_step.items():
                started = time.process_time()
                play_all()
                seconds[name] += time.process_time() - started
    for name in in_step:
        seconds[name] /= rounds
    return {name: hands / taken for name, taken in seconds.items()}


def compare(hands: int, repetitions: int) -> dict[str, dict[str, list[float]]]:
    """By the engine's build, then by what was measured: hands per second in each repetition."""
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="arbiter-interpreted-") as folder:
        for part in ("arbiter", "benchmarks"):
            shutil.copytree(ROOT / part, Path(folder, part), ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        places = {"interpreted": Path(folder)} | ({"compiled": ROOT} if COMPILED else {})
        for repetition in range(repetitions):
            print(f"repetition {repetition + 1} of {repetitions}", file=sys.stderr)
            for build, place in places.items():
                command = [sys.executable, "-m", "benchmarks.openspiel", "--once", "--hands", str(hands)]
                environment = {**os.environ, "PYTHONPATH": str(place)}
                done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
                for name, rate in json.loads(done.stdout)[build].items():
                    found.setdefault(build, {}).setdefault(name, []).append(rate)
    return found


def _rows(found: dict[str, dict[str, list[float]]]) -> list[tuple[str, ...]]:
    rows = []
    for what in ("whole hands", "plays alone"):
        known = [rate for rates in found.values() for rate in rates[f"OpenSpiel, {what}"]]
        rows.append((f"OpenSpiel, {what}", *_spread(known, ",.0f"), "1"))
        for build, rates in found.items():
            rows.append(_row(f"engine {build}, {what}", rates[f"engine, {what}"], rates[f"OpenSpiel, {what}"]))
            rows.append(_row(f"columns in step, {what}", rates[f"columns, {what}"], rates[f"OpenSpiel, {what}"]))
            if what == "plays alone":
                rows.append(_row(f"engine {build}, playouts", rates["engine, playouts"], rates[f"OpenSpiel, {what}"]))
    return rows


def _row(name: str, rates: list[float], base: list[float]) -> tuple[str, ...]:
    middle, least, most = _spread([rate / other for rate, other in zip(rates, base, strict=True)], ".2f")
    return (name, *_spread(rates, ",.0f"), f"{middle} ({least} to {most})")


def _spread(values: list[float], form: str) -> tuple[str, ...]:
    return tuple(format(pick, form) for pick in (statistics.median(values), min(values), max(values)))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.openspiel", description="Compare the engine's speed with OpenSpiel's."
    )
    parser.add_argument("--hands", type=int, default=1024, help="hands in a measurement (default 1024)")
    parser.add_argument("--repetitions", type=int, default=10, help="interleaved repetitions (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--once", action="store_true", help="measure the engine of this process alone, and print JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps({"compiled" if COMPILED else "interpreted": measure(options.hands)}))
        return 0
    found = compare(options.hands, options.repetitions)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        print(json.dumps({"machine": machine, "hands_per_second": found}, indent=2))
        return 0
    table = Table(title=f"Random hands per second ({machine})", title_justify="left")
    for heading in ("", "median", "least", "most", "ratio to OpenSpiel, median (least to most)"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in _rows(found):
        table.add_row(*row)
    if not COMPILED:
        table.caption = "make compiled compiles the engine; then both are measured"
        table.caption_justify = "left"
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
