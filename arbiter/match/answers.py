"""Applies what a bot answers to the tables that asked; what answers nothing is charged to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arbiter.api.bot.v1 import bot_pb2
from arbiter.match.player import Due, Player


class Answers:
    """Takes the bots' messages of a sitting.

    Args:
        pass_count: how many cards are passed.
        open_tables: how many tables are open at once.
        fault_limit: how many faults a bot may have without being put out.
        nonsense: charges a bot with a message, or part of one, that the protocol does not allow; given what was wrong.
    """

    def __init__(
        self, pass_count: int, open_tables: int, fault_limit: int, nonsense: Callable[[Player, str], None]
    ) -> None:
        self._pass_count: Final = pass_count
        self._open_tables: Final = open_tables
        self._fault_limit: Final = fault_limit
        self._nonsense: Final = nonsense

    def apply(self, player: Player, answers: bot_pb2.SitRequest) -> None:
        """Apply a bot's answers. Those to requests that are closed already are dropped; other nonsense is charged.

        What one message can cost is bounded: a bot that sends far more answers than it can owe has none applied, and
        after the fault that puts a bot out the rest of its message is not looked at.
        """
        # Slices are lists, and the quickest way to have one.
        passes = answers.passes.request_id[:]
        passed = answers.passes.cards[:]
        plays = answers.plays.request_id[:]
        cards = answers.plays.card[:]
        moons = answers.moons.request_id[:]
        choices = answers.moons.subtract[:]
        count = self._pass_count
        rows = len(passes) + len(plays) + len(moons)
        if rows > 2 * self._open_tables:  # twice: a repeated answer is no more than refused
            self._nonsense(player, f"{rows} answers in a message, but {self._open_tables} can be due at the most")
            return
        if len(passed) != len(passes) * count or len(cards) != len(plays) or len(choices) != len(moons):
            self._apply_short(player, passes, passed, plays, cards, moons)
            return
        limit = self._fault_limit
        for row, request_id in enumerate(passes):
            if table := player.take(request_id, Due.PASS):
                table.pass_answered(player, passed[row * count : (row + 1) * count])
            else:
                self._refuse(player, request_id, Due.PASS)
            if player.faults > limit:
                return
        for request_id, card in zip(plays, cards, strict=True):
            if table := player.take(request_id, Due.CARD):
                table.card_answered(card)
            else:
                self._refuse(player, request_id, Due.CARD)
            if player.faults > limit:
                return
        for request_id, subtract in zip(moons, choices, strict=True):
            if table := player.take(request_id, Due.MOON):
                table.moon_answered(player, subtract)
            else:
                self._refuse(player, request_id, Due.MOON)
            if player.faults > limit:
                return

    def _apply_short(
        self, player: Player, passes: list[int], passed: list[int], plays: list[int], cards: list[int], moons: list[int]
    ) -> None:
        """Columns of unequal length: a single pass with a wrong number of cards is an illegal pass, all else is
        nonsense."""
        if len(passes) == 1 and not plays and not moons:
            if table := player.take(passes[0], Due.PASS):
                table.pass_answered(player, passed)
            else:
                self._refuse(player, passes[0], Due.PASS)
            return
        self._nonsense(
            player,
            f"columns of unequal length: {len(passes)} pass requests with {len(passed)} cards"
            f" ({self._pass_count} each), {len(plays)} play requests with {len(cards)} cards",
        )
        # The bot takes them for answered; nobody would answer them any more.
        for request_id in (*passes, *plays, *moons):
            if request_id in player.open and request_id <= player.sent:
                due, asked = player.open.pop(request_id)
                asked.stand_in(player, due)

    def _refuse(self, player: Player, request_id: int, due: Due) -> None:
        """An answer to no request of this kind that is open. To one that was closed meanwhile it is only late."""
        if request_id > player.sent or request_id in player.open:
            self._nonsense(player, f"answered request {request_id}, which asks for no {due.name.lower()}")
