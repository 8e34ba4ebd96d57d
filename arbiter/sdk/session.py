"""One sitting seen from the bot: batches in, answers out, without any network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, islice
from typing import Final, TypeVar

from arbiter import __version__
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2
from arbiter.engine.cards import PLANE, Card
from arbiter.engine.rules import compile_rules
from arbiter.sdk.bot import Bot
from arbiter.sdk.views import CardView, HandResult, MatchInfo, MoonView, PassView, Table
from arbiter.wire.rule_set import direction_from_number, rules_from_message

ANSWER_PAUSE: Final = 0.02
"""Seconds after which a bot that thinks long sends what it has answered so far, so that the other seats can go on."""


class Session:
    """Turns the arbiter's batches into calls of a bot's methods, and their results into answers.

    >>> session = Session(bot)                                       # doctest: +SKIP
    >>> first_message = session.greeting()                           # doctest: +SKIP
    >>> for batch in batches: answers = session.handle(batch)        # doctest: +SKIP
    """

    def __init__(self, bot: Bot) -> None:
        self.bot: Final = bot
        self.ended = False
        """Whether the arbiter has said that the sitting is over."""
        self.fault_notes: list[str] = []
        """What the arbiter said the bot did wrong in the last batch, one line each."""
        self._match: MatchInfo | None = None
        self._tables: dict[int, Table] = {}

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
        match = self._match
        if match is None:
            raise RuntimeError("the arbiter sent a batch before the match start")
        match.time_left = batch.time_left.ToNanoseconds() / 1e9
        if batch.HasField("trick_results"):
            self._trick_results(match, batch.trick_results)
        if batch.HasField("moon_requests"):
            yield self._moons(batch.moon_requests)
        if batch.HasField("hand_results"):
            self._hand_results(match, batch.hand_results)
        if batch.HasField("deals"):
            self._deals(match, batch.deals)
        if batch.HasField("pass_requests"):
            yield from self._passes(batch.pass_requests)
        if batch.HasField("cards_received"):
            self._received(match, batch.cards_received)
        if batch.HasField("play_requests"):
            yield from self._plays(match, batch.play_requests)
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

    def _deals(self, match: MatchInfo, deals: pb.Deals) -> None:
        seats = match.rules.players
        hands = _hands(deals.hand, deals.hand_twice)
        columns = zip(deals.table, deals.hand_number, deals.seat, deals.dealer, deals.direction, hands, strict=True)
        for row, (table, hand_number, seat, dealer, direction, hand) in enumerate(columns):
            totals = tuple(deals.totals[row * seats : (row + 1) * seats])
            passing = direction_from_number(direction)
            self._tables[table] = Table(match, table, hand_number, seat, dealer, passing, hand, totals)

    def _passes(self, requests: pb.PassRequests) -> Iterator[pb.SitRequest]:
        views = [PassView(self._tables[table]) for table in requests.table]
        answers = pb.SitRequest()
        sent = time.monotonic()
        chosen = _each(self.bot.choose_passes(views), "choose_passes")
        answered = 0
        for request_id, view, given in zip(requests.request_id, views, chosen, strict=False):
            answered += 1
            cards = [_index(card, "choose_pass") for card in _each(given, "choose_pass")]
            if len(cards) != view.pass_count:
                raise ValueError(f"choose_pass gave {len(cards)} cards; {view.pass_count} are passed in this game")
            answers.passes.request_id.append(request_id)
            answers.passes.cards.extend(cards)
            if time.monotonic() - sent > ANSWER_PAUSE:
                yield answers
                answers = pb.SitRequest()
                sent = time.monotonic()
        if answers.passes.request_id:
            yield answers
        _check_count("choose_passes", answered, len(views), chosen)

    def _received(self, match: MatchInfo, received: pb.CardsReceived) -> None:
        count = match.rules.pass_count
        for row, table in enumerate(received.table):
            known, at = self._tables[table], slice(row * count, (row + 1) * count)
            known.received, known.passed = tuple(received.cards[at]), tuple(received.passed[at])

    def _plays(self, match: MatchInfo, requests: pb.PlayRequests) -> Iterator[pb.SitRequest]:
        ids = list(requests.request_id)
        views = self._card_views(match, requests)
        cards: list[int] = []
        done = 0
        now = time.monotonic
        pause = now() + ANSWER_PAUSE
        chosen = _each(self.bot.choose_cards(views), "choose_cards")
        for card in islice(chosen, len(ids)):
            cards.append(card.index if type(card) is Card else _index(card, "choose_card"))
            if now() > pause:
                yield pb.SitRequest(plays=pb.PlayAnswers(request_id=ids[done : len(cards)], card=cards[done:]))
                done = len(cards)
                pause = now() + ANSWER_PAUSE
        if done < len(cards):
            yield pb.SitRequest(plays=pb.PlayAnswers(request_id=ids[done : len(cards)], card=cards[done:]))
        _check_count("choose_cards", len(cards), len(ids), chosen)

    def _card_views(self, match: MatchInfo, requests: pb.PlayRequests) -> list[CardView]:
        sizes = list(requests.trick_size)
        on_table = tuple(requests.trick)
        columns = zip(
            map(self._tables.__getitem__, requests.table),
            _hands(requests.hand, requests.hand_twice),
            requests.legal,
            requests.leader,
            [on_table[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)],
            requests.hearts_broken,
            _rows(requests.points, match.rules.players),
            strict=True,
        )
        return list(map(_card_view, columns))

    def _trick_results(self, match: MatchInfo, results: pb.TrickResults) -> None:
        tables = self._tables
        cards = _rows(results.cards, match.rules.players)
        for row in zip(results.table, results.leader, cards, results.winner, results.points, strict=True):
            tables[row[0]].new_tricks.append(row)

    def _moons(self, requests: pb.MoonRequests) -> pb.SitRequest:
        answers = pb.MoonAnswers(request_id=requests.request_id)
        for table, default in zip(requests.table, requests.subtract_by_default, strict=True):
            answers.subtract.append(bool(self.bot.choose_moon(MoonView(self._tables[table], default))))
        return pb.SitRequest(moons=answers)

    def _hand_results(self, match: MatchInfo, results: pb.HandResults) -> None:
        seats = match.rules.players
        for row, (number, moon) in enumerate(zip(results.table, results.moon, strict=True)):
            at, end = row * seats, (row + 1) * seats
            table = self._tables.pop(number)
            points, totals = tuple(results.points[at:end]), tuple(results.totals[at:end])
            self.bot.hand_ended(HandResult(table, points, totals, moon if moon >= 0 else None))


_card_view: Final[Callable[[tuple[Table, int, int, int, tuple[int, ...], bool, tuple[int, ...]]], CardView]] = partial(
    tuple.__new__, CardView
)
"""A view from its fields, without the detour that a named tuple's own constructor makes."""


