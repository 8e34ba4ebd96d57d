"""Columns: plays what ``lowest`` plays, to the card. Lesson: columns in and a column out, with no object a decision.

A rank of a hand is one bit of thirteen, so the lowest rank of a thousand hands is a handful of array operations: lay
the four suits over one another, take the lowest bit, and look which suit it came from.
"""

from __future__ import annotations

import numpy as np

from arbiter.sdk import run
from arbiter.sdk.columns import CardBatch, Cards, ColumnBot, Masks, PassBatch, bits, highest_cards, lowest_cards

SUITS = np.array([0, 13, 26, 39], dtype=np.uint64)
"""Where each suit begins in a mask."""
ONE_SUIT = np.uint64(0x1FFF)


def by_suit(masks: Masks) -> Masks:
    """Of each mask its four suits, each as the bits of its ranks: (rows, 4)."""
    return masks[:, None] >> SUITS & ONE_SUIT


def suits_with(suits: Masks, ranks: Cards) -> Masks:
    """Which suits have this rank, as a mask of four bits: (rows,)."""
    has: Masks = suits >> ranks.astype(np.uint64)[:, None] & np.uint64(1)
    found: Masks = np.bitwise_or.reduce(has << np.arange(4, dtype=np.uint64), axis=1)
    return found


def lowest(masks: Masks) -> Cards:
    """The card of the lowest rank, of equal ones that of the first suit: (rows,)."""
    suits = by_suit(masks)
    ranks = lowest_cards(np.bitwise_or.reduce(suits, axis=1))
    return 13 * lowest_cards(suits_with(suits, ranks)) + ranks


def highest(masks: Masks) -> Cards:
    """The card of the highest rank, of equal ones that of the last suit: (rows,)."""
    suits = by_suit(masks)
    ranks = highest_cards(np.bitwise_or.reduce(suits, axis=1))
    return 13 * highest_cards(suits_with(suits, ranks)) + ranks


class Columns(ColumnBot):
    """Plays low, passes high."""

    def choose_passes(self, batch: PassBatch) -> Cards:
        once, twice = batch.hand, batch.hand_twice
        passed = []
        for _ in range(batch.pass_count):
            passed.append(highest(once))
            card = bits(passed[-1])
            # Of two equal cards the second goes first.
            once, twice = once & ~(card & ~twice), twice & ~card
        return np.stack(passed, axis=1)

    def choose_cards(self, batch: CardBatch) -> Cards:
        return lowest(batch.legal)


if __name__ == "__main__":
    run(Columns())
