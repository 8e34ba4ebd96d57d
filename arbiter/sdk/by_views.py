"""Makes the arbiter's batches calls of a bot's methods, with a view of each decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, cast

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine.cards import PLANE, Card
from arbiter.sdk import answering
from arbiter.sdk.views import CardView, HandResult, MatchInfo, MoonView, PassView, Table
from arbiter.wire.rule_set import direction_from_number

if TYPE_CHECKING:
    from arbiter.sdk.bot import Bot


class AnsweringByViews:
    """Makes a view of each decision and calls the bot's methods with them, as :class:`arbiter.sdk.answering.Answering`.

    What a bot gives may be anything, whatever its type says, so it is an object here until it is looked at.
    """

    def __init__(self, bot: Bot, match: MatchInfo) -> None:
        self._bot: Final = bot
        self._match: Final = match
        self._tables: Final[dict[int, Table]] = {}

    def deals(self, deals: pb.Deals) -> None:
        seats = self._match.rules.players
        hands = _hands(deals.hand, deals.hand_twice)
        columns = zip(deals.table, deals.hand_number, deals.seat, deals.dealer, deals.direction, hands, strict=True)
        for row, (table, hand_number, seat, dealer, direction, hand) in enumerate(columns):
            totals = tuple(deals.totals[row * seats : (row + 1) * seats])
            passing = direction_from_number(direction)
            self._tables[table] = Table(self._match, table, hand_number, seat, dealer, passing, hand, totals)

    def passes(self, requests: pb.PassRequests) -> Iterator[pb.SitRequest]:
        views = [PassView(self._tables[table]) for table in requests.table]
        answers = pb.SitRequest()
        sent = time.monotonic()
        chosen = _each(self._bot.choose_passes(views), "choose_passes")
        answered = 0
        for request_id, view, given in zip(requests.request_id, views, chosen, strict=False):
            answered += 1
            cards = [_index(card, "choose_pass") for card in _each(given, "choose_pass")]
            if len(cards) != view.pass_count:
                raise ValueError(f"choose_pass gave {len(cards)} cards; {view.pass_count} are passed in this game")
            answers.passes.request_id.append(request_id)
            answers.passes.cards.extend(cards)
            if time.monotonic() - sent > answering.ANSWER_PAUSE:
                yield answers
                answers = pb.SitRequest()
                sent = time.monotonic()
        if answers.passes.request_id:
            yield answers
        _check_count("choose_passes", answered, len(views), chosen)

    def received(self, received: pb.CardsReceived) -> None:
        count = self._match.rules.pass_count
        for row, table in enumerate(received.table):
            known, at = self._tables[table], slice(row * count, (row + 1) * count)
            known.received, known.passed = tuple(received.cards[at]), tuple(received.passed[at])

    def plays(self, requests: pb.PlayRequests) -> Iterator[pb.SitRequest]:
        ids: list[int] = requests.request_id[:]
        views = self._card_views(requests)
        cards: list[int] = []
        done = 0
        now = time.monotonic
        pause = now() + answering.ANSWER_PAUSE
        chosen = _each(self._bot.choose_cards(views), "choose_cards")
        for card in islice(chosen, len(ids)):
            cards.append(card.index if type(card) is Card else _index(card, "choose_card"))
            if now() > pause:
                yield pb.SitRequest(plays=pb.PlayAnswers(request_id=ids[done : len(cards)], card=cards[done:]))
                done = len(cards)
                pause = now() + answering.ANSWER_PAUSE
        if done < len(cards):
            yield pb.SitRequest(plays=pb.PlayAnswers(request_id=ids[done : len(cards)], card=cards[done:]))
        _check_count("choose_cards", len(cards), len(ids), chosen)

    def _card_views(self, requests: pb.PlayRequests) -> list[CardView]:
        sizes: list[int] = requests.trick_size[:]
        on_table = tuple(requests.trick[:])
        columns = zip(
            map(self._tables.__getitem__, requests.table[:]),
            _hands(requests.hand, requests.hand_twice),
            requests.legal[:],
            requests.leader[:],
            [on_table[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)],
            requests.hearts_broken[:],
            _rows(requests.points, self._match.rules.players),
            strict=True,
        )
        return list(map(_card_view, columns))

    def trick_results(self, results: pb.TrickResults) -> None:
        tables = self._tables
        cards = _rows(results.cards, self._match.rules.players)
        columns = zip(results.table[:], results.leader[:], cards, results.winner[:], results.points[:], strict=True)
        for row in columns:
            tables[row[0]].new_tricks.append(row)

    def moons(self, requests: pb.MoonRequests) -> pb.SitRequest:
        answers = pb.MoonAnswers(request_id=requests.request_id)
        for table, default in zip(requests.table, requests.subtract_by_default, strict=True):
            answers.subtract.append(bool(self._bot.choose_moon(MoonView(self._tables[table], default))))
        return pb.SitRequest(moons=answers)

    def hand_results(self, results: pb.HandResults) -> None:
        seats = self._match.rules.players
        for row, (number, moon) in enumerate(zip(results.table, results.moon, strict=True)):
            at, end = row * seats, (row + 1) * seats
            table = self._tables.pop(number)
            points, totals = tuple(results.points[at:end]), tuple(results.totals[at:end])
            self._bot.hand_ended(HandResult(table, points, totals, moon if moon >= 0 else None))


_card_view: Final[Callable[[tuple[Table, int, int, int, tuple[int, ...], bool, tuple[int, ...]]], CardView]] = partial(
    tuple.__new__, CardView
)
"""A view from its fields, without the detour that a named tuple's own constructor makes."""


def _rows(column: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """The rows of a column that has ``size`` values a row."""
    values = iter(column[:])
    return zip(*[values] * size, strict=True)


def _hands(once: Sequence[int], twice: Sequence[int]) -> list[int]:
    """Hands from their two planes; the second is empty with one pack."""
    if not twice:
        return [*once[:]]
    return [low | high << PLANE for low, high in zip(once, twice, strict=True)]


def _each(given: object, method: str) -> Iterator[object]:
    """What a bot's method gave, one by one."""
    try:
        return iter(cast("Iterable[object]", given))
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
