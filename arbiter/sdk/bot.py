"""The classes a contestant derives from: one decision at a time, or whole batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from arbiter.engine.cards import Card
from arbiter.sdk.answering import Answering
from arbiter.sdk.by_views import AnsweringByViews
from arbiter.sdk.views import CardView, HandResult, MatchInfo, MoonView, PassView


class BaseBot(ABC):
    """What all forms of a bot share.

    An exception that leaves any method ends the process, with its traceback in the bot's log, and counts as a crash.
    """

    max_open_tables: int = 4096
    """How many tables the bot plays at once at the most."""

    def start(self, match: MatchInfo) -> None:  # noqa: B027  a hook that a bot may leave out
        """Called once, before the first card."""

    @abstractmethod
    def answering(self, match: MatchInfo) -> Answering:
        """How the arbiter's batches become calls of the bot's methods; each form of a bot has its own."""


class Bot(BaseBot):
    """A bot: :meth:`choose_pass` and :meth:`choose_card` are all it needs."""

    def answering(self, match: MatchInfo) -> Answering:
        """See :meth:`BaseBot.answering`."""
        return AnsweringByViews(self, match)

    @abstractmethod
    def choose_pass(self, view: PassView) -> Iterable[Card]:
        """The ``view.pass_count`` cards of ``view.hand`` to pass."""

    @abstractmethod
    def choose_card(self, view: CardView) -> Card:
        """The card of ``view.legal`` to play."""

    def choose_passes(self, views: Sequence[PassView]) -> Iterable[Iterable[Card]]:
        """The cards to pass at each of several tables, in the order given."""
        return map(self.choose_pass, views)

    def choose_cards(self, views: Sequence[CardView]) -> Iterable[Card]:
        """The card to play at each of several tables, in the order given."""
        return map(self.choose_card, views)

    def choose_moon(self, view: MoonView) -> bool:
        """After shooting the moon where there is a choice: True to subtract the points, False to charge the others."""
        return view.subtract_by_default

    def hand_ended(self, result: HandResult) -> None:
        """Called after each hand."""


class BatchBot(Bot):
    """A bot that decides over many tables at once, for instance with arrays: :meth:`choose_passes` and
    :meth:`choose_cards` are all it needs."""

    @abstractmethod
    def choose_passes(self, views: Sequence[PassView]) -> Iterable[Iterable[Card]]:
        """The cards to pass at each of several tables, in the order given."""

    @abstractmethod
    def choose_cards(self, views: Sequence[CardView]) -> Iterable[Card]:
        """The card to play at each of several tables, in the order given."""

    def choose_pass(self, view: PassView) -> Iterable[Card]:
        """The same for one table."""
        return next(iter(self.choose_passes([view])))

    def choose_card(self, view: CardView) -> Card:
        """The same for one table."""
        return next(iter(self.choose_cards([view])))
