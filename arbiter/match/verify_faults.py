"""The part of checking a replay that is about failure: missed decisions, faults, offences, and bots that were out.

What a bot sent in place of a legal answer and when it was lost can't be recomputed. That the record agrees with itself
and with what the policy makes of it can be.
"""

from __future__ import annotations

from collections import Counter

from arbiter.engine import CARDS, Card, Hand, MoonChoice, format_cards
from arbiter.engine.rules import SUIT_MASKS
from arbiter.engine.ruleset import Revoke
from arbiter.links import ENDING_FAULTS, FaultCode
from arbiter.match.faults import Fault
from arbiter.match.plan import FaultPolicy
from arbiter.match.record import HandRecord
from arbiter.match.replay import Replay, ReplayError

_DECISION = {FaultCode.ILLEGAL_PASS: "pass", FaultCode.ILLEGAL_PLAY: "play"}
"""Faults that belong to one decision; all others are the sitting's."""


def check_who_failed(replay: Replay, record: HandRecord, where: str) -> None:
    """Seats and entrants in a hand's record of failures, before any card is looked at."""
    seats = range(replay.rules.players)
    if list(record.absent) != sorted(set(record.absent) & set(seats)):
        raise ReplayError(f"{where}: absent are {record.absent}, which are not seats in order")
    if list(record.missed) != sorted({each for each in record.missed if each[0] in seats and each[1] >= 0}):
        raise ReplayError(f"{where}: missed are {record.missed}, which are not seats and decisions in order")
    for seat, decision in record.missed:
        if seat in record.absent:
            raise ReplayError(f"{where}: seat {seat} missed decision {decision}, though it was out before the hand")
    charged: set[tuple[int, int]] = set()
    for fault in record.faults:
        if (fault.board, fault.hand) != (record.board, record.number):
            raise ReplayError(f"{where}: holds a fault of board {fault.board}, hand {fault.hand}")
        if fault.seat is None or fault.seat not in seats:
            raise ReplayError(f"{where}: a fault of seat {fault.seat}, which there is not")
        entrant = replay.bots[record.places[fault.seat]].entrant
        if fault.entrant != entrant:
            raise ReplayError(
                f"{where}: a fault of entrant {fault.entrant} in seat {fault.seat}, where entrant {entrant} sits"
            )
        if fault.code not in _DECISION or fault.lost:
            raise ReplayError(f"{where}: seat {fault.seat} has {fault.code} there, which is a fault of the sitting")
        if (due := _decision(record, fault, where)) not in record.missed:
            raise ReplayError(f"{where}: seat {fault.seat} has a fault, but no decision that it missed is recorded")
        if due in charged:
            raise ReplayError(f"{where}: seat {fault.seat} is charged twice for one decision, as {fault.code}")
        charged.add(due)


def check_missed(
    replay: Replay, record: HandRecord, hand: Hand, offered: MoonChoice | None, put_out: frozenset[int], where: str
) -> None:
    """Whoever missed a decision had it to make, and decides nothing more where it was out from then on. ``hand`` is at
    its end, ``offered`` a choice about a moon; ``put_out`` see :func:`entrants_put_out`."""
    if not record.missed:
        return
    last = len(record.tricks) + 1
    came = {(hand.leader + turn) % hand.rules.seats for turn in range(len(record.unfinished))}
    if offered is not None:
        came.add(offered.shooter)
    for seat, decision in record.missed:
        if decision == 0:
            due = record.passed is not None
        elif decision == last:
            due = seat in came or seat in record.offenders
        else:
            due = decision < last
        if not due:
            raise ReplayError(f"{where}: seat {seat} missed decision {decision}, which it did not have to make")
    explained = {_decision(record, fault, where) for fault in record.faults}
    answered = {(seat, decision) for seat in range(hand.rules.seats) for decision in range(1, last)}
    answered.update((seat, last) for seat in came)
    answered = answered.difference(record.missed).union(explained)
    for seat, decision in record.missed:
        if (seat, decision) in explained or replay.bots[record.places[seat]].entrant not in put_out:
            continue
        if again := next((n for n in range(decision + 1, last + 1) if (seat, n) in answered), None):
            raise ReplayError(
                f"{where}: seat {seat} missed decision {decision} as a bot that was out, and decision {again} not"
            )


def illegal_plays(record: HandRecord, trick: int) -> dict[int | None, Fault]:
    """By seat: the illegal cards that are recorded of a trick."""
    return {
        fault.seat: fault for fault in record.faults if fault.code is FaultCode.ILLEGAL_PLAY and fault.trick == trick
    }


