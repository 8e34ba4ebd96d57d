"""Columns: any legal card, as ``random`` plays it, by NumPy over all tables of a message."""

from __future__ import annotations

import numpy as np

from arbiter.engine.columns import pick
from arbiter.sdk import run
from arbiter.sdk.columns import CardBatch, Cards, ColumnBot, PassBatch, bits


class Columns(ColumnBot):
    """Picks at random; which card it is depends on the order in which it is asked."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)

    def choose_passes(self, batch: PassBatch) -> Cards:
        held = batch.hand
        passed = []
        for _ in range(batch.pass_count):
            passed.append(pick(held, self.random.random(len(batch))))
            held = held & ~bits(passed[-1])
        return np.stack(passed, axis=1)

    def choose_cards(self, batch: CardBatch) -> Cards:
        return pick(batch.legal, self.random.random(len(batch)))


if __name__ == "__main__":
    run(Columns())
