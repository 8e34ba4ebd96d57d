"""Batches become calls and results become answers: in order, in parts where a bot is slow, with clear errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

import arbiter.sdk.answering
from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.api.game.v1 import match_pb2, rule_set_pb2
from arbiter.engine import compile_rules, rule_set
from arbiter.sdk import BatchBot, Bot, Card, CardView, HandResult, MatchInfo, MoonView, PassView, Session, parse_cards
from arbiter.sdk.table import Table
from arbiter.wire import rules_to_message

RULES = rule_set("black_lady", ("choice_moon",))
HAND = parse_cards("2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC")
CLUBS = 0x1FFF


class Noting(Bot):
    """Plays the first card and notes what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def start(self, match: MatchInfo) -> None:
        self.notes.append(f"start of {match.boards} boards")

    def choose_pass(self, view: PassView) -> Iterable[Card]:
        self.notes.append(f"pass at {view.board}")
        return view.hand[:3]

    def choose_card(self, view: CardView) -> Card:
        self.notes.append(f"card at {view.board} after {len(view.tricks)} tricks, {len(view.received)} received")
        return view.legal[0]

    def choose_moon(self, view: MoonView) -> bool:
        self.notes.append(f"moon at {view.board} after {len(view.table.tricks)} tricks")
        return True

    def hand_ended(self, result: HandResult) -> None:
        self.notes.append(f"end at {result.table.board} of hand {result.table.hand_number}: {result.points}")


def match_start() -> pb.SitResponse:
    batch = pb.SitResponse(
        match_start=pb.MatchStart(
            rules=rules_to_message(RULES),
            format=match_pb2.MATCH_FORMAT_GAME,
            boards=9,
            card_points=[0] * 52,
            bot_seed=bytes(range(16)),
            open_tables=3,
        )
    )
    batch.time_left.FromNanoseconds(12_500_000_000)
    return batch


def add_deal(batch: pb.SitResponse, table: int, hand_number: int = 1) -> None:
    deals = batch.deals
    deals.table.append(table)
    deals.hand_number.append(hand_number)
    deals.seat.append(2)
    deals.dealer.append(1)
    deals.direction.append(rule_set_pb2.PASS_DIRECTION_LEFT)
    deals.hand.append(CLUBS)
    deals.totals.extend([1, 2, 3, 4])


def add_play(batch: pb.SitResponse, request: int, table: int) -> None:
    plays = batch.play_requests
    plays.request_id.append(request)
    plays.table.append(table)
    plays.hand.append(CLUBS)
    plays.legal.append(CLUBS)
    plays.leader.append(1)
    plays.trick_size.append(1)
    plays.trick.append(13)
    plays.hearts_broken.append(True)
    plays.points.extend([5, 6, 7, 8])


def add_pass(batch: pb.SitResponse, request: int, table: int) -> None:
    batch.pass_requests.request_id.append(request)
    batch.pass_requests.table.append(table)


def dealt(bot: Bot, tables: Sequence[int]) -> Session:
    """A session with a hand dealt at these tables."""
    session = Session(bot)
    batch = match_start()
    for table in tables:
        add_deal(batch, table)
    assert not list(session.handle(batch))
    return session


def test_what_is_in_one_batch_is_taken_in_the_documented_order() -> None:
    bot = Noting()
    session = dealt(bot, [4, 7])
    batch = pb.SitResponse()
    for table in (4, 7):
        results = batch.trick_results
        results.table.append(table)
        results.leader.append(0)
        results.cards.extend([1, 2, 3, 4])
        results.winner.append(3)
        results.points.append(0)
    batch.moon_requests.request_id.append(1)
    batch.moon_requests.table.append(7)
    batch.moon_requests.subtract_by_default.append(False)
    batch.hand_results.table.append(4)
    batch.hand_results.points.extend([0, 26, 26, 26])
    batch.hand_results.totals.extend([1, 28, 29, 30])
    batch.hand_results.moon.append(0)
    batch.game_results.table.append(4)
    add_deal(batch, 4, hand_number=2)
    add_deal(batch, 9)
    add_pass(batch, 2, 9)
    batch.cards_received.table.append(4)
    batch.cards_received.cards.extend([1, 2, 3])
    batch.cards_received.passed.extend([10, 11, 12])
    add_play(batch, 3, 4)
    batch.faults.code.append(match_pb2.FAULT_CODE_ILLEGAL_PASS)
    batch.faults.table.append(7)
    batch.faults.detail.append("as seen")
    batch.match_end.SetInParent()
    answers = list(session.handle(batch))
    assert bot.notes == [
        "start of 9 boards",
        "moon at 7 after 1 tricks",
        "end at 4 of hand 1: (0, 26, 26, 26)",
        "pass at 9",
        "card at 4 after 0 tricks, 3 received",
    ]
    assert [answer.moons.request_id or answer.passes.request_id or answer.plays.request_id for answer in answers] == [
        [1],
        [2],
        [3],
    ]
    assert session.fault_notes == ["ILLEGAL_PASS at board 7: as seen"]
    assert session.ended


