"""Random hands per second of the engine and of OpenSpiel's Hearts: ``python -m benchmarks.openspiel``.

All deal and play whole hands of Black Lady without a pass, uniformly at random, in one process and in turn:

- OpenSpiel's Python loop: ``legal_actions`` and ``apply_action`` at each node, the deal's nodes among them;
- the engine node by node: ``Hand.legal``, its cards as a list, ``Hand.play``;
- the engine's playouts: ``play_out``, for who needs what a hand comes to and not the nodes between.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable

import pyspiel  # type: ignore[import-not-found] # an extension module without stubs
from rich.console import Console
from rich.table import Table

from arbiter.engine import Hand, compile_rules, new_hand, play_out, rule_set, score_hand
from arbiter.engine.cards import indexes_of

RULES = compile_rules(rule_set("black_lady"))
GAME = pyspiel.load_game("hearts", {"qs_breaks_hearts": False})
NO_PASS = 0
"""OpenSpiel's first action, which sets the direction of the pass."""
BITS = tuple(1 << index for index in range(52))
OPENSPIEL = "OpenSpiel, node by node"

draw = random.Random(1).random


def openspiel_nodes(hands: int) -> None:
    """OpenSpiel's Python loop."""
    for _ in range(hands):
        state = GAME.new_initial_state()
        state.apply_action(NO_PASS)
        while not state.is_terminal():
            actions = state.legal_actions()
            state.apply_action(actions[int(draw() * len(actions))])
        state.returns()


def _deal() -> Hand:
    cards = sorted(BITS, key=lambda _: draw())
    return new_hand(RULES, [sum(cards[:13]), sum(cards[13:26]), sum(cards[26:39]), sum(cards[39:])], dealer=0)


def engine_nodes(hands: int) -> None:
    """The engine in a loop of the same form."""
    for _ in range(hands):
        hand = _deal()
        while hand.turn >= 0:
            cards = indexes_of(hand.legal)
            hand.play(cards[int(draw() * len(cards))])
        score_hand(RULES, hand.penalty_taken, hand.bonus_taken)


def engine_playouts(hands: int) -> None:
    """The engine's playouts."""
    for _ in range(hands):
        score_hand(RULES, *play_out(_deal(), draw))


MEASURES: dict[str, Callable[[int], None]] = {
    OPENSPIEL: openspiel_nodes,
    "engine, node by node": engine_nodes,
    "engine, playouts": engine_playouts,
}


def main() -> int:
    """Measure all in turn, so often; ratios are taken within a repetition."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openspiel", description=__doc__)
    parser.add_argument("--hands", type=int, default=500, help="hands in a measurement (default 500)")
    parser.add_argument("--repetitions", type=int, default=40, help="interleaved repetitions (default 40)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    rows: dict[str, list[float]] = {name: [] for name in MEASURES}
    for measure in MEASURES.values():
        measure(options.hands)
    for _ in range(options.repetitions):
        for name, measure in MEASURES.items():
            started = time.perf_counter()
            measure(options.hands)
            rows[name].append(options.hands / (time.perf_counter() - started))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {platform.system()}"
    if options.json:
        print(json.dumps({"machine": machine, "hands_per_second": rows}, indent=2))
        return 0
    table = Table(title=f"Random hands per second ({machine})", title_justify="left")
    for heading in ("", "median", "least", "most", "ratio to OpenSpiel, median (quartiles)"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, values in rows.items():
        low, middle, high = statistics.quantiles(
            [value / base for value, base in zip(values, rows[OPENSPIEL], strict=True)], n=4, method="inclusive"
        )
        ratio = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        table.add_row(name, *(f"{pick:,.0f}" for pick in (statistics.median(values), min(values), max(values))), ratio)
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
