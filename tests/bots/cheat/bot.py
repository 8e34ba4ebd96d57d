"""Cheat: plays a card that it does not hold, and says so."""

import sys

from arbiter.engine import CARDS
from arbiter.sdk import Bot, Card, CardView, PassView, run


class Cheat(Bot):
    """Never follows the rules."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return list(view.hand[: view.pass_count])

    def choose_card(self, view: CardView) -> Card:
        print("cheating", file=sys.stderr)
        return next(card for card in CARDS if card not in view.hand)


if __name__ == "__main__":
    run(Cheat())
