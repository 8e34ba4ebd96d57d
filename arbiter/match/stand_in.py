"""Who plays on for a bot that failed, so that the others finish: simple, deterministic, seeing what a seat may see."""

from __future__ import annotations

from arbiter.engine import CARDS, Card, PassView, PlayView
from arbiter.engine.cards import indexes_of
from arbiter.sdk import Bot, CardView
from arbiter.sdk import PassView as BotPassView


def stand_in_pass(view: PassView) -> tuple[int, ...]:
    """The highest cards by rank; of equal ranks the higher suit first."""
    return _highest(view.hand, view.pass_count)


def stand_in_card(view: PlayView) -> int:
    """The lowest legal card by rank; of equal ranks the lower suit."""
    return _lowest(view.legal)


class StandInBot(Bot):
    """The same as a bot: a simple opponent that is always at hand."""

    def choose_pass(self, view: BotPassView) -> list[Card]:
        """The highest cards."""
        return [CARDS[index] for index in _highest(view.hand_mask, view.pass_count)]

    def choose_card(self, view: CardView) -> Card:
        """The lowest legal card."""
        return CARDS[_lowest(view.legal_mask)]


def _highest(mask: int, count: int) -> tuple[int, ...]:
    return tuple(sorted(indexes_of(mask), key=lambda index: (index % 13, index // 13), reverse=True)[:count])


def _lowest(mask: int) -> int:
    return min(indexes_of(mask), key=lambda index: (index % 13, index // 13))
