"""What a hand takes on its way to the database: ``python -m benchmarks.replays``.

Random bots play sittings of each rule set in this process. Their replays are packed and compressed as workers do it;
time is given as a share of the time that playing took in the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from arbiter.compression import compress
from arbiter.engine import RULE_SETS, rule_set
from arbiter.links import LocalLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, pack_replay, play_sitting, replay_of, write_replay
from arbiter.sdk import Bot, Card, CardView, PassView

BOARDS: Final = (1, 16, 256)
"""Of a sitting: the default is 16."""


class Random(Bot):
    """Any legal card."""

    def choose_pass(self, view: PassView) -> list[Card]:
        """Any cards held."""
        return view.random.sample(view.hand, view.pass_count)

    def choose_card(self, view: CardView) -> Card:
        """Any legal card."""
        return view.random.choice(view.legal)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes a hand of one sitting, and what they took."""

    hands: int
    packed: float
    lines: float
    """JSON Lines, compressed with zlib."""
    share: float
    """Time of packing and compressing in that of playing."""


def measure(name: str, boards: int, number: int) -> Size:
    """Play one sitting of a rule set; equal numbers play the same."""
    rules = rule_set(name)
    plan = SittingPlan(
        sitting=f"replays/{number}/0",
        rules=rules,
        format=MatchFormat.HANDS,
        boards=boards,
        deal_seed=bytes([number]) * 32,
        seating=0,
        bots=tuple(
            SeatedBot(place, f"bot {place}", f"{number:032x}{place:032x}", bytes([number, place]), Clock())
            for place in range(rules.players)
        ),
    )
    started = time.perf_counter()
    record = asyncio.run(play_sitting(plan, [LocalLink(Random()) for _ in plan.bots]))
    played = time.perf_counter()
    replay = replay_of(plan, record.hands, record.faults)
    packed = compress(pack_replay(replay))
    done = time.perf_counter()
    hands = len(replay.hands)
    lines = len(zlib.compress(write_replay(replay)))
    return Size(hands, len(packed) / hands, lines / hands, (done - played) / (played - started))


def main() -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replays", description="Bytes of a hand's replay.")
    parser.add_argument("--sittings", type=int, default=5, help="sittings of each kind (default 5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    jobs = [(name, boards) for name in RULE_SETS for boards in BOARDS]
    sizes = {
        job: [measure(*job, number) for number in range(options.sittings)]
        for job in track(jobs, description="Playing", console=Console(stderr=True))
    }
    if options.json:
        found = [
            {"rules": name, "boards": boards, "sittings": [asdict(size) for size in each]}
            for (name, boards), each in sizes.items()
        ]
        print(json.dumps(found, indent=2))
        return 0
    table = Table(title="Bytes a hand", title_justify="left")
    for heading in ("rule set", *(f"{boards} boards" for boards in BOARDS), "JSON Lines, zlib", "packing : playing"):
        table.add_column(heading, justify="left" if heading == "rule set" else "right")
    for name in RULE_SETS:
        packed = [statistics.median(size.packed for size in sizes[name, boards]) for boards in BOARDS]
        most = sizes[name, BOARDS[-1]]
        shares = sorted(size.share for size in most)
        table.add_row(
            name,
            *(f"{each:.0f}" for each in packed),
            f"{statistics.median(size.lines for size in most):.0f}",
            f"{statistics.median(shares):.1%} ({shares[0]:.1%} to {shares[-1]:.1%})",
        )
    Console(width=110).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