def test_the_first_message_greets() -> None:
    bot = Noting()
    bot.max_open_tables = 17
    greeting = Session(bot).greeting().greeting
    assert greeting.max_open_tables == 17
    assert re.fullmatch(r"hearts-arbiter-python/\d+\.\d+.*", greeting.library)


def test_a_batch_before_the_match_start_is_refused() -> None:
    with pytest.raises(RuntimeError, match="before the match start"):
        list(Session(Noting()).handle(pb.SitResponse()))


@pytest.mark.parametrize(("pause", "messages"), [(-1.0, [1, 1, 1]), (1000.0, [3])])
def test_a_bot_that_thinks_long_sends_its_answers_as_they_come(
    monkeypatch: pytest.MonkeyPatch, pause: float, messages: list[int]
) -> None:
    monkeypatch.setattr(arbiter.sdk.answering, "ANSWER_PAUSE", pause)
    bot = Noting()
    session = dealt(bot, [1, 2, 3, 4, 5, 6])
    bot.notes.clear()
    batch = pb.SitResponse()
    for row in range(3):
        add_pass(batch, 1 + row, 4 + row)
        add_play(batch, 11 + row, 1 + row)
    passes: list[int] = []
    plays: list[int] = []
    for message in session.handle(batch):
        passes += [len(message.passes.request_id)] if message.passes.request_id else []
        plays += [len(message.plays.request_id)] if message.plays.request_id else []
        assert len(bot.notes) == sum(passes) + sum(plays), "an answer goes out before the bot is asked for the next"
    assert passes == messages
    assert plays == messages


def test_views_show_what_the_batch_says() -> None:
    seen: list[CardView] = []

    class Looking(Noting):
        def choose_card(self, view: CardView) -> Card:
            seen.append(view)
            return view.legal[-1]

    session = dealt(Looking(), [5])
    batch = pb.SitResponse()
    batch.time_left.FromNanoseconds(750_000_000)
    add_play(batch, 1, 5)
    (answer,) = session.handle(batch)
    assert (list(answer.plays.request_id), list(answer.plays.card)) == ([1], [12])
    (view,) = seen
    assert (view.board, view.hand_number, view.seat, view.dealer, view.leader) == (5, 1, 2, 1, 1)
    assert (view.totals, view.points, view.hearts_broken) == ((1, 2, 3, 4), (5, 6, 7, 8), True)
    assert (view.hand, view.legal) == (HAND, HAND)
    assert (view.trick, view.trick_indexes) == (parse_cards("2D"), (13,))
    assert (view.rules, view.players, view.match.boards, view.match.game_format) == (RULES, 4, 9, True)
    assert view.time_left == 0.75


BAD_CARDS: list[tuple[object, str]] = [
    (12, "choose_card gave 12, which is no Card; take one from the view, or Card.parse('QS')"),
    ("QS", "choose_card gave 'QS', which is no Card"),
    (None, "choose_card gave None, which is no Card"),
    ([Card(1)], "choose_card gave [Card(3C)], which is no Card"),
]


