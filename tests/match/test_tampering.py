"""Whatever is changed in a replay is found, each kind of change by a message of its own that says which step fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from arbiter.deals import Seatings, SeatingsKind, commitment
from arbiter.engine import Card, Suit, rule_set
from arbiter.match import FaultPolicy, MatchFormat, Replay, ReplayError, check_planned, verify_replay
from tests.match.replays import Lines, changed, recorded
from tests.match.support import DEAL_SEED

Change = Callable[[Lines], object]


@dataclass(frozen=True)
class Tampering:
    """A change, and what is said of it."""

    change: Change
    message: str
    """How the message begins."""
    kind: str = "hands"
    """Of sitting."""
    deal_seed: bytes = DEAL_SEED
    """What is said to be the deal seed afterwards."""


def refusal(tampering: Tampering, through: Callable[[Replay], Replay] = lambda replay: replay) -> str:
    """What the whole check says: reading, the commitment, playing again, the plan; ``through`` another form."""
    try:
        replay = through(changed(tampering.kind, tampering.change))
        verify_replay(replay, tampering.deal_seed, commitment(DEAL_SEED))
        check_planned(replay, recorded(tampering.kind).plan)
    except ReplayError as error:
        return str(error)
    return "found nothing"


def put(line: int, key: str, value: Any) -> Change:
    """Another value."""
    return lambda lines: lines[line].__setitem__(key, value)


def put_all(line: int, **values: Any) -> Change:
    """Other values."""
    return lambda lines: lines[line].update(values)


def put_trick(trick: int, part: int, value: Any) -> Change:
    """Another part of one of the first hand's tricks."""
    return lambda lines: lines[1]["tricks"][trick].__setitem__(part, value)


def rearranged(key: str, change: Callable[[list[list[str]]], object]) -> Change:
    """Other cards by seat in the first hand, each list in its order."""

    def apply(lines: Lines) -> None:
        hands = [cards.split() for cards in lines[1][key]]
        change(hands)
        lines[1][key] = [" ".join(sorted(cards, key=Card.parse)) for cards in hands]

    return apply


def swap(hands: list[list[str]]) -> None:
    """Two seats exchange a card."""
    hands[0][0], hands[1][0] = hands[1][0], hands[0][0]


def swap_in_trick(lines: Lines) -> None:
    trick = lines[1]["tricks"][3]
    first, second, *rest = trick[1].split()
    trick[1] = " ".join((second, first, *rest))


def drop_hand(line: int) -> Change:
    """A hand less, and the last line says so."""

    def apply(lines: Lines) -> None:
        del lines[line]
        lines[-1]["end"] -= 1

    return apply


def leave_unfinished(lines: Lines) -> None:
    """The last trick is whole, and said to be none."""
    lines[1]["unfinished"] = lines[1]["tricks"].pop()[1]


def play_on(lines: Lines) -> None:
    """A hand more after the end of a game."""
    lines.insert(-1, lines[-2] | {"hand": lines[-2]["hand"] + 1})
    lines[-1]["end"] += 1


def repeat_hand(lines: Lines) -> None:
    lines.insert(1, lines[1])
    lines[-1]["end"] += 1


@dataclass(frozen=True)
class Turn:
    """A card that was played, and one that the seat could have tried to play in its place."""

    line: int
    trick: int
    seat: int
    before: list[Card]
    """On the table."""
    card: Card
    other: Card
    broken: bool
    """Whether a heart or the queen of spades was played before."""


def misplayed(wanted: Callable[[Turn], bool]) -> Change:
    """The seat of the first turn that is wanted plays its two cards in the other order."""

    def apply(lines: Lines) -> None:
        for line, hand in enumerate(lines[1:-1], 1):
            tricks = [[Card.parse(name) for name in trick[1].split()] for trick in hand["tricks"]]
            leaders = [trick[0] for trick in hand["tricks"]]
            broken = False
            for number, cards in enumerate(tricks):
                for turn, card in enumerate(cards):
                    seat = (leaders[number] + turn) % 4
                    for later in range(number + 1, len(tricks)):
                        at = (seat - leaders[later]) % 4
                        other = tricks[later][at]
                        if wanted(Turn(line, number + 1, seat, cards[:turn], card, other, broken)):
                            cards[turn], tricks[later][at] = other, card
                            for trick, names in zip(hand["tricks"], tricks, strict=True):
                                trick[1] = " ".join(map(str, names))
                            return
                    broken = broken or card.suit is Suit.HEARTS or str(card) == "QS"
        raise AssertionError("no such turn")

    return apply


