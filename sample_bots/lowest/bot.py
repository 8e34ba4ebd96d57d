"""Lowest: always the lowest legal card, and passes the highest. Lesson: two methods are a whole bot.

Low cards win few tricks, so this alone is far better than chance. What it gets wrong: it throws its low cards away
first and is left with the high ones.
"""

from __future__ import annotations

from arbiter.sdk import Bot, Card, CardView, PassView, Rank, run


def rank(card: Card) -> Rank:
    """What cards are compared by."""
    return card.rank


class Lowest(Bot):
    """Plays low, passes high."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return sorted(view.hand, key=rank)[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        return min(view.legal, key=rank)


if __name__ == "__main__":
    run(Lowest())
