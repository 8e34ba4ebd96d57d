"""One sitting seen from the bot: batches in, answers out, without any network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from arbiter import __version__
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2
from arbiter.engine.rules import compile_rules
from arbiter.sdk.answering import Answering
from arbiter.sdk.bot import BaseBot
from arbiter.sdk.views import MatchInfo
from arbiter.wire.rule_set import rules_from_message


class Session:
    """Turns the arbiter's batches into calls of a bot's methods, and their results into answers.

    >>> session = Session(bot)                                       # doctest: +SKIP
    >>> first_message = session.greeting()                           # doctest: +SKIP
    >>> for batch in batches: answers = session.handle(batch)        # doctest: +SKIP
    """

    def __init__(self, bot: BaseBot) -> None:
        self.bot: Final = bot
        self.ended = False
        """Whether the arbiter has said that the sitting is over."""
        self.fault_notes: list[str] = []
        """What the arbiter said the bot did wrong in the last batch, one line each."""
        self._match: MatchInfo | None = None
        self._answering: Answering | None = None

    def greeting(self) -> pb.SitRequest:
        """The bot's first message."""
        return pb.SitRequest(
            greeting=pb.Greeting(
                library=f"hearts-arbiter-python/{__version__}", max_open_tables=self.bot.max_open_tables
            )
        )

    def handle(self, batch: pb.SitResponse) -> Iterator[pb.SitRequest]:
        """Take in a batch and yield the answers to it, in one message or, from a slow bot, several."""
        if batch.HasField("match_start"):
            self._start(batch)
        match, bot = self._match, self._answering
        if match is None or bot is None:
            raise RuntimeError("the arbiter sent a batch before the match start")
        match.time_left = batch.time_left.ToNanoseconds() / 1e9
        if batch.HasField("trick_results"):
            bot.trick_results(batch.trick_results)
        if batch.HasField("moon_requests"):
            yield bot.moons(batch.moon_requests)
        if batch.HasField("hand_results"):
            bot.hand_results(batch.hand_results)
        if batch.HasField("deals"):
            bot.deals(batch.deals)
        if batch.HasField("pass_requests"):
            yield from bot.passes(batch.pass_requests)
        if batch.HasField("cards_received"):
            bot.received(batch.cards_received)
        if batch.HasField("play_requests"):
            yield from bot.plays(batch.play_requests)
        self.fault_notes = [
            f"{match_pb2.FaultCode.Name(code).removeprefix('FAULT_CODE_')} at board {table or '-'}: {detail}"
            for code, table, detail in zip(batch.faults.code, batch.faults.table, batch.faults.detail, strict=True)
        ]
        if batch.HasField("match_end"):
            self.ended = True

    def _start(self, batch: pb.SitResponse) -> None:
        start = batch.match_start
        rules = rules_from_message(start.rules)
        self._match = MatchInfo(
            rules=rules,
            compiled=compile_rules(rules),
            card_points=tuple(start.card_points),
            game_format=start.format == match_pb2.MATCH_FORMAT_GAME,
            boards=start.boards,
            open_tables=start.open_tables,
            bot_seed=start.bot_seed,
            time_left=batch.time_left.ToNanoseconds() / 1e9,
        )
        self.bot.start(self._match)
        self._answering = self.bot.answering(self._match)