def revokes(turn: Turn) -> bool:
    return bool(turn.before) and turn.card.suit is turn.before[0].suit is not turn.other.suit


def breaks_hearts(turn: Turn) -> bool:
    closed = turn.trick > 1 and not turn.before and not turn.broken
    return closed and turn.other.suit is Suit.HEARTS is not turn.card.suit


def opens_otherwise(turn: Turn) -> bool:
    return turn.trick == 1 and not turn.before


def plays_for_the_stand_in(turn: Turn) -> bool:
    """In the sitting whose bot in place 2 plays no card; all its cards are the stand-in's."""
    return turn.line == 1 and turn.seat == 2 and turn.card.suit is turn.other.suit


def another_pass(hands: list[list[str]]) -> None:
    """The seat in which the stand-in passed: for a card that it holds, one that it holds too."""
    hands[2][0] = "4C"


def a_fault(**values: Any) -> dict[str, Any]:
    return {
        "entrant": 10,
        "code": "ILLEGAL_PLAY",
        "detail": "3C led; legal: 2C",
        "board": 1,
        "hand": 1,
        "seat": 0,
        "trick": 1,
    } | values


def put_detail(detail: str) -> Change:
    """Another text of the first fault."""
    return lambda lines: lines[1]["faults"][0].update(detail=detail)


def charged(*faults: dict[str, Any]) -> Change:
    """Faults in the first hand, whose first seat missed its first card."""
    return put_all(1, missed=[[0, 1]], faults=list(faults))


def a_loss(**values: Any) -> dict[str, Any]:
    """A fault of the sitting."""
    return {"entrant": 11, "code": "CRASH", "detail": "gone", "lost": True} | values


def both(*changes: Change) -> Change:
    """One after the other."""

    def apply(lines: Lines) -> None:
        for change in changes:
            change(lines)

    return apply


