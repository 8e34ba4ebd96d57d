"""Every view of a sitting, compared with the engine's account of the same hand."""

from __future__ import annotations

from collections import Counter

import pytest

from arbiter.engine import Phase, compile_rules, mask_of, new_hand, rule_set
from arbiter.links import LocalLink
from arbiter.match import HandRecord, SittingRecord
from arbiter.sdk import Card, CardView, HandResult, MoonView, PassView
from tests.match.support import Uniform, plan_of, play

Key = tuple[int, int, int]


class Witness(Uniform):
    """Notes all that its views show, by board, hand and decision."""

    def __init__(self) -> None:
        self.passes: dict[Key, tuple[object, ...]] = {}
        self.cards: dict[Key, tuple[object, ...]] = {}
        self.results: dict[Key, tuple[object, ...]] = {}
        self.moons = 0

    def choose_pass(self, view: PassView) -> list[Card]:
        common = (view.seat, view.dealer, view.direction, view.totals, view.players)
        self.passes[view.board, view.hand_number, 0] = (*common, mask_of(view.hand), view.hand_mask, view.pass_count)
        return super().choose_pass(view)

    def choose_card(self, view: CardView) -> Card:
        common = (view.seat, view.dealer, view.direction, view.totals, view.players)
        own = (mask_of(view.hand), view.hand_mask, mask_of(view.legal), view.legal_mask)
        shown = (view.leader, [card.index for card in view.trick], view.hearts_broken, view.points, list(view.tricks))
        exchanged = ([card.index for card in view.passed], [card.index for card in view.received])
        self.cards[view.board, view.hand_number, len(view.tricks)] = (*common, *own, *shown, *exchanged)
        return super().choose_card(view)

    def choose_moon(self, view: MoonView) -> bool:
        self.moons += 1
        return super().choose_moon(view)

    def hand_ended(self, result: HandResult) -> None:
        key = (result.table.board, result.table.hand_number, 0)
        self.results[key] = (result.points, result.totals, result.moon, result.table.tricks)


def expected(record: SittingRecord, place: int) -> Witness:
    """What a witness in this place should have noted."""
    rules = compile_rules(record.plan.rules)
    witness = Witness()
    before: dict[int, tuple[int, ...]] = {}
    for done in record.hands:
        seat = done.places.index(place)
        totals = before.get(done.board, (rules.source.start,) * rules.seats)
        common = (seat, done.dealer, done.direction, totals, rules.seats)
        hand = new_hand(rules, done.dealt, dealer=done.dealer, direction=done.direction, kitty=done.kitty)
        if hand.phase is Phase.PASSING:
            assert done.passed is not None
            key = (done.board, done.number, 0)
            witness.passes[key] = (*common, done.dealt[seat], done.dealt[seat], rules.source.pass_count)
            hand.exchange(done.passed)
        passed = list(hand.passed[seat]) if hand.passed else []
        received = list(hand.received[seat]) if hand.received else []
        for card in cards_in_order(done):
            if hand.turn == seat:
                own = (hand.hands[seat], hand.hands[seat], hand.legal, hand.legal)
                shown = (hand.leader, list(hand.trick), hand.broken, hand.points, list(hand.tricks))
                witness.cards[done.board, done.number, len(hand.tricks)] = (*common, *own, *shown, passed, received)
            hand.play(card)
        witness.results[done.board, done.number, 0] = (done.points, done.totals, done.moon, list(done.tricks))
        before[done.board] = done.totals
    return witness


def cards_in_order(done: HandRecord) -> list[int]:
    return [card for trick in done.tricks for card in trick.cards]


@pytest.mark.parametrize(
    ("name", "options", "game", "boards"),
    [
        ("black_lady", ("choice_moon",), False, 8),
        ("black_lady", (), True, 2),
        ("bga", (), True, 1),
        ("cancellation", (), False, 4),
        ("black_maria_3", (), False, 4),
        ("omnibus", (), False, 4),
    ],
)
def test_views_are_true(name: str, options: tuple[str, ...], game: bool, boards: int) -> None:
    plan = plan_of(rule_set(name, options), boards=boards, game=game, seating=1)
    witnesses = [Witness() for _ in plan.bots]
    record = play(plan, [LocalLink(witness) for witness in witnesses])
    for place, witness in enumerate(witnesses):
        truth = expected(record, place)
        assert witness.passes == truth.passes
        assert witness.cards == truth.cards
        assert witness.results == truth.results
    assert Counter(len(witness.cards) for witness in witnesses) == {
        sum(len(hand.tricks) for hand in record.hands): len(witnesses)
    }


class Careless(Witness):
    """Tries to pass one card too often, at every other board."""

    def choose_pass(self, view: PassView) -> list[Card]:
        cards = super().choose_pass(view)
        return [cards[0]] * view.pass_count if view.board % 2 else cards


def test_what_a_stand_in_passed_is_what_is_shown_of_it() -> None:
    careless = Careless()
    record = play(plan_of(boards=6), [LocalLink(careless), *(LocalLink(Uniform()) for _ in range(3))])
    refused = [hand for hand in record.hands if hand.faults]
    assert [hand.board for hand in refused] == [1, 3, 5]
    assert careless.cards == expected(record, 0).cards