def check_charge(hand: Hand, fault: Fault, step: str) -> None:
    """The record of an illegal card has to name a card that was not legal, and those that were."""
    said, _, listed = fault.detail.rpartition("; legal: ")
    legal = format_cards(hand.legal_indexes)
    if listed != legal:
        raise ReplayError(f"{step}: its fault says that {listed or 'nothing'} was legal, but {legal} was")
    card = _card_in(said)
    if card is not None and hand.legal >> card.index & 1:
        raise ReplayError(f"{step}: its fault is for {card}, which was legal")


def check_unpunished(hand: Hand, fault: Fault, step: str) -> None:
    """An illegal card after which the hand went on can't have been a revoke where that ends a hand."""
    if _is_revoke(hand, fault):
        raise ReplayError(f"{step}: its fault is a revoke, but the hand did not end by it")


def check_offence(replay: Replay, hand: Hand, record: HandRecord, where: str) -> None:
    """Who ended the hand, if anybody did, must have done what ends one: missed a decision where the policy says so,
    else revoked; and who did that must have ended it. ``hand`` is just before its end."""
    number = len(record.tricks) + 1
    penalty = replay.fault_policy is FaultPolicy.PENALTY
    if penalty:
        _check_penalised(hand, record, where)
    if not record.offenders:
        return
    if list(record.offenders) != sorted(set(record.offenders) & set(range(replay.rules.players))):
        raise ReplayError(f"{where}: offenders at {record.offenders}, which are not seats in order")
    for seat, fault in illegal_plays(record, number).items():
        if seat == hand.turn:
            check_charge(hand, fault, f"{where}, trick {number}, seat {seat}")
    if not penalty:
        _check_revoke(hand, record, where)


def check_faults(replay: Replay) -> None:
    """The faults that belong to no single decision, and how many there can be: a bot over the limit was out."""
    entrants = {bot.entrant for bot in replay.bots}
    lost = Counter(fault.entrant for fault in replay.faults if fault.lost)
    for fault in replay.faults:
        if fault.entrant not in entrants:
            raise ReplayError(f"{replay.sitting}: a fault of entrant {fault.entrant}, who did not play")
        if fault.code in _DECISION:
            raise ReplayError(f"{replay.sitting}: {fault.code} of entrant {fault.entrant} belongs to no hand")
        if fault.code in ENDING_FAULTS and not fault.lost:
            raise ReplayError(
                f"{replay.sitting}: entrant {fault.entrant} was not lost by {fault.code}, which ends a bot"
            )
        if lost[fault.entrant] > 1:
            raise ReplayError(f"{replay.sitting}: entrant {fault.entrant} was lost twice")
        if (fault.hand, fault.seat, fault.trick) != (None, None, None):
            raise ReplayError(f"{replay.sitting}: {fault.code} of entrant {fault.entrant} is placed in a hand")
        if fault.board is not None and not (fault.lost and 1 <= fault.board <= replay.boards):
            raise ReplayError(
                f"{replay.sitting}: {fault.code} of entrant {fault.entrant} can't be at board {fault.board}"
            )
    for entrant, count in Counter(fault.entrant for fault in replay.all_faults if not fault.lost).items():
        if count > replay.fault_limit + 1:
            raise ReplayError(
                f"{replay.sitting}: entrant {entrant} has {count} faults, but was out with {replay.fault_limit + 1}"
            )


def entrants_put_out(replay: Replay) -> frozenset[int]:
    """Who, having missed a decision without an illegal answer, was out from then on: a message that is nonsense can
    cost a decision too, so whoever sent one may have played on."""
    return frozenset(fault.entrant for fault in replay.all_faults).difference(
        fault.entrant for fault in replay.faults if not fault.lost
    )


def check_absence(replay: Replay) -> None:
    """Nobody stands in for a bot that did nothing wrong in the whole sitting, nor plays one on that was out."""
    faults = Counter(fault.entrant for fault in replay.all_faults)
    of_the_sitting = {fault.entrant for fault in replay.faults}
    lost = {fault.entrant for fault in replay.faults if fault.lost}
    put_out = entrants_put_out(replay)
    out_since: dict[int, set[int]] = {}
    for record in replay.hands:
        where = f"board {record.board}, hand {record.number}"
        explained = {_decision(record, fault, where) for fault in record.faults}
        for seat, place in enumerate(record.places):
            entrant = replay.bots[place].entrant
            out = entrant in lost or faults[entrant] > replay.fault_limit
            absent = seat in record.absent
            if absent and not out:
                raise ReplayError(
                    f"{where}: the stand-in played for entrant {entrant} in seat {seat}, who by its faults was not out"
                )
            missed = any(each[0] == seat and each not in explained for each in record.missed)
            if missed and not out and entrant not in of_the_sitting:
                raise ReplayError(f"{where}: seat {seat} missed a decision, but no fault of entrant {entrant} says why")
            # Boards are opened in order, so who was out when one began was so at all later ones; a board's later hands
            # may have begun after those.
            since = out_since.setdefault(entrant, set())
            if not absent and (record.board in since or (record.number == 1 and 0 in since)):
                raise ReplayError(f"{where}: entrant {entrant} is back in seat {seat}, after it was out")
            if missed and entrant in put_out:
                since.add(record.board)
            if absent:
                since.update({record.board, 0} if record.number == 1 else {record.board})


