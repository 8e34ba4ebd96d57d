"""What a contestant imports: write :class:`Bot`'s two methods and call :func:`run`.

::

    from arbiter.sdk import Bot, Card, CardView, PassView, run

    class Lowest(Bot):
        def choose_pass(self, view: PassView) -> list[Card]:
            return view.hand[-view.pass_count:]

        def choose_card(self, view: CardView) -> Card:
            return view.legal[0]

    if __name__ == "__main__":
        run(Lowest())

Needs grpcio and protobuf alone. :mod:`arbiter.sdk.columns`, for bots that decide with NumPy over all tables at once, is
imported apart.
"""

from arbiter.engine.cards import CARDS, Card, Rank, Suit, cards_of, format_cards, mask_of, parse_cards
from arbiter.engine.hand import Trick
from arbiter.engine.ruleset import PassDirection, RuleSet
from arbiter.sdk.bot import BaseBot, BatchBot, Bot
from arbiter.sdk.client import run
from arbiter.sdk.session import Session
from arbiter.sdk.views import CardView, HandResult, MatchInfo, MoonView, PassView

__all__ = [
    "CARDS",
    "BaseBot",
    "BatchBot",
    "Bot",
    "Card",
    "CardView",
    "HandResult",
    "MatchInfo",
    "MoonView",
    "PassDirection",
    "PassView",
    "Rank",
    "RuleSet",
    "Session",
    "Suit",
    "Trick",
    "cards_of",
    "format_cards",
    "mask_of",
    "parse_cards",
    "run",
]