def _rows(column: Iterable[int], size: int) -> Iterator[tuple[int, ...]]:
    """The rows of a column that has ``size`` values a row."""
    values = iter(list(column))
    return zip(*[values] * size, strict=True)


def _hands(once: Iterable[int], twice: Iterable[int]) -> list[int]:
    """Hands from their two planes; the second is empty with one pack."""
    second = list(twice)
    if not second:
        return list(once)
    return [low | high << PLANE for low, high in zip(once, second, strict=True)]


T = TypeVar("T")


def _each(given: Iterable[T], method: str) -> Iterator[T]:
    """What a bot's method gave, one by one."""
    try:
        return iter(given)
    except TypeError:
        raise TypeError(f"{method} gave {given!r}; it gives a list, or anything else to go through") from None


def _check_count(method: str, answered: int, asked: int, rest: Iterator[object]) -> None:
    if answered < asked:
        raise ValueError(f"{method} gave {answered} answers to {asked} views; it gives one for each, in their order")
    if next(rest, None) is not None:
        raise ValueError(f"{method} gave more answers than the {asked} views; it gives one for each, in their order")


def _index(card: object, method: str) -> int:
    if isinstance(card, Card):
        return card.index
    raise TypeError(f"{method} gave {card!r}, which is no Card; take one from the view, or Card.parse('QS')")
