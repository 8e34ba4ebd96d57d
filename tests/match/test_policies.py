"""What a fault costs under each policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import RULE_SETS, compile_rules, new_hand, rule_set
from arbiter.links import FaultCode, LinkLost
from arbiter.match import (
    FaultPolicy,
    HandRecord,
    ReplayError,
    SittingRecord,
    replay_of,
    verify_replay,
)
from arbiter.sdk import Bot, Card, CardView, PassView
from tests.match.support import Bend, BentLink, Uniform, plan_of, play

BAD = 1


class Cheat(Uniform):
    """Now and then plays a card that it does not hold."""

    def choose_card(self, view: CardView) -> Card:
        if len(view.hand) == 6:
            return next(card for card in (Card(index) for index in range(52)) if card not in view.hand)
        return super().choose_card(view)


class BadPasser(Uniform):
    """Passes one card three times."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.hand[:1] * view.pass_count


def leave_after(messages: int) -> Bend:
    left = [messages]

    def bend(message: pb.SitRequest) -> list[pb.SitRequest | LinkLost]:
        left[0] -= 1
        return [message] if left[0] >= 0 else [LinkLost(FaultCode.CRASH, "gone")]

    return bend


def sitting(
    bot: Callable[[], Bot] = Uniform,
    bend: Callable[[], Bend] | None = None,
    *,
    name: str = "black_lady",
    policy: FaultPolicy = FaultPolicy.PENALTY,
    boards: int = 8,
    game: bool = False,
    fault_limit: int = 1000,
    open_tables: int = 64,
) -> SittingRecord:
    plan = plan_of(
        name, boards=boards, game=game, fault_policy=policy, fault_limit=fault_limit, open_tables=open_tables
    )
    links = [
        BentLink(bot() if place == BAD else Uniform(), bend() if bend and place == BAD else None)
        for place in range(plan.rules.players)
    ]
    return play(plan, links)


def seat_of(hand: HandRecord) -> int:
    return hand.places.index(BAD)


@pytest.mark.parametrize("name", [name for name in RULE_SETS if rule_set(name).winner != "highest"])
def test_an_illegal_card_ends_the_hand_and_costs_its_whole_total(name: str) -> None:
    record = sitting(Cheat, name=name)
    assert len(record.hands) == 8
    for hand in record.hands:
        assert hand.offenders == (seat_of(hand),)
        assert hand.stand_ins == ()
        assert [fault.code for fault in hand.faults] == [FaultCode.ILLEGAL_PLAY]
        assert hand.moon is None
        assert max(hand.points) == hand.points[seat_of(hand)] > 0
        assert [points for seat, points in enumerate(hand.points) if seat != seat_of(hand)] == [0] * (
            len(hand.points) - 1
        )


def test_an_illegal_pass_ends_the_hand_once_all_have_passed() -> None:
    record = sitting(BadPasser)
    passing = [hand for hand in record.hands if hand.passed is not None]
    assert len(passing) == 6
    for hand in passing:
        assert (hand.offenders, hand.stand_ins) == ((seat_of(hand),),) * 2, "its pass was made for it"
        assert hand.tricks == ()
        assert hand.points[seat_of(hand)] == sum(hand.points) == 26
    assert not any(hand.offenders for hand in record.hands if hand.passed is None)


def test_two_who_fail_in_one_pass_both_pay() -> None:
    plan = plan_of(boards=1, fault_policy=FaultPolicy.PENALTY)
    record = play(plan, [BentLink(BadPasser() if place in (0, 2) else Uniform()) for place in range(4)])
    (hand,) = record.hands
    assert [hand.places[seat] for seat in hand.offenders] == [0, 2]
    assert sorted(hand.points) == [0, 0, 26, 26]


@pytest.mark.parametrize("after", [0, 1, 7, 40])
def test_a_lost_bot_pays_for_the_hands_under_way_and_the_stand_in_plays_the_others(after: int) -> None:
    record = sitting(bend=lambda: leave_after(after), boards=12, open_tables=3)
    assert [(fault.code, fault.lost) for fault in record.faults] == [(FaultCode.CRASH, True)]
    paid = [hand for hand in record.hands if hand.offenders]
    assert len(paid) == 3
    assert all(hand.points[seat_of(hand)] == sum(hand.points) == 26 for hand in paid)
    whole = [hand for hand in record.hands if not hand.offenders]
    assert all(len(hand.tricks) == 13 for hand in whole)
    assert {hand.stand_ins == (seat_of(hand),) for hand in whole} == ({True, False} if after == 40 else {True})


def test_a_bot_over_the_limit_pays_no_more_and_the_stand_in_plays_on() -> None:
    record = sitting(Cheat, fault_limit=2, open_tables=1)
    assert [len(hand.offenders) for hand in record.hands] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert [len(hand.faults) for hand in record.hands] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert all(len(hand.tricks) == 13 and hand.stand_ins == (seat_of(hand),) for hand in record.hands[3:])


