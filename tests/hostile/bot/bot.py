"""A bot that plays honestly, but for one attack, mostly at its seventh card; prints what came of it as lines of JSON.

Its argument names a function of `greedy` or is ``quiet``, for all of `quiet` one after the other, or ``honest``. Every
attack is harmless should it succeed and bounded in size and time; the facts that it needs are in ``facts.json``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import greedy  # type: ignore[import-not-found]  # beside this file, in the bot's folder
import quiet  # type: ignore[import-not-found]

from arbiter.sdk import Bot, Card, CardView, PassView, run

BEFORE_PLAY = ("fork_bomb", "thread_bomb")
"""gRPC ends its process when it can't start a thread."""


class Hostile(Bot):
    """Passes its last cards and plays its lowest."""

    def __init__(self, attack: str) -> None:
        self.attack = attack
        self.decisions = 0

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.hand[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        self.decisions += 1
        if self.decisions == 7:
            report(self.attack)
        return min(view.legal, key=lambda card: card.rank)


def report(attack: str) -> None:
    """Attack and print what came of it."""
    facts: dict[str, Any] = json.loads(Path("facts.json").read_text())
    print(json.dumps({"attack": attack, "space": os.readlink("/proc/self/ns/pid")}), flush=True)
    if attack == "honest":
        return
    found = quiet.attempts(facts) if attack == "quiet" else getattr(greedy, attack)(facts)
    print(json.dumps({"found": found}), flush=True)


def main(attack: str) -> None:
    """Play; where gRPC could not live with the attack, it comes before the play."""
    if attack in BEFORE_PLAY:
        report(attack)
        attack = "honest"
    run(Hostile(attack))


if __name__ == "__main__":
    main(sys.argv[1])
