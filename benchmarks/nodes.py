"""What the engine's steps cost, in nanoseconds: ``python -m benchmarks.nodes``.

One hand of Black Lady is played to its end; every step is measured on all of its 52 nodes, or once where it happens
once a hand. The least of many repetitions counts: everything else on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.table import Table

from arbiter.engine import COMPILED, Hand, compile_rules, mask_of, new_hand, play_out, play_view, rule_set, score_hand

RULES: Final = compile_rules(rule_set("black_lady"))
NODES: Final = 52
REPETITIONS: Final = 400

_draw = random.Random(1).random


def _hand() -> Hand:
    pack = random.Random(1).sample(range(52), 52)
    return new_hand(RULES, [mask_of(pack[at : at + 13]) for at in range(0, 52, 13)], dealer=0)


def measure() -> dict[str, float]:
    """By step: nanoseconds each, without the loop around it."""
    start = _hand()
    dealt = start.hands.copy()
    positions: list[Hand] = []
    cards: list[int] = []
    hand = start.copy()
    while legal := hand.legal_indexes:
        positions.append(hand.copy())
        cards.append(legal[int(_draw() * len(legal))])
        hand.play(cards[-1])

    def play() -> None:
        playing = start.copy()
        for card in cards:
            playing.play(card)

    def legal_masks() -> None:
        for position in positions:
            position.legal  # noqa: B018

    def legal_indexes() -> None:
        for position in positions:
            position.legal_indexes  # noqa: B018

    def views() -> None:
        for position in positions:
            play_view(position)

    def loop_alone() -> None:
        for _ in positions:
            pass

    loop = _least(loop_alone)
    copy = _least(start.copy)
    return {
        "a node: the legal cards as a mask": (_least(legal_masks) - loop) / NODES,
        "a node: the legal cards as indexes": (_least(legal_indexes) - loop) / NODES,
        "a node: a card played": (_least(play) - copy - loop) / NODES,
        "a node: the view of the seat to play": (_least(views) - loop) / NODES,
        "a copy of a hand": _least(positions[NODES // 2].copy),
        "a hand made from its deal": _least(lambda: new_hand(RULES, dealt, dealer=0)),
        "a hand scored": _least(lambda: score_hand(RULES, hand.penalty_taken, hand.bonus_taken)),
        "a playout of a whole hand": _least(lambda: play_out(start, _draw)),
    }


def _least(step: Callable[[], object]) -> float:
    """Nanoseconds, the least of the repetitions."""
    clock = time.perf_counter_ns
    least = float("inf")
    for _ in range(REPETITIONS):
        started = clock()
        for _ in range(10):
            step()
        least = min(least, (clock() - started) / 10)
    return least


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nodes", description="What the engine's steps cost.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure()
    engine = "compiled" if COMPILED else "interpreted"
    if options.json:
        print(json.dumps({"engine": engine, "nanoseconds": found}, indent=2))
        return 0
    table = Table(title=f"Nanoseconds, engine {engine}, Python {platform.python_version()}", title_justify="left")
    table.add_column("")
    table.add_column("each", justify="right")
    for name, nanoseconds in found.items():
        table.add_row(name, f"{nanoseconds:,.0f}")
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