def test_a_game_comes_to_its_end_whatever_a_bot_does() -> None:
    """Else it would tie the others at 0 for ever."""
    record = sitting(Cheat, boards=1, game=True, fault_limit=10)
    assert [len(hand.offenders) for hand in record.hands[:13]] == [1] * 12 + [0], "the twelfth was under way"
    assert record.hands[10].totals.count(0) == 3
    crashed = sitting(bend=lambda: leave_after(3), boards=1, game=True)
    assert sum(len(hand.offenders) for hand in crashed.hands) == 1


@pytest.mark.parametrize("policy", [FaultPolicy.STAND_IN, FaultPolicy.FORFEIT_MATCH])
def test_under_the_other_policies_the_stand_in_plays_on(policy: FaultPolicy) -> None:
    record = sitting(Cheat, policy=policy)
    assert all(len(hand.tricks) == 13 and not hand.offenders for hand in record.hands)
    assert all(hand.stand_ins == (seat_of(hand),) for hand in record.hands)


class TestTampering:
    def verify(self, record: SittingRecord, **changes: object) -> None:
        first, *rest = record.hands
        hands = (replace(first, **changes), *rest)  # type: ignore[arg-type]  # any field of a hand
        verify_replay(replay_of(record.plan, hands, record.faults), record.plan.deal_seed)

    def test_a_penalty_without_a_fault(self) -> None:
        record = sitting(Cheat)
        other = (seat_of(record.hands[0]) + 1) % 4
        with pytest.raises(
            ReplayError, match=f"board 1, hand 1: ended by seat {other}, which missed no decision there"
        ):
            self.verify(record, offenders=(other,))
        honest = sitting()
        hand = honest.hands[0]
        cut = {"tricks": hand.tricks[:4], "offenders": (hand.tricks[4].leader,)}
        with pytest.raises(ReplayError, match=r"board 1, hand 1: ended by seat \d, which missed no decision there"):
            self.verify(honest, **cut)
        scored = tuple(26 * (seat in cut["offenders"]) for seat in range(4))
        claimed = {"missed": ((cut["offenders"][0], 5),), "points": scored, "totals": scored, "moon": None}
        with pytest.raises(ReplayError, match=r"board 1, hand 1: seat \d missed a decision, but no fault of entrant"):
            self.verify(honest, **cut, **claimed)

    def test_a_penalty_of_somebody_else_before_the_first_card(self) -> None:
        """In a hand without a pass nobody but the leader owes anything then."""
        record = sitting(bend=lambda: leave_after(0), boards=8, open_tables=8)
        number, hand = next((n, h) for n, h in enumerate(record.hands) if h.passed is None)
        seat = seat_of(hand)
        led = new_hand(
            compile_rules(record.plan.rules), hand.dealt, dealer=hand.dealer, direction=hand.direction, kitty=hand.kitty
        ).turn
        assert seat != led, "else nothing is tried"
        scored = tuple(26 * (each == seat) for each in range(4))
        cut = replace(
            hand, tricks=(), unfinished=(), missed=((seat, 1),), points=scored, totals=scored, offenders=(seat,)
        )
        hands = (*record.hands[:number], cut, *record.hands[number + 1 :])
        with pytest.raises(
            ReplayError, match=f"board {hand.board}, hand 1: seat {seat} missed decision 1, but the hand"
        ):
            verify_replay(replay_of(record.plan, hands, record.faults), record.plan.deal_seed)

    def test_a_lost_bot_pays_for_no_more_hands_than_were_under_way(self) -> None:
        """A worker that gives it a penalty in every hand is found out."""
        record = sitting(bend=lambda: leave_after(0), boards=8, open_tables=3)
        replay = replay_of(record.plan, record.hands, record.faults)
        verify_replay(replay, open_tables=3)
        with pytest.raises(ReplayError, match=r"missed decisions of 3 hands without an illegal answer.* have been 2"):
            verify_replay(replay, open_tables=2)

    def test_a_fault_without_its_penalty(self) -> None:
        record = sitting(BadPasser, policy=FaultPolicy.STAND_IN)
        strict = replace(replay_of(record.plan, record.hands, record.faults), fault_policy=FaultPolicy.PENALTY)
        with pytest.raises(ReplayError, match="missed decision 0, but the hand did not end by it"):
            verify_replay(strict, record.plan.deal_seed)

    def test_two_penalties_of_which_one_is_forgiven(self) -> None:
        plan = plan_of(boards=1, fault_policy=FaultPolicy.PENALTY)
        record = play(plan, [BentLink(BadPasser() if place in (0, 2) else Uniform()) for place in range(4)])
        for offenders in ((2, 0), (0, 0, 2)):
            with pytest.raises(ReplayError, match=r"board 1, hand 1: offenders at .*, which are not seats in order"):
                self.verify(record, offenders=offenders)
        scored = (26, 0, 0, 0)
        with pytest.raises(ReplayError, match="board 1, hand 1: seat 2 missed a decision, but the hand did not end"):
            self.verify(record, offenders=(0,), points=scored, totals=scored)

    def test_a_penalty_where_a_stand_in_plays(self) -> None:
        record = sitting(Cheat)
        mild = replace(replay_of(record.plan, record.hands, record.faults), fault_policy=FaultPolicy.STAND_IN)
        with pytest.raises(ReplayError, match="ended by an offence, which these rules do not know"):
            verify_replay(mild, record.plan.deal_seed)