@pytest.mark.parametrize(("given", "message"), BAD_CARDS)
def test_what_is_no_card_is_refused_by_name(given: Any, message: str) -> None:
    class Wrong(Noting):
        def choose_card(self, view: CardView) -> Card:
            return given  # type: ignore[no-any-return]  # wrong on purpose

    session = dealt(Wrong(), [1])
    batch = pb.SitResponse()
    add_play(batch, 1, 1)
    with pytest.raises(TypeError, match=re.escape(message)):
        list(session.handle(batch))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "choose_pass gave None; it gives a list"),
        (Card(3), "choose_pass gave Card(5C); it gives a list"),
        ("QS", "choose_pass gave 'Q', which is no Card"),
        ([1, 2, 3], "choose_pass gave 1, which is no Card"),
    ],
)
def test_what_is_no_pass_is_refused_by_name(given: Any, message: str) -> None:
    class Wrong(Noting):
        def choose_pass(self, view: PassView) -> Iterable[Card]:
            return given  # type: ignore[no-any-return]  # wrong on purpose

    session = dealt(Wrong(), [1])
    batch = pb.SitResponse()
    add_pass(batch, 1, 1)
    with pytest.raises(TypeError, match=re.escape(message)):
        list(session.handle(batch))


class Batching(BatchBot):
    """Gives what its two functions give."""

    def __init__(self, passes: Callable[[int], Any], cards: Callable[[int], Any]) -> None:
        self._passes = passes
        self._cards = cards

    def choose_passes(self, views: Sequence[PassView]) -> Iterable[Iterable[Card]]:
        return self._passes(len(views))  # type: ignore[no-any-return]  # as the test made it

    def choose_cards(self, views: Sequence[CardView]) -> Iterable[Card]:
        return self._cards(len(views))  # type: ignore[no-any-return]  # as the test made it


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (-1, ValueError, "gave 2 answers to 3 views; it gives one for each, in their order"),
        (+1, ValueError, "gave more answers than the 3 views; it gives one for each, in their order"),
        (None, TypeError, "gave None; it gives a list"),
    ],
)
def test_a_batch_bot_gives_one_answer_for_each_view(change: int | None, error: type[Exception], message: str) -> None:
    def wrong(answer: object) -> Callable[[int], Any]:
        return lambda count: None if change is None else [answer] * (count + change)

    session = dealt(Batching(wrong(HAND[:3]), wrong(HAND[0])), [1, 2, 3])
    plays, passes = pb.SitResponse(), pb.SitResponse()
    for table in (1, 2, 3):
        add_play(plays, table, table)
        add_pass(passes, table, table)
    with pytest.raises(error, match=f"choose_cards {message}"):
        list(session.handle(plays))
    with pytest.raises(error, match=f"choose_passes {message}"):
        list(session.handle(passes))


def test_a_batch_bot_decides_for_one_table_too() -> None:
    bot = Batching(lambda count: [HAND[:3]] * count, lambda count: iter([HAND[5]] * count))
    session = dealt(bot, [1])
    batch = pb.SitResponse()
    add_play(batch, 1, 1)
    (answer,) = session.handle(batch)
    assert list(answer.plays.card) == [5]


def match_info(bot_seed: bytes = b"seed") -> MatchInfo:
    return MatchInfo(RULES, compile_rules(RULES), (0,) * 52, True, 1, 1, bot_seed, 1.0)


def views_of(board: int, hand_number: int, bot_seed: bytes = b"seed") -> dict[object, float]:
    """The first random number of each decision of one hand, by what the decision is."""
    table = Table(match_info(bot_seed), board, hand_number, 0, 0, RULES.pass_cycle[0], CLUBS, (0, 0, 0, 0))
    drawn: dict[object, float] = {(board, hand_number, "pass"): PassView(table).random.random()}
    for trick in range(13):
        drawn[board, hand_number, trick] = CardView(table, CLUBS, CLUBS, 0, (), False, (0,) * 4).random.random()
        table.tricks.append(arbiter.sdk.Trick(0, (0, 1, 2, 3), 0, 0))
    drawn[board, hand_number, "moon"] = MoonView(table, False).random.random()
    return drawn


def test_randomness_belongs_to_the_decision_and_not_to_its_arrival() -> None:
    places = [(board, hand) for board in (1, 2, 11) for hand in (1, 2)]
    one: dict[object, float] = {}
    other: dict[object, float] = {}
    for place in places:
        one |= views_of(*place)
    for place in reversed(places):
        other |= views_of(*place)
    assert one == other
    assert len(set(one.values())) == len(one) == 6 * 15, "no two decisions share their randomness"
    assert not set(one.values()) & set(views_of(1, 1, b"another seed").values())


def test_one_views_randomness_goes_on() -> None:
    view = PassView(Table(match_info(), 1, 1, 0, 0, RULES.pass_cycle[0], CLUBS, (0, 0, 0, 0)))
    assert view.random is view.random
    assert view.random.random() != view.random.random()
