"""Uniform: any legal card, each as likely as the next. Lesson: draw from ``view.random``, and a game can be repeated.

``view.random`` depends on the bot seed, the board and the decision alone, so the same cards come again whatever else
the bot was asked before. It is the yardstick too: a bot that does not beat this one does not understand the game.
"""

from __future__ import annotations

from arbiter.sdk import Bot, Card, CardView, PassView, run


class Uniform(Bot):
    """Picks at random."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.random.sample(view.hand, view.pass_count)

    def choose_card(self, view: CardView) -> Card:
        return view.random.choice(view.legal)


if __name__ == "__main__":
    run(Uniform())
