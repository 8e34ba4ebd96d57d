"""Columns hold what views hold, and what a bot answers in columns is what is sent, or is refused with a reason."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.engine import PassDirection, rule_set
from arbiter.engine.columns import pick
from arbiter.links import FaultCode
from arbiter.match import SittingPlan
from arbiter.sdk import CardView, HandResult, MoonView, PassView
from arbiter.sdk.columns import (
    CardBatch,
    Cards,
    ColumnBot,
    Flags,
    MoonBatch,
    PassBatch,
    ResultBatch,
    bits,
    highest_cards,
    lowest_cards,
)
from arbiter.wire.rule_set import direction_to_number
from tests.match.support import VARIANTS, BentLink, DisorderlyLink, Uniform, check, plan_of, play

MASK = (1 << 52) - 1
Told = dict[tuple[Any, ...], tuple[Any, ...]]
"""By decision: what a bot was told of it."""


class ByView(Uniform):
    """Highest cards; keeps what the views say."""

    def __init__(self) -> None:
        self.told: Told = {}

    def choose_pass(self, view: PassView) -> Any:
        known = view.dealer, direction_to_number(view.direction), tuple(view.totals), view.hand_mask
        self.told["pass", view.board, view.table.hand_number, view.seat] = known
        return view.hand[-view.pass_count :]

    def choose_card(self, view: CardView) -> Any:
        counts = [0] * 52
        for trick in view.tricks:
            for card in trick.cards:
                counts[card] += 1
        pass_count = view.rules.pass_count
        self.told["card", view.board, view.table.hand_number, view.seat, len(view.tricks)] = (
            view.hand_mask,
            view.legal_mask,
            view.leader,
            view.trick_indexes,
            view.hearts_broken,
            view.points,
            counts,
            [card.index for card in view.received] or [-1] * pass_count,
            [card.index for card in view.passed] or [-1] * pass_count,
        )
        return view.legal[-1]

    def choose_moon(self, view: MoonView) -> bool:
        self.told["moon", view.board, view.table.hand_number] = view.seat, view.subtract_by_default
        return False

    def hand_ended(self, result: HandResult) -> None:
        table = result.table
        moon = -1 if result.moon is None else result.moon
        self.told["end", table.board, table.hand_number] = table.seat, result.points, result.totals, moon


class ByColumn(ColumnBot):
    """The same over columns."""

    def __init__(self) -> None:
        self.told: Told = {}

    def choose_passes(self, batch: PassBatch) -> Cards:
        at = zip(batch.board.tolist(), batch.hand_number.tolist(), batch.seat.tolist(), strict=True)
        hand = [low | high << 52 for low, high in zip(batch.hand.tolist(), batch.hand_twice.tolist(), strict=True)]
        known = zip(
            batch.dealer.tolist(), batch.direction.tolist(), map(tuple, batch.totals.tolist()), hand, strict=True
        )
        self.told.update((("pass", *where), what) for where, what in zip(at, known, strict=True))
        return np.array([sorted(_cards(mask))[-batch.pass_count :] for mask in hand])

    def choose_cards(self, batch: CardBatch) -> Cards:
        at = zip(
            batch.board.tolist(),
            batch.hand_number.tolist(),
            batch.seat.tolist(),
            batch.trick_count.tolist(),
            strict=True,
        )
        tricks = [
            tuple(cards[:size]) for cards, size in zip(batch.trick.tolist(), batch.trick_size.tolist(), strict=True)
        ]
        assert all(set(cards[size:]) <= {-1} for cards, size in zip(batch.trick, batch.trick_size, strict=True))
        known = zip(
            [low | high << 52 for low, high in zip(batch.hand.tolist(), batch.hand_twice.tolist(), strict=True)],
            batch.legal.tolist(),
            batch.leader.tolist(),
            tricks,
            batch.hearts_broken.tolist(),
            map(tuple, batch.points.tolist()),
            batch.played.tolist(),
            batch.received.tolist(),
            batch.passed.tolist(),
            strict=True,
        )
        self.told.update((("card", *where), what) for where, what in zip(at, known, strict=True))
        return highest_cards(batch.legal)

    def choose_moons(self, batch: MoonBatch) -> Flags:
        for board, hand, seat, default in zip(
            batch.board.tolist(),
            batch.hand_number.tolist(),
            batch.seat.tolist(),
            batch.subtract_by_default.tolist(),
            strict=True,
        ):
            self.told["moon", board, hand] = seat, default
        return np.zeros(len(batch), dtype=np.bool_)

    def hands_ended(self, batch: ResultBatch) -> None:
        for board, hand, seat, points, totals, moon in zip(
            batch.board.tolist(),
            batch.hand_number.tolist(),
            batch.seat.tolist(),
            batch.points.tolist(),
            batch.totals_after.tolist(),
            batch.moon.tolist(),
            strict=True,
        ):
            self.told["end", board, hand] = seat, tuple(points), tuple(totals), moon


def _cards(mask: int) -> list[int]:
    return [card % 52 for card in range(104) if mask >> card & 1]


def _compare(plan: SittingPlan) -> Told:
    """Play a sitting in both forms, the tables of one of them out of order; what both were told."""
    views, columns = [ByView() for _ in plan.bots], [ByColumn() for _ in plan.bots]
    record = play(plan, [BentLink(bot) for bot in views])
    assert check(play(plan, [DisorderlyLink(bot, seed) for seed, bot in enumerate(columns)])) == check(record)
    for by_view, by_column in zip(views, columns, strict=True):
        assert by_column.told == by_view.told
    return views[0].told


@pytest.mark.parametrize(
    ("name", "options"), VARIANTS, ids=lambda value: value if isinstance(value, str) else "".join(value)
)
def test_columns_say_what_views_say(name: str, options: tuple[str, ...]) -> None:
    told = _compare(plan_of(rule_set(name, options), boards=5))
    assert {kind for kind, *_ in told} >= {"card", "end"}


def test_columns_know_games_and_moons() -> None:
    """Hearts of no value: whoever takes the queen shoots the moon, and chooses."""
    rules = rule_set("black_lady", ("choice_moon",), {"heart_value": 0, "target": 40})
    told = _compare(plan_of(rules, boards=3, game=True))
    assert {kind for kind, *_ in told} == {"pass", "card", "moon", "end"}
    assert max(key[2] for key in told) > 1


class Drawing(ColumnBot):
    """Any legal card, by the batch's own draws, which it keeps."""

    def __init__(self) -> None:
        self.drawn: dict[tuple[int, int, int], float] = {}

    def _draws(self, batch: PassBatch | CardBatch, number: list[int]) -> Any:
        draws = batch.draws()
        keys = zip(batch.board.tolist(), batch.hand_number.tolist(), number, strict=True)
        self.drawn.update(zip(keys, draws.tolist(), strict=True))
        return draws

    def choose_passes(self, batch: PassBatch) -> Cards:
        first = pick(batch.hand, self._draws(batch, [-1] * len(batch)))
        second = lowest_cards(batch.hand & ~bits(first))
        return np.stack([first, second, lowest_cards(batch.hand & ~bits(first) & ~bits(second))], axis=1)

    def choose_cards(self, batch: CardBatch) -> Cards:
        return pick(batch.legal, self._draws(batch, batch.trick_count.tolist()))


