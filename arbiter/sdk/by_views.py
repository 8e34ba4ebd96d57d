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
from arbiter.sdk.table import Table
from arbiter.sdk.views import CardView, HandResult, MatchInfo, MoonView, PassView
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
        tables, match = self._tables, self._match
        columns = zip(
            deals.table[:],
            deals.hand_number[:],
            deals.seat[:],
            deals.dealer[:],
            deals.direction[:],
            _hands(deals.hand, deals.hand_twice),
            _rows(deals.totals, match.rules.players),
            strict=True,
        )
        for table, hand_number, seat, dealer, direction, hand, totals in columns:
            passing = direction_from_number(direction)
            tables[table] = Table(match, table, hand_number, seat, dealer, passing, hand, totals)

    def passes(self, requests: pb.PassRequests) -> Iterator[pb.SitRequest]:
        ids: list[int] = requests.request_id[:]
        views = [PassView(self._tables[table]) for table in requests.table[:]]
        count = self._match.rules.pass_count
        cards: list[int] = []
        done = answered = 0
        now = time.monotonic
        pause = now() + answering.ANSWER_PAUSE
        chosen = _each(self._bot.choose_passes(views), "choose_passes")
        for given in islice(chosen, len(ids)):
            passed = [_index(card, "choose_pass") for card in _each(given, "choose_pass")]
            if len(passed) != count:
                raise ValueError(f"choose_pass gave {len(passed)} cards; {count} are passed in this game")
            cards += passed
            answered += 1
            if now() > pause:
                yield _passes(ids[done:answered], cards)
                cards = []
                done = answered
                pause = now() + answering.ANSWER_PAUSE
        if done < answered:
            yield _passes(ids[done:answered], cards)
        _check_count("choose_passes", answered, len(ids), chosen)

    def received(self, received: pb.CardsReceived) -> None:
        tables, count = self._tables, self._match.rules.pass_count
        columns = zip(received.table[:], _rows(received.cards, count), _rows(received.passed, count), strict=True)
        for number, cards, passed in columns:
            table = tables[number]
            table.received, table.passed = cards, passed

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
        tables, hand_ended, seats = self._tables, self._bot.hand_ended, self._match.rules.players
        columns = zip(
            results.table[:],
            _rows(results.points, seats),
            _rows(results.totals, seats),
            results.moon[:],
            strict=True,
        )
        for table, points, totals, moon in columns:
            hand_ended(HandResult(tables.pop(table), points, totals, moon if moon >= 0 else None))


_card_view: Final[Callable[[tuple[Table, int, int, int, tuple[int, ...], bool, tuple[int, ...]]], CardView]] = partial(
    tuple.__new__, CardView
)
"""A view from its fields, without the detour that a named tuple's own constructor makes."""


def _passes(ids: list[int], cards: list[int]) -> pb.SitRequest:
    return pb.SitRequest(passes=pb.PassAnswers(request_id=ids, cards=cards))


def _rows(column: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """The rows of a column that has ``size`` values a row."""
    values = iter(column[:])
    return zip(*[values] * size, strict=True)


def _hands(once: Sequence[int], twice: Sequence[int]) -> list[int]:
    """Hands from their two planes; the second is empty with one pack."""
    if not twice:
        return cast("list[int]", once[:])
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