TAMPERED = {
    # The deal
    "another deal seed": Tampering(lambda lines: None, "the deal seed's commitment is 6d468c85", deal_seed=bytes(32)),
    "two seats' cards swapped": Tampering(
        rearranged("dealt", swap),
        "board 1, hand 1: the cards of seat 0 are not those that the deal seed gives",
    ),
    "a card given away": Tampering(
        rearranged("dealt", lambda hands: hands[1].append(hands[0].pop())),
        "board 1, hand 1: hands of [12, 14, 13, 13] cards, but 4 seats get 13 each",
    ),
    "a card twice": Tampering(
        rearranged("dealt", lambda hands: hands[0].__setitem__(0, hands[1][0])),
        "board 1, hand 1: the cards dealt are not the pack: too many 5C, missing 2C",
    ),
    "a card of the kitty and one of a hand": Tampering(
        lambda lines: lines[1].update(kitty=lines[2]["kitty"]),
        "board 1, hand 1: the cards dealt are not the pack: too many",
        "kitty",
    ),
    # The order of boards and hands
    "a board missing": Tampering(drop_hand(2), "test/0/0: board 2 of 4 is missing"),
    "the last board missing": Tampering(drop_hand(4), "test/0/0: board 4 of 4 is missing"),
    "a board too many": Tampering(put(0, "boards", 3), "test/0/0: holds board 4; there are 1 to 3"),
    "a number of boards without end": Tampering(put(0, "boards", 10**12), f"test/0/0: board 5 of {10**12} is missing"),
    "boards in another order": Tampering(
        lambda lines: lines.insert(1, lines.pop(2)), "test/0/0: the hands are not in order of board"
    ),
    "a board twice": Tampering(repeat_hand, "board 1, hand 1: the hand comes a second time"),
    "another number of a board": Tampering(put(2, "board", 1), "test/0/0: board 2 of 4 is missing"),
    "a hand of a game missing": Tampering(drop_hand(2), "board 1, hand 3: hand 2 is missing before it", "game"),
    "a game cut short": Tampering(drop_hand(-2), "board 1: the game is not over after its last hand", "game"),
    "a game called single hands": Tampering(
        put(0, "match_format", "hands"), "board 1, hand 2: a board of this match is one hand", "game"
    ),
    "the file cut off": Tampering(lambda lines: lines.pop(), "line 5: no last line of a replay; the file was cut off"),
    "another number of hands": Tampering(put(-1, "end", 5), "line 6: the file holds 4 hands and says 5"),
    # Who sits where
    "other seats": Tampering(
        put(1, "places", [1, 0, 2, 3]), "board 1, hand 1: seated as (1, 0, 2, 3), not as (0, 1, 2, 3)"
    ),
    "another seating": Tampering(put(0, "seating", 1), "board 1, hand 1: seated as (0, 1, 2, 3), not as (1, 2, 3, 0)"),
    "an impossible seating": Tampering(put(0, "seating", 4), "test/0/0: seating 4; there are 0 to 3"),
    "three bots": Tampering(lambda lines: lines[0]["bots"].pop(), "test/0/0: 3 bots for 4 seats"),
    "another dealer": Tampering(put(1, "dealer", 2), "board 1, hand 1: dealt by seat 2, but seat 0 is the dealer"),
    # The pass
    "another direction": Tampering(
        put(1, "pass", "right"), "board 1, hand 1: the pass goes right, but the rules say left"
    ),
    "no passes": Tampering(
        lambda lines: lines[1].pop("passed"),
        "board 1, hand 1: no cards were passed, but the hand has a pass to the left",
    ),
    "three passes": Tampering(lambda lines: lines[1]["passed"].pop(), "board 1, hand 1: 3 seats passed, but 4 have to"),
    "a card passed that is not held": Tampering(
        rearranged("passed", swap), "board 1, hand 1, pass of seat 0: 9C passed but not held"
    ),
    "a card passed twice": Tampering(
        rearranged("passed", lambda hands: hands[0].__setitem__(0, hands[0][1])),
        "board 1, hand 1, pass of seat 0: 3H passed more often than held",
    ),
    "two cards passed": Tampering(
        rearranged("passed", lambda hands: hands[0].pop()),
        "board 1, hand 1, pass of seat 0: 2 cards passed; the rules want 3",
    ),
    "another card passed": Tampering(
        rearranged("passed", lambda hands: hands[0].__setitem__(0, "2C")),
        "board 1, hand 1, trick 1: led by seat 0, not 1",
    ),
    "a pass in another order": Tampering(
        lambda lines: lines[1]["passed"].__setitem__(0, "TS 3H JD"),
        "board 1, hand 1, pass of seat 0: TS 3H JD is not in ascending order",
    ),
    "passes without a pass": Tampering(
        lambda lines: lines[4].update(passed=lines[1]["passed"]),
        "board 4, hand 1: cards were passed, but the hand has no pass",
    ),
    # The tricks
    "two cards of a trick in another order": Tampering(
        swap_in_trick, "board 1, hand 1, trick 4, seat 2: AD is not in the hand"
    ),
    "a card that was played already": Tampering(
        put_trick(1, 1, "4C KS AS 5S"), "board 1, hand 1, trick 2, seat 1: 4C is not in the hand"
    ),
    "a revoke": Tampering(
        misplayed(revokes), "board 1, hand 1, trick 1, seat 1: 6S does not follow clubs, which the hand holds"
    ),
    "hearts led too early": Tampering(
        misplayed(breaks_hearts),
        "board 1, hand 1, trick 2, seat 1: JH may not be led before hearts are broken while other cards are held",
    ),
    "another opening": Tampering(
        misplayed(opens_otherwise), "board 1, hand 1, trick 1, seat 0: 5S led, but the first trick opens with 2C"
    ),
    "another leader": Tampering(put_trick(0, 0, 3), "board 1, hand 1, trick 1: led by seat 3, not 0"),
    "another winner": Tampering(
        put_trick(2, 2, 3), "board 1, hand 1, trick 3: won by seat 3, but its cards give it to seat 2"
    ),
    "other points of a trick": Tampering(
        put_trick(2, 3, 26), "board 1, hand 1, trick 3: has 26 points, but its cards come to 0"
    ),
    "a trick cut short": Tampering(put_trick(0, 1, "2C"), "board 1, hand 1, trick 1: 1 cards, but 4 seats play"),
    "a trick missing": Tampering(
        lambda lines: lines[1]["tricks"].pop(), "board 1, hand 1: ends after trick 12, but cards are left to play"
    ),
    "a trick too many": Tampering(
        lambda lines: lines[1]["tricks"].append(lines[1]["tricks"][-1]),
        "board 1, hand 1, trick 14: comes after the hand's end",
    ),
    # The score
    "other points": Tampering(
        put(1, "points", [0, 0, 0, 26]),
        "board 1, hand 1: scored (0, 0, 0, 26), but its tricks come to (0, 1, 11, 14)",
    ),
    "another moon": Tampering(put(1, "moon", 1), "board 1, hand 1: seat 1 shot the moon, but by its tricks nobody did"),
    "other totals": Tampering(
        put(1, "totals", [1, 2, 3, 4]), "board 1, hand 1: totals are (1, 2, 3, 4), but come to (0, 1, 11, 14)"
    ),
    "a choice that nobody had": Tampering(
        put(1, "chosen_moon", "new"),
        "board 1, hand 1: the choice about a moon is new, but there was nothing to choose",
    ),
    "no choice though there was one": Tampering(
        lambda lines: lines[1].pop("chosen_moon"),
        "board 1, hand 1: the choice about a moon is None, but old or new was to be chosen",
        "choice",
    ),
    "a choice that is none": Tampering(
        put(1, "chosen_moon", "mixed"),
        "board 1, hand 1: the choice about a moon is mixed, but old or new was to be chosen",
        "choice",
    ),
    # Offences
    "an offence that the rules do not know": Tampering(
        put_all(1, tricks=[], offenders=[0], points=[26, 0, 0, 0], totals=[26, 0, 0, 0]),
        "board 1, hand 1: ended by an offence, which these rules do not know",
    ),
    "a whole trick that is unfinished": Tampering(leave_unfinished, "board 1, hand 1: an unfinished trick of 4 cards"),
    "an offence of another seat": Tampering(
        lambda lines: lines[1].update(offenders=[3]),
        "board 1, hand 1, trick 1: seat 3 could not have revoked there, where seat 2 was to play",
        "offence",
    ),
    "an offence of a seat that led": Tampering(
        put_all(1, unfinished="", tricks=[], offenders=[0]),
        "board 1, hand 1, trick 1: seat 0 could not have revoked there, where it led",
        "offence",
    ),
    "an offence without its fault": Tampering(
        lambda lines: lines[1].pop("faults"),
        "board 1, hand 1: ended by an offence of seat 2, of whom no illegal play is recorded",
        "offence",
    ),
    "an offence that was no revoke": Tampering(
        put_detail("60 is no card index (0 to 51); legal: 9C AC"),
        "board 1, hand 1, trick 1: seat 2 ended the hand by an illegal card that was no revoke",
        "offence",
    ),
    "a revoke that cost nothing": Tampering(
        put_detail("4D does not follow clubs, which the hand holds; legal: 9C AC"),
        "board 1, hand 1, trick 1, seat 2: its fault is a revoke, but the hand did not end by it",
        "unpunished",
    ),
    # Faults and stand-ins
    "another bot's fault": Tampering(
        charged(a_fault(entrant=12)), "board 1, hand 1: a fault of entrant 12 in seat 0, where entrant 10 sits"
    ),
    "a fault of a stranger": Tampering(
        put(-1, "faults", [a_fault(entrant=77)]), "test/0/0: a fault of entrant 77, who did not play"
    ),
    "a fault at another board": Tampering(
        charged(a_fault(board=2)), "board 1, hand 1: holds a fault of board 2, hand 1"
    ),
    "a fault of no seat": Tampering(charged(a_fault(seat=4)), "board 1, hand 1: a fault of seat 4, which there is not"),
    "a fault in a trick that was not played": Tampering(
        charged(a_fault(trick=14)), "board 1, hand 1: an illegal play in trick 14; tricks 1 to 13 were played"
    ),
    "an illegal pass in a hand without one": Tampering(
        put_all(4, missed=[[0, 1]], faults=[a_fault(entrant=10, code="ILLEGAL_PASS", board=4, trick=None)]),
        "board 4, hand 1: an illegal pass of seat 0, where it had nothing to pass",
    ),
    "a fault twice": Tampering(
        lambda lines: lines[1]["faults"].append(lines[1]["faults"][0]),
        "board 1, hand 1: seat 2 is charged twice for one decision, as ILLEGAL_PLAY",
        "bad card",
    ),
    "an unknown fault": Tampering(
        put(-1, "faults", [a_fault(code="LAZY")]), "line 6: not what a replay holds there: ValueError: 'LAZY' is not"
    ),
    "what was missed left out": Tampering(
        lambda lines: lines[1].pop("missed"),
        "board 1, hand 1: seat 2 has a fault, but no decision that it missed is recorded",
        "bad card",
    ),
    "a missed decision of a bot without fault": Tampering(
        put(1, "missed", [[0, 1]]), "board 1, hand 1: seat 0 missed a decision, but no fault of entrant 10 says why"
    ),
    "a missed decision that was not the stand-in's": Tampering(
        put(1, "missed", [[2, 2]]), "board 1, hand 1, trick 2, seat 2: in its place the stand-in plays"
    ),
    "a missed pass that was not the stand-in's": Tampering(
        put(1, "missed", [[0, 0]]), "board 1, hand 1, pass of seat 0: in its place the stand-in passes"
    ),
    "a missed decision after the end": Tampering(
        put(1, "missed", [[0, 14]]), "board 1, hand 1: seat 0 missed decision 14, which it did not have to make"
    ),
    "a missed choice that was not the stand-in's": Tampering(
        put(3, "missed", [[1, 14]]),
        "board 3, hand 1: the choice about a moon is new, but the stand-in chooses old",
        "choice",
    ),
    "a decision missed twice": Tampering(
        put(1, "missed", [[0, 1], [0, 1]]), "board 1, hand 1: missed are ((0, 1), (0, 1)), which are not seats and"
    ),
    "a decision missed by nobody": Tampering(
        put(1, "missed", [[4, 1]]), "board 1, hand 1: missed are ((4, 1),), which are not seats and decisions"
    ),
    "a bot both out and failing": Tampering(
        put_all(1, missed=[[0, 1]], absent=[0]), "board 1, hand 1: seat 0 missed decision 1, though it was out"
    ),
    "a stand-in for a bot that was not out": Tampering(
        put(-1, "faults", [a_loss(entrant=12, code="PROTOCOL_ERROR", lost=False)]),
        "board 2, hand 1: the stand-in played for entrant 12 in seat 2, who by its faults was not out",
        "lost",
    ),
    "a stand-in in no seat": Tampering(
        put(1, "absent", [4]), "board 1, hand 1: absent are (4,), which are not seats in order"
    ),
    "a lost bot that plays again": Tampering(
        lambda lines: lines[3].pop("absent"), "board 3, hand 1: entrant 12 is back in seat", "lost"
    ),
    "a lost bot whose card was not the stand-in's": Tampering(
        misplayed(
            lambda turn: turn.line == 3 and turn.seat == 3 and bool(turn.before) and turn.card.suit is turn.other.suit
        ),
        "board 3, hand 1, trick 3, seat 3: in its place the stand-in plays 2D, not 3D",
        "lost",
    ),
    "a lost bot that decides again in the same hand": Tampering(
        lambda lines: lines[1]["missed"].pop(),
        "board 1, hand 1: seat 2 missed decision 0 as a bot that was out, and decision 13 not",
        "lost",
    ),
    "a lost bot that is charged again in the same hand": Tampering(
        put(1, "faults", [a_fault(entrant=12, seat=2, detail="2H is not in the hand; legal: 4C 9C")]),
        "board 1, hand 1: seat 2 missed decision 0 as a bot that was out, and decision 1 not",
        "lost",
    ),
    "a bot lost twice": Tampering(put(-1, "faults", [a_loss(), a_loss()]), "test/0/0: entrant 11 was lost twice"),
    "a crash that ended nobody": Tampering(
        put(-1, "faults", [a_loss(lost=False)]), "test/0/0: entrant 11 was not lost by CRASH, which ends a bot"
    ),
    "a crash in a seat": Tampering(
        put(-1, "faults", [a_loss(seat=1)]), "test/0/0: CRASH of entrant 11 is placed in a hand"
    ),
    "a crash at a board that there is not": Tampering(
        put(-1, "faults", [a_loss(board=5)]), "test/0/0: CRASH of entrant 11 can't be at board 5"
    ),
    "more faults than put a bot out": Tampering(
        put(0, "fault_limit", 3), "test/0/0: entrant 12 has 52 faults, but was out with 4", "bad card"
    ),
    "a decision's fault that belongs to no hand": Tampering(
        put(-1, "faults", [a_loss(code="ILLEGAL_PLAY", lost=False)]),
        "test/0/0: ILLEGAL_PLAY of entrant 11 belongs to no",
    ),
    "a crash in a hand": Tampering(
        charged(a_fault(code="CRASH")), "board 1, hand 1: seat 0 has CRASH there, which is a fault of the sitting"
    ),
    "a higher limit of faults": Tampering(put(0, "fault_limit", 1001), "the fault limit is 1001, but 1000 was planned"),
    "another card that was illegal": Tampering(
        put_detail("9C may not be played; legal: 9C AC"),
        "board 1, hand 1, trick 1, seat 2: its fault is for 9C, which was legal",
        "bad card",
    ),
    "other cards that were legal": Tampering(
        put_detail("60 is no card index (0 to 51); legal: 9C"),
        "board 1, hand 1, trick 1, seat 2: its fault says that 9C was legal, but 9C AC was",
        "bad card",
    ),
    "another card of the stand-in": Tampering(
        misplayed(plays_for_the_stand_in),
        "board 1, hand 1, trick 1, seat 2: in its place the stand-in plays 9C, not AC",
        "bad card",
    ),
    "another pass of the stand-in": Tampering(
        rearranged("passed", another_pass),
        "board 1, hand 1, pass of seat 2: in its place the stand-in passes",
        "bad pass",
    ),
    # What was planned
    "another version of the format": Tampering(
        put(0, "version", 2), "line 1: a replay of version 2; version 3 can be read"
    ),
    "another sitting": Tampering(put(0, "sitting", "test/0/1"), "the sitting is test/0/1, but test/0/0 was planned"),
    "another version of a bot": Tampering(
        lambda lines: lines[0]["bots"][1].update(digest="ab"), "the version of entrant 11 has digest ab, but 000"
    ),
    "another bot": Tampering(
        lambda lines: lines[0]["bots"][1].update(entrant=14), "in place 1 sits entrant 14, bot1; 11, bot1 was planned"
    ),
    "another rule set": Tampering(
        lambda lines: lines[0]["rules"].update(target=50), "rule set parameter 'target' is 50, but 100 was planned"
    ),
    "another value of a card": Tampering(
        lambda lines: lines[0]["rules"].update(QS=5),
        "board 1, hand 1, trick 8: has 14 points, but its cards come to 6",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_every_tampering_is_found(name: str) -> None:
    assert refusal(TAMPERED[name]).startswith(TAMPERED[name].message)


def test_nothing_is_played_after_the_end_of_a_game() -> None:
    after = len(recorded("game").hands) + 1
    assert refusal(Tampering(play_on, "", "game")) == f"board 1, hand {after}: the game was over before it"


@pytest.mark.parametrize("kind", sorted({tampering.kind for tampering in TAMPERED.values()}))
def test_what_was_not_changed_is_not_refused(kind: str) -> None:
    replay = changed(kind, lambda lines: None)
    verify_replay(replay, DEAL_SEED, commitment(DEAL_SEED))
    check_planned(replay, recorded(kind).plan)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sitting": "test/0/1"}, "the sitting is test/0/0, but test/0/1 was planned"),
        ({"format": MatchFormat.GAME}, "the match format is hands, but game was planned"),
        ({"boards": 5}, "the number of boards is 4, but 5 was planned"),
        ({"seating": 1}, "the seating is 0, but 1 was planned"),
        ({"seatings": Seatings(SeatingsKind.ALL)}, "the kind of seatings is rotations, but all was planned"),
        ({"seatings": Seatings(SeatingsKind.RANDOM, 3)}, "the kind of seatings is rotations, but random was planned"),
        ({"early_end": True}, "early_end is False, but True was planned"),
        ({"fault_policy": FaultPolicy.PENALTY}, "the fault policy is stand_in, but penalty was planned"),
        ({"fault_limit": 3}, "the fault limit is 1000, but 3 was planned"),
        ({"rules": replace(rule_set("black_lady"), target=50)}, "rule set parameter 'target' is 100, but 50 was"),
    ],
)
def test_a_sitting_that_was_planned_otherwise_proves_nothing(change: dict[str, Any], message: str) -> None:
    """Honest, and of another plan."""
    replay = changed("hands", lambda lines: None)
    with pytest.raises(ReplayError) as caught:
        check_planned(replay, replace(recorded("hands").plan, **change))
    assert str(caught.value).startswith(message)


def test_so_many_drawn_seatings_as_were_planned() -> None:
    plan = replace(recorded("hands").plan, seatings=Seatings(SeatingsKind.RANDOM, 3))
    replay = changed("hands", lambda lines: lines[0].update(seatings=2))
    with pytest.raises(ReplayError, match="the number of drawn seatings is 2, but 3 was planned"):
        check_planned(replay, plan)


def test_the_messages_tell_the_kinds_apart() -> None:
    """Also without the numbers and cards in them."""
    number, card = re.compile(r"\(?[0-9][0-9a-f, ]*\)?"), re.compile(r"\b[2-9TJQKA][CDHS]\b")
    messages = {number.sub("#", card.sub("?", refusal(tampering))) for tampering in TAMPERED.values()}
    assert len(messages) >= 75