def test_draws_depend_on_the_decision_alone() -> None:
    plan = plan_of(boards=40)
    once, again = [Drawing() for _ in plan.bots], [Drawing() for _ in plan.bots]
    first = check(play(plan, [BentLink(bot) for bot in once]))
    assert check(play(plan, [DisorderlyLink(bot, seed) for seed, bot in enumerate(again)])) == first
    drawn = [draw for bot in once for draw in bot.drawn.values()]
    assert len(set(drawn)) == len(drawn) > 2000, "each decision of each bot has a draw of its own"
    assert min(drawn) >= 0
    assert max(drawn) < 1
    # Of so many fair draws the mean is off by more than this once in ten million runs; these are always the same.
    assert abs(float(np.mean(drawn)) - 0.5) < 5.3 * 12**-0.5 * len(drawn) ** -0.5


class Wrong(ByColumn):
    """Answers with whatever it is given."""

    def __init__(self, cards: Any = None, passes: Any = None, moons: Any = None) -> None:
        super().__init__()
        self._cards, self._passes, self._moons = cards, passes, moons

    def choose_passes(self, batch: PassBatch) -> Cards:
        right = super().choose_passes(batch)
        return right if self._passes is None else self._passes(right)

    def choose_cards(self, batch: CardBatch) -> Cards:
        right = super().choose_cards(batch)
        return right if self._cards is None else self._cards(right)

    def choose_moons(self, batch: MoonBatch) -> Flags:
        right = super().choose_moons(batch)
        return right if self._moons is None else self._moons(right)


@pytest.mark.parametrize(
    ("bot", "said"),
    [
        (lambda: Wrong(cards=lambda right: right[:, None]), "choose_cards gave an array of shape"),
        (
            lambda: Wrong(cards=lambda right: right * 1.0),
            "choose_cards gave an array of float64; card indexes are whole",
        ),
        (lambda: Wrong(cards=lambda right: right - 52), "card indexes run from 0 to 51"),
        (lambda: Wrong(cards=lambda right: right + 52), "card indexes run from 0 to 51"),
        (
            lambda: Wrong(passes=lambda right: right[:, :2]),
            "choose_passes gave an array of shape (9, 2); one of (9, 3)",
        ),
        (lambda: Wrong(moons=lambda right: right * 1), "choose_moons gave int64 of shape"),
    ],
)
def test_a_wrong_array_is_a_crash_that_says_so(bot: Any, said: str) -> None:
    rules = rule_set("black_lady", ("choice_moon",), {"heart_value": 0})
    assert PassDirection.NONE not in rules.pass_cycle[:1]
    links = []
    for _ in range(4):
        links.append(BentLink(bot()))
    plan = plan_of(rules, boards=12, fault_limit=1000)
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        play(plan, links)


def test_an_illegal_card_goes_to_the_arbiter() -> None:
    record = play(
        plan_of(boards=4, fault_limit=1000),
        [BentLink(Wrong(cards=lambda right: (right + 1) % 52)), *(BentLink(ByColumn()) for _ in range(3))],
    )
    assert FaultCode.ILLEGAL_PLAY in {fault.code for hand in record.hands for fault in hand.faults}
    assert not record.faults


@given(st.lists(st.integers(1, MASK), min_size=1, max_size=8))
def test_ends_of_masks(masks: list[int]) -> None:
    column = np.array(masks, dtype=np.uint64)
    assert lowest_cards(column).tolist() == [_cards(mask)[0] for mask in masks]
    assert highest_cards(column).tolist() == [_cards(mask)[-1] for mask in masks]
    assert (bits(lowest_cards(column)) & ~column == 0).all()
