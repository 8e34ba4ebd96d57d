"""Random: any legal card, drawn from one generator, as OpenSpiel's and Kaggle's random bots draw theirs."""

from __future__ import annotations

import random

from arbiter.sdk import Bot, Card, CardView, PassView, run


class Random(Bot):
    """Picks at random; which card it is depends on the order in which it is asked."""

    def __init__(self) -> None:
        self.random = random.Random(1)

    def choose_pass(self, view: PassView) -> list[Card]:
        return self.random.sample(view.hand, view.pass_count)

    def choose_card(self, view: CardView) -> Card:
        return self.random.choice(view.legal)


if __name__ == "__main__":
    run(Random())
