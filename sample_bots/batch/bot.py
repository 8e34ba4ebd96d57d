"""Batch: decides at all tables in one go. Lesson: a decision is a row, and a rule of thumb is one array operation.

The arbiter asks about many tables at once, so the views become arrays of shape (tables, 4 suits, 13 ranks), and NumPy
prices every card of every table in the same few operations. A bot with a neural network works the same way: put the
network where :meth:`Batch.prices` is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from arbiter.engine.ruleset import Winner
from arbiter.sdk import CARDS, BatchBot, Card, CardView, MatchInfo, PassView, mask_of, run

Array = npt.NDArray[np.float64]
PLANE = (1 << 52) - 1


def bits(masks: Iterable[int]) -> Array:
    """Masks as an array of zeros and ones: (tables, 4, 13)."""
    octets = np.array([mask & PLANE for mask in masks], dtype="<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :52].reshape(-1, 4, 13).astype(np.float64)


def below(cards: Array) -> Array:
    """For every card: how many of ``cards`` are of its suit and lower."""
    return np.cumsum(cards, axis=2) - cards


class Batch(BatchBot):
    """The same thoughts as a careful player's, without a loop over tables or cards."""

    def start(self, match: MatchInfo) -> None:
        self.sign = -1 if (match.rules.winner is Winner.HIGHEST) == (match.rules.sign > 0) else 1
        self.cost = self.sign * np.array(match.card_points, dtype=np.float64).reshape(4, 13)
        self.total = np.maximum(self.cost, 0).sum()
        self.deck = sum(1 << card for card in set(match.compiled.deck))

    def choose_passes(self, views: Sequence[PassView]) -> list[list[Card]]:
        hand = bits(view.hand_mask for view in views)
        danger = self.danger(hand, bits(self.deck & ~view.hand_mask for view in views))
        order = np.argsort(np.where(hand > 0, -danger, np.inf).reshape(-1, 52), axis=1, kind="stable")
        return [[CARDS[card] for card in row[: view.pass_count]] for row, view in zip(order, views, strict=True)]

    def choose_cards(self, views: Sequence[CardView]) -> list[Card]:
        legal = bits(view.legal_mask for view in views)
        prices = np.where(legal > 0, self.prices(views), np.inf).reshape(-1, 52)
        return [CARDS[card] for card in np.argmin(prices, axis=1)]

    def prices(self, views: Sequence[CardView]) -> Array:
        """Points that each card is likely to cost, less what it is worth to be rid of it: (tables, 4, 13)."""
        hand = bits(view.hand_mask for view in views)
        unseen = bits(self.deck & ~view.hand_mask & ~self.played(view) for view in views)
        tricks = [view.trick_indexes for view in views]
        led = [trick[0] // 13 if trick else -1 for trick in tricks]
        best = [max((card for card in trick if card // 13 == trick[0] // 13), default=-1) for trick in tricks]
        column = (-1, 1, 1)
        suits, cards = np.arange(4).reshape(1, 4, 1), np.arange(52).reshape(1, 4, 13)
        leads = np.reshape(led, column) < 0
        in_suit = leads | (suits == np.reshape(led, column))
        on_table = np.reshape([self.cost.flat[list(trick)].sum() for trick in tricks], column)
        to_come = np.reshape([view.players - len(view.trick_indexes) - 1 for view in views], column)
        lower, left = below(unseen), unseen.sum(axis=2, keepdims=True)
        can_win = in_suit & (cards > np.reshape(best, column))
        beaten_later = (to_come > 0) & (left > lower)
        chance = can_win * np.where(beaten_later, lower / np.maximum(left, 1), 1.0)
        dropped = np.maximum.accumulate(unseen * self.cost, axis=2) / 2
        discarded = self.total / 8 * to_come / np.maximum(to_come + left, 1)
        load = on_table + self.cost + (to_come > 0) * (dropped + discarded)
        prices: Array = chance * load - (1 - chance) * self.danger(hand, unseen) / 4
        return prices

    def played(self, view: CardView) -> int:
        """All cards played so far, as a mask."""
        return mask_of({*view.trick_indexes, *(card for trick in view.tricks for card in trick.cards)})

    def danger(self, hand: Array, unseen: Array) -> Array:
        """How much one would like to be rid of each card: (tables, 4, 13)."""
        lower, left, held = below(unseen), unseen.sum(axis=2, keepdims=True), hand.sum(axis=2, keepdims=True)
        takes = lower / np.maximum(left, 1)
        # A card above something heavy is as bad as that, unless low cards of the suit guard it.
        heavy = np.maximum.accumulate((hand + unseen) * self.cost * (self.cost > self.total / 6), axis=2)
        danger: Array = self.sign * takes * (2 + (held < 3)) + self.cost + heavy / (1 + held / 2)
        return danger


if __name__ == "__main__":
    run(Batch())
