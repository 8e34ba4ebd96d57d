"""Bots made to misbehave: the right code, the others unharmed, the sitting complete, the stand-in noted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import rule_set
from arbiter.errors import InfrastructureError
from arbiter.links import Ending, FaultCode, LinkLost, LocalLink
from arbiter.match import Clock, Fault, SittingRecord
from arbiter.sdk import Card, CardView, PassView
from tests.match import held
from tests.match.support import Bend, BentLink, Uniform, check, plan_of, play, sit

BAD = 1
"""Place of the bot that misbehaves; it is entrant 11."""

QUICK = Clock(hard_stop=0.05)
"""For bots that fall silent."""


def sitting(bend: Bend, *, fault_limit: int = 3, clock: Clock | None = None, boards: int = 3) -> SittingRecord:
    """A sitting with one bent bot, after it was seen that nobody else has come to harm."""
    plan = plan_of(boards=boards, fault_limit=fault_limit, clock=clock)
    record = play(plan, [BentLink(Uniform(), bend) if place == BAD else LocalLink(Uniform()) for place in range(4)])
    for fault in all_faults(record):
        assert fault.entrant == 10 + BAD
    for hand in record.hands:
        assert {hand.places[seat] for seat in hand.stand_ins} <= {BAD}
    assert [ending.ending for place, ending in enumerate(record.endings) if place != BAD] == ["ended"] * 3
    return record


def all_faults(record: SittingRecord) -> list[Fault]:
    return [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]


def stood_in(record: SittingRecord) -> int:
    """Number of hands in which the stand-in decided at least once."""
    return sum(bool(hand.stand_ins) for hand in record.hands)


def once(change: Callable[[pb.SitRequest], Iterable[pb.SitRequest | LinkLost]], kind: str, nth: int = 1) -> Bend:
    """Bends the nth message that holds answers of this kind, and no other."""
    seen = 0

    def bend(message: pb.SitRequest) -> Iterable[pb.SitRequest | LinkLost]:
        nonlocal seen
        if not getattr(message, kind).request_id:
            return [message]
        seen += 1
        return change(message) if seen == nth else [message]

    return bend


def card(index: int) -> Callable[[pb.SitRequest], Iterable[pb.SitRequest]]:
    def change(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
        message.plays.card[0] = index
        return [message]

    return change


def cards_passed(change_cards: Callable[[list[int]], list[int]]) -> Callable[[pb.SitRequest], Iterable[pb.SitRequest]]:
    """Changes the first of a message's passes, which is sent alone; the others follow as they were."""

    def change(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
        ids, cards = list(message.passes.request_id), list(message.passes.cards)
        yield pb.SitRequest(passes=pb.PassAnswers(request_id=ids[:1], cards=change_cards(cards[:3])))
        yield pb.SitRequest(passes=pb.PassAnswers(request_id=ids[1:], cards=cards[3:]))

    return change


class TestIllegalMoves:
    @pytest.mark.parametrize("index", [52, 99, 2**32 - 1])
    def test_no_card_at_all(self, index: int) -> None:
        record = sitting(once(card(index), "plays", 5))
        (fault,) = all_faults(record)
        assert fault.code is FaultCode.ILLEGAL_PLAY
        assert fault.detail.startswith(f"{index} is no card index (0 to 51); legal: ")
        assert None not in (fault.board, fault.hand, fault.seat, fault.trick)
        assert stood_in(record) == 1
        (hand,) = (hand for hand in record.hands if hand.faults)
        assert (hand.board, hand.number) == (fault.board, fault.hand)
        assert hand.stand_ins == (fault.seat,)
        assert hand.places.index(BAD) == fault.seat

    def test_a_card_that_is_not_held(self) -> None:
        def twice(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            message.plays.card[0] = played[0]
            return [message]

        played: list[int] = []

        def bend(message: pb.SitRequest) -> Iterable[pb.SitRequest | LinkLost]:
            if message.plays.card and not played:
                played.extend(message.plays.card[:1])
                return [message]
            return second(message)

        second = once(twice, "plays")
        (fault,) = all_faults(sitting(bend, boards=1))
        assert fault.code is FaultCode.ILLEGAL_PLAY
        assert f"{Card(played[0])} is not in the hand; legal: " in fault.detail

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda cards: cards[:2], "2 cards passed; the rules want 3"),
            (lambda cards: [*cards, cards[0]], "4 cards passed; the rules want 3"),
            (lambda cards: [], "0 cards passed; the rules want 3; sent nothing"),
            (lambda cards: [cards[0], cards[0], cards[1]], "passed more often than held"),
            (lambda cards: [cards[0], cards[1], 99], "99 is no card"),
            (lambda cards: [cards[0], cards[1], 2**32 - 1], f"{2**32 - 1} is no card"),
            (lambda cards: cards * 10_000, "30000 cards passed; the rules want 3"),
        ],
    )
    def test_an_illegal_pass(self, change: Callable[[list[int]], list[int]], reason: str) -> None:
        record = sitting(once(cards_passed(change), "passes"))
        (fault,) = all_faults(record)
        assert fault.code is FaultCode.ILLEGAL_PASS
        assert reason in fault.detail
        assert len(fault.detail) < 200
        assert (fault.board, fault.trick) == (1, None)
        assert stood_in(record) == 1

    def test_a_card_passed_that_is_not_held(self) -> None:
        class Greedy(Uniform):
            def choose_pass(self, view: PassView) -> list[Card]:
                return [Card(index) for index in range(52) if not view.hand_mask >> index & 1][:3]

        plan = plan_of(boards=4)
        record = play(plan, [LocalLink(Greedy() if place == BAD else Uniform()) for place in range(4)])
        faults = all_faults(record)
        assert [fault.code for fault in faults] == [FaultCode.ILLEGAL_PASS] * 3  # the fourth board has no pass
        assert all("passed but not held" in fault.detail for fault in faults)