def check_under_way(replay: Replay, open_tables: int) -> None:
    """One failure can't have touched more hands than there were tables open, in a replay that verifies.

    Raises:
        ReplayError: names the entrant, and how many hands there can have been.
    """
    causes = Counter(fault.entrant for fault in replay.faults)
    for entrant, count in Counter(fault.entrant for fault in replay.all_faults).items():
        causes[entrant] += count > replay.fault_limit
    touched = Counter[int]()
    for record in replay.hands:
        explained = {_decision(record, fault, "") for fault in record.faults}
        touched.update({replay.bots[record.places[each[0]]].entrant for each in record.missed if each not in explained})
    for entrant, hands in touched.items():
        if hands > (most := causes[entrant] * open_tables):
            raise ReplayError(
                f"{replay.sitting}: entrant {entrant} missed decisions of {hands} hands without an illegal answer, but"
                f" by its faults and with {open_tables} open tables it can have been {most}"
            )


def _card_in(said: str) -> Card | None:
    """The card that the record of an illegal one names; None where it was no card."""
    return next((card for card in CARDS if said.startswith(f"{card} ")), None)


def _is_revoke(hand: Hand, fault: Fault) -> bool:
    """Whether the card that a fault names was one, and revoking ends the hand by these rules."""
    card = _card_in(fault.detail)
    known = hand.rules.source.revoke is Revoke.OFFENDER_TAKES_ALL
    return known and card is not None and hand.why_illegal(card.index).revoke


def _decision(record: HandRecord, fault: Fault, where: str) -> tuple[int, int]:
    """Seat and number of the decision that a fault belongs to."""
    seat = -1 if fault.seat is None else fault.seat
    if fault.code is FaultCode.ILLEGAL_PASS:
        if record.passed is None or fault.trick is not None:
            raise ReplayError(f"{where}: an illegal pass of seat {seat}, where it had nothing to pass")
        return seat, 0
    played = len(record.tricks) + bool(record.offenders)
    if fault.trick is None or not 1 <= fault.trick <= played:
        raise ReplayError(f"{where}: an illegal play in trick {fault.trick}; tricks 1 to {played} were played")
    return seat, fault.trick


def _check_penalised(hand: Hand, record: HandRecord, where: str) -> None:
    """The first decision that is missed ends the hand, a pass when all have passed; the choice about a moon ends
    nothing."""
    number = len(record.tricks) + 1
    passes = tuple(seat for seat, decision in record.missed if decision == 0)
    cards = [each for each in record.missed if each[1] > 0 and (record.offenders or each[1] < number)]
    if passes and not (cards or record.tricks or record.unfinished):
        due = passes
    elif cards == [(hand.turn, number)] and not passes:
        due = (hand.turn,)
    elif passes or cards:
        seat, decision = record.missed[0]
        raise ReplayError(f"{where}: seat {seat} missed decision {decision}, but the hand did not end by it")
    else:
        due = ()
    strange = set(record.offenders).difference(due)
    if strange:
        raise ReplayError(f"{where}: ended by seat {min(strange)}, which missed no decision there")
    if spared := set(due).difference(record.offenders):
        raise ReplayError(f"{where}: seat {min(spared)} missed a decision, but the hand did not end by it")


def _check_revoke(hand: Hand, record: HandRecord, where: str) -> None:
    """Only where the rule set says so, and only by who could have followed suit."""
    if hand.rules.source.revoke is not Revoke.OFFENDER_TAKES_ALL:
        raise ReplayError(f"{where}: ended by an offence, which these rules do not know")
    offender = record.offenders[0]
    number = len(record.tricks) + 1
    step = f"{where}, trick {number}"
    if record.offenders != (hand.turn,):
        raise ReplayError(f"{step}: seat {offender} could not have revoked there, where seat {hand.turn} was to play")
    if not hand.trick:
        raise ReplayError(f"{step}: seat {offender} could not have revoked there, where it led")
    if not hand.legal & SUIT_MASKS[hand.trick[0]]:
        raise ReplayError(
            f"{step}: seat {offender} could not have revoked there, where it held no card of the suit led"
        )
    fault = illegal_plays(record, number).get(offender)
    if fault is None:
        raise ReplayError(f"{where}: ended by an offence of seat {offender}, of whom no illegal play is recorded")
    if not _is_revoke(hand, fault):
        raise ReplayError(f"{step}: seat {offender} ended the hand by an illegal card that was no revoke")
