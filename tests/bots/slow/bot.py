"""Slow: plays the lowest card after a while, so that a sitting takes long enough to be interrupted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from arbiter.sdk import BatchBot, Card, CardView, PassView, run

PAUSE = 0.04  # seconds for each batch of cards, thirteen and more in a sitting


class Slow(BatchBot):
    """Passes high and plays low, in its own time."""

    def choose_passes(self, views: Sequence[PassView]) -> Iterable[Iterable[Card]]:
        return [sorted(view.hand, key=lambda card: card.rank)[-view.pass_count :] for view in views]

    def choose_cards(self, views: Sequence[CardView]) -> Iterable[Card]:
        time.sleep(PAUSE)
        return [min(view.legal, key=lambda card: card.rank) for view in views]


if __name__ == "__main__":
    run(Slow())