class TestBrokenProtocol:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda message: [pb.SitRequest(plays=pb.PlayAnswers(request_id=[9999], card=[1])), message], "9999"),
            (lambda message: [pb.SitRequest(), message], "answers nothing"),
            (lambda message: [pb.SitRequest(greeting=pb.Greeting(max_open_tables=9)), message], "answers nothing"),
            (lambda message: [message, message], "answers nothing"),
            (
                lambda message: [
                    pb.SitRequest(moons=pb.MoonAnswers(request_id=message.plays.request_id[:1], subtract=[True])),
                    message,
                ],
                "asks for no moon",
            ),
            (
                lambda message: [
                    pb.SitRequest(plays=pb.PlayAnswers(request_id=[1] * 500_000, card=[1] * 500_000)),
                    message,
                ],
                "500000 answers in a message, but 3 can be due at the most",
            ),
        ],
    )
    def test_nonsense_is_charged_and_nothing_of_it_applied(
        self, change: Callable[[pb.SitRequest], Iterable[pb.SitRequest]], reason: str
    ) -> None:
        record = sitting(once(change, "plays", 3))
        honest = sitting(lambda message: [message])
        (fault,) = all_faults(record)
        assert fault.code is FaultCode.PROTOCOL_ERROR
        assert reason in fault.detail
        assert record.hands == honest.hands, "the right answers stand, whatever nonsense came beside them"

    def test_requests_in_columns_of_unequal_length_are_answered_by_the_stand_in(self) -> None:
        def torn(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            return [pb.SitRequest(plays=pb.PlayAnswers(request_id=message.plays.request_id, card=[]))]

        record = sitting(once(torn, "plays", 3))
        (fault,) = all_faults(record)
        assert fault.code is FaultCode.PROTOCOL_ERROR
        assert "columns of unequal length" in fault.detail
        assert stood_in(record) > 0

    def test_a_request_that_was_not_sent_yet_cannot_be_answered(self) -> None:
        def guess(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            # The last pass of a table makes a card due at once: from this bot, where it holds the card that opens.
            message.plays.request_id.append(max(message.passes.request_id) + 1)
            message.plays.card.append(51)
            return [message]

        plan = plan_of(rule_set("black_lady", (), {"pass_cycle": ["left"]}), boards=12)
        record = play(plan, [BentLink(Uniform(), once(guess, "passes") if place == 3 else None) for place in range(4)])
        honest = play(plan, [BentLink(Uniform()) for _ in range(4)])
        assert any(hand.places[hand.tricks[0].leader] == 3 for hand in honest.hands)
        assert record.hands == honest.hands
        (fault,) = record.faults
        assert (fault.entrant, fault.code) == (13, FaultCode.PROTOCOL_ERROR)
        assert fault.detail.endswith("which asks for no card")

    def test_a_repeated_answer_never_reaches_another_decision(self) -> None:
        def repeat(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            again = pb.SitRequest()
            again.CopyFrom(message)
            again.MergeFrom(pb.SitRequest(plays=pb.PlayAnswers(request_id=message.plays.request_id, card=[51])))
            return [again]

        record = sitting(once(repeat, "plays", 1), boards=1)
        honest = sitting(lambda message: [message], boards=1)
        assert record.hands == honest.hands

    def test_of_a_message_of_nonsense_no_more_is_charged_than_puts_a_bot_out(self) -> None:
        def flood(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            return [pb.SitRequest(plays=pb.PlayAnswers(request_id=range(5000, 5050), card=[1] * 50))]

        record = sitting(once(flood, "plays"), boards=60)
        assert [fault.code for fault in all_faults(record)] == [FaultCode.PROTOCOL_ERROR] * 4

    def test_a_flood_of_empty_messages_puts_a_bot_out(self) -> None:
        record = sitting(once(lambda message: [pb.SitRequest()] * 1000, "plays"))
        assert [fault.code for fault in all_faults(record)] == [FaultCode.PROTOCOL_ERROR] * 4
        assert stood_in(record) == 3


class TestLostBots:
    def test_a_crash_in_the_middle(self) -> None:
        class Fragile(Uniform):
            decisions = 0

            def choose_card(self, view: CardView) -> Card:
                self.decisions += 1
                if self.decisions == 20:
                    raise ZeroDivisionError("by accident")
                return super().choose_card(view)

        plan = plan_of(boards=4)
        record = play(plan, [LocalLink(Fragile() if place == BAD else Uniform()) for place in range(4)])
        (fault,) = all_faults(record)
        assert (fault.entrant, fault.code) == (11, FaultCode.CRASH)
        assert fault.detail == "ZeroDivisionError: by accident"
        assert stood_in(record) == 4
        assert record.endings[BAD].ending == "raised ZeroDivisionError"
        assert b"by accident" in record.endings[BAD].log

    @pytest.mark.parametrize("code", [FaultCode.CRASH, FaultCode.DISCONNECT, FaultCode.OUT_OF_MEMORY])
    def test_a_link_that_is_lost_says_why(self, code: FaultCode) -> None:
        record = sitting(once(lambda message: [LinkLost(code, "as seen")], "plays", 4))
        assert [(fault.code, fault.detail) for fault in all_faults(record)] == [(code, "as seen")]
        assert record.faults[0].board is not None
        assert stood_in(record) == 3

    @pytest.mark.parametrize("kind", ["passes", "plays"])
    def test_a_silent_bot_is_cut_off_at_the_hard_stop(self, kind: str) -> None:
        record = sitting(once(lambda message: [], kind), clock=QUICK)
        (fault,) = all_faults(record)
        assert fault.code is FaultCode.TIMEOUT
        assert "silent for the hard stop of 0.05 s, used 0.150 s in all; requests open: " in fault.detail
        assert stood_in(record) == 3

    def test_a_bot_that_is_left_with_one_of_its_answers_is_silent_too(self) -> None:
        def part(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            plays = pb.PlayAnswers(request_id=message.plays.request_id[1:], card=message.plays.card[1:])
            return [pb.SitRequest(plays=plays)] if plays.request_id else []

        (fault,) = all_faults(sitting(once(part, "plays"), clock=QUICK))
        assert fault.code is FaultCode.TIMEOUT
        assert "requests open: 1" in fault.detail

    def test_a_bot_that_does_not_read_is_cut_off_too(self) -> None:
        class Deaf(BentLink):
            async def send(self, batch: pb.SitResponse) -> None:
                if len(self.batches) == 3:
                    await asyncio.Event().wait()
                await super().send(batch)

        plan = plan_of(boards=3, clock=QUICK)
        deaf = Deaf(Uniform())
        record = play(plan, [deaf if place == BAD else LocalLink(Uniform()) for place in range(4)])
        (fault,) = all_faults(record)
        assert (fault.entrant, fault.code) == (11, FaultCode.TIMEOUT)

    def test_a_lost_bot_is_ended_before_the_sitting_goes_on(self) -> None:
        ended_at: list[int] = []

        class Watched(BentLink):
            async def close(self, grace: float) -> Ending:
                ended_at.append(len(hands))
                return await super().close(grace)

        hands: list[int] = []
        plan = plan_of(boards=8, open_tables=1)
        links = [
            Watched(Uniform(), once(lambda message: [LinkLost(FaultCode.CRASH, "gone")], "plays"))
            if place == BAD
            else BentLink(Uniform())
            for place in range(4)
        ]
        record = held.run(sit(plan, links, lambda: hands.append(1)))
        check(record)
        assert ended_at[0] < 8
        assert ended_at[-1] == 8

    @pytest.mark.parametrize("game", [False, True])
    def test_when_no_bot_starts_the_stand_in_plays_everything(self, game: bool) -> None:
        class Stillborn(BentLink):
            async def open(self, patience: float) -> pb.Greeting:
                raise LinkLost(FaultCode.CRASH, "ended before its greeting")

        # A game so long that a hand that starts the next one from within would come to the interpreter's limit.
        rules = rule_set("black_lady", (), {"target": 4000} if game else {})
        record = play(plan_of(rules, boards=1 if game else 8, game=game), [Stillborn(Uniform()) for _ in range(4)])
        assert sorted(fault.entrant for fault in record.faults) == [10, 11, 12, 13]
        assert all(hand.stand_ins == (0, 1, 2, 3) for hand in record.hands)
        assert len(record.hands) > (300 if game else 7)

    def test_what_fails_outside_the_bots_ends_the_sitting_and_every_bot(self) -> None:
        class Unstartable(BentLink):
            async def open(self, patience: float) -> pb.Greeting:
                raise InfrastructureError("no cage can be built")

        links = [Unstartable(Uniform()) if place == BAD else BentLink(Uniform()) for place in range(4)]
        with pytest.raises(InfrastructureError, match="no cage can be built"):
            held.run(sit(plan_of(), links))
        assert all(link.closed for link in links)


class TestFaultLimit:
    @pytest.mark.parametrize(("limit", "told"), [(0, 1), (2, 3)])
    def test_one_fault_over_the_limit_puts_a_bot_out(self, limit: int, told: int) -> None:
        def wrong(message: pb.SitRequest) -> Iterable[pb.SitRequest]:
            for row in range(len(message.plays.card)):
                message.plays.card[row] = 99
            return [message]

        record = sitting(wrong, fault_limit=limit, boards=4)
        assert [fault.code for fault in all_faults(record)] == [FaultCode.ILLEGAL_PLAY] * told
        assert not record.faults
        assert stood_in(record) == 4

    def test_faults_up_to_the_limit_are_borne_and_told(self) -> None:
        def bend(message: pb.SitRequest) -> Iterable[pb.SitRequest | LinkLost]:
            return first(message) if len(told) else second(message)

        told: list[int] = []
        first = second = once(card(77), "plays", 2)
        plan = plan_of(boards=1, fault_limit=1)
        link = BentLink(Uniform(), bend)
        record = play(plan, [link if place == BAD else LocalLink(Uniform()) for place in range(4)])
        notes = [detail for batch in link.batches for detail in batch.faults.detail]
        (fault,) = all_faults(record)
        assert notes == [fault.detail]
        assert link.batches[-1].HasField("match_end")


class Revoker(Uniform):
    """Does not follow suit whenever it could choose not to."""

    def choose_card(self, view: CardView) -> Card:
        if view.trick:
            led = view.trick[0].suit
            others = [held for held in view.hand if held.suit is not led]
            if others and any(held.suit is led for held in view.hand):
                return others[0]
        return super().choose_card(view)


@pytest.mark.parametrize("name", ["hartenjagen", "original_1880"])
@pytest.mark.parametrize("game", [False, True])
def test_a_punished_revoke_ends_the_hand_and_harms_nobody_else(name: str, game: bool) -> None:
    plan = plan_of(name, boards=2 if game else 8, game=game, fault_limit=1000)
    record = play(plan, [LocalLink(Revoker() if place == BAD else Uniform()) for place in range(4)])
    assert not record.faults, "a hand that ends before all have played crashes nobody"
    offences = [hand for hand in record.hands if hand.offenders]
    assert len(offences) > len(record.hands) / 2
    total = 26 if name == "hartenjagen" else 13
    for hand in offences:
        (offender,) = hand.offenders
        assert hand.places[offender] == BAD
        assert hand.points == tuple(total if seat == offender else 0 for seat in range(4))
        assert [fault.code for fault in hand.faults] == [FaultCode.ILLEGAL_PLAY]
        assert "does not follow" in hand.faults[0].detail
        assert hand.moon is None


def test_all_revoke_and_games_still_end() -> None:
    record = play(
        plan_of("original_1880", boards=3, game=True, fault_limit=1000), [LocalLink(Revoker()) for _ in range(4)]
    )
    assert not record.faults
    assert any(not hand.tricks for hand in record.hands)
