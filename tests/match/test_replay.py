"""Replays: read back as they were written, refused line by line, and every tampering found by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from arbiter.engine import rule_set
from arbiter.links import Link, LocalLink
from arbiter.match import Replay, ReplayError, SittingRecord, read_replay, replay_of, verify_replay, write_replay
from arbiter.sdk import Card, CardView
from tests.match.support import DEAL_SEED, BentLink, Uniform, plan_of, play

Lines = list[dict[str, Any]]


class Revoker(Uniform):
    """Does not follow suit as soon as it could choose not to."""

    def choose_card(self, view: CardView) -> Card:
        if view.trick and view.legal != view.hand:
            return next(card for card in view.hand if card not in view.legal)
        return super().choose_card(view)


def _sitting(name: str, options: tuple[str, ...] = (), *, game: bool = False, revoke: bool = False) -> SittingRecord:
    rules = rule_set(name, options, {"heart_value": 0} if "choice_moon" in options else {})
    plan = plan_of(rules, boards=1 if game else 4, game=game, fault_limit=0)
    links: list[Link] = [LocalLink(Revoker() if revoke and place == 2 else Uniform()) for place in range(rules.players)]
    return play(plan, links)


@cache
def lines_of(kind: str) -> str:
    """A replay's text, by kind of sitting."""
    record = {
        "hands": lambda: _sitting("black_lady"),
        "game": lambda: _sitting("black_lady", game=True),
        "choice": lambda: _sitting("black_lady", ("choice_moon",)),
        "offence": lambda: _sitting("hartenjagen", revoke=True),
        "kitty": lambda: _sitting("cancellation"),
    }[kind]()
    return write_replay(replay_of(record.plan, record.hands, record.faults)).decode()


def changed(kind: str, change: Callable[[Lines], object]) -> Replay:
    lines = [json.loads(line) for line in lines_of(kind).splitlines()]
    change(lines)
    return read_replay("".join(json.dumps(line) + "\n" for line in lines).encode())


def swap(first: list[str], second: list[str], index: int) -> None:
    first[index], second[index] = second[index], first[index]


def swap_cards(lines: Lines) -> None:
    """Two seats exchange a card of the deal."""
    hands = [cards.split() for cards in lines[1]["dealt"]]
    swap(hands[0], hands[1], 0)
    lines[1]["dealt"] = [" ".join(cards) for cards in hands]


def move_card(lines: Lines) -> None:
    first, second, *rest = (cards.split() for cards in lines[1]["dealt"])
    second.append(first.pop())
    lines[1]["dealt"] = [" ".join(cards) for cards in (first, second, *rest)]


def double_card(lines: Lines) -> None:
    hands = [cards.split() for cards in lines[1]["dealt"]]
    hands[0][0] = hands[1][0]
    lines[1]["dealt"] = [" ".join(cards) for cards in hands]


def swap_in_trick(lines: Lines) -> None:
    trick = lines[1]["tricks"][3]
    cards = trick[1].split()
    cards[0], cards[1] = cards[1], cards[0]
    trick[1] = " ".join(cards)


def cut_trick(lines: Lines) -> None:
    lines[1]["tricks"][0][1] = "2C"


def repeat_hand(lines: Lines) -> None:
    lines.insert(1, lines[1])
    lines[-1]["end"] += 1


def cut_game(lines: Lines) -> None:
    del lines[-2]
    lines[-1]["end"] -= 1


def put(line: int, key: str, value: Any) -> Callable[[Lines], object]:
    return lambda lines: lines[line].__setitem__(key, value)


def put_all(line: int, **values: Any) -> Callable[[Lines], object]:
    return lambda lines: lines[line].update(values)


def a_fault(**values: Any) -> dict[str, Any]:
    return {"entrant": 10, "code": "ILLEGAL_PLAY", "detail": "x", "board": 1, "hand": 1, "seat": 0, "trick": 1} | values


TAMPERED: dict[str, tuple[str, Callable[[Lines], object], str]] = {
    "two seats' cards swapped": (
        "hands",
        swap_cards,
        "board 1, hand 1: the cards are not those that the deal seed gives",
    ),
    "a card given away": ("hands", move_card, "hands of [12, 14, 13, 13] cards, but 4 seats get 13 each"),
    "a card twice": ("hands", double_card, "board 1, hand 1: the cards dealt are not the pack"),
    "another dealer": ("hands", put(1, "dealer", 2), "dealer and pass direction are 2 left, not 0 left"),
    "another direction": ("hands", put(1, "pass", "right"), "dealer and pass direction are 0 right, not 0 left"),
    "no passes": ("hands", lambda lines: lines[1].pop("passed"), "the hand has a pass to the left, which 4 seats make"),
    "three passes": (
        "hands",
        lambda lines: lines[1]["passed"].pop(),
        "the hand has a pass to the left, which 4 seats make",
    ),
    "cards passed that are not held": ("hands", lambda lines: lines[1]["passed"].reverse(), "passed but not held"),
    "passes without a pass": (
        "hands",
        lambda lines: lines[4].update(passed=lines[1]["passed"]),
        "board 4, hand 1: holds passes that are not in order, or though the hand has none",
    ),
    "a trick in another order": ("hands", swap_in_trick, "board 1, hand 1"),
    "another leader": ("hands", lambda lines: lines[1]["tricks"][0].__setitem__(0, 3), "trick 1: led by seat 3, not"),
    "another winner": ("hands", lambda lines: lines[1]["tricks"][2].__setitem__(2, 9), "trick 3: won by 9 with"),
    "other points of a trick": ("hands", lambda lines: lines[1]["tricks"][2].__setitem__(3, 26), "with 26 points, but"),
    "a trick cut short": ("hands", cut_trick, "trick 1: 1 cards, but 4 seats play"),
    "a trick missing": ("hands", lambda lines: lines[1]["tricks"].pop(), "cards are left to play"),
    "a trick too many": (
        "hands",
        lambda lines: lines[1]["tricks"].append(lines[1]["tricks"][-1]),
        "trick 14 comes after the hand's end",
    ),
    "other points": ("hands", put(1, "points", [0, 0, 0, 26]), "scored (0, 0, 0, 26)"),
    "another moon": ("hands", put(1, "moon", 1), "with moon 1, but its tricks come to"),
    "other totals": ("hands", put(1, "totals", [1, 2, 3, 4]), "totals are (1, 2, 3, 4), but come to"),
    "other seats": ("hands", put(1, "places", [1, 0, 2, 3]), "seated as (1, 0, 2, 3), not as (0, 1, 2, 3)"),
    "another seating": ("hands", put(0, "seating", 1), "seated as (0, 1, 2, 3), not as (1, 2, 3, 0)"),
    "an impossible seating": ("hands", put(0, "seating", 4), "seating 4; there are 0 to 3"),
    "a board missing": ("hands", put(0, "boards", 5), "holds 4 boards, which are not 1 to 5"),
    "a number of boards without end": (
        "hands",
        put(0, "boards", 10**12),
        f"holds 4 boards, which are not 1 to {10**12}",
    ),
    "boards in another order": ("hands", lambda lines: lines.insert(1, lines.pop(2)), "not in order of board"),
    "a hand twice": ("hands", repeat_hand, "board 1, hand 1: hand 2 comes next"),
    "three bots": ("hands", lambda lines: lines[0]["bots"].pop(), "3 bots for 4 seats"),
    "a choice that nobody had": (
        "hands",
        put_all(1, chosen_moon="new"),
        "the choice about a moon is new, but there was nothing to choose",
    ),
    "no choice though there was one": (
        "choice",
        lambda lines: lines[1].pop("chosen_moon"),
        "the choice about a moon is None, but old or new was to be chosen",
    ),
    "a choice that is none": (
        "choice",
        put(1, "chosen_moon", "mixed"),
        "the choice about a moon is mixed, but old or new",
    ),
    "an offence that the rules do not know": (
        "hands",
        lambda lines: lines[1].update(tricks=[], offender=0, points=[26, 0, 0, 0], totals=[26, 0, 0, 0]),
        "ended by an offence, which these rules do not know",
    ),
    "an offence of another seat": (
        "offence",
        lambda lines: lines[1].update(offender=(lines[1]["offender"] + 1) % 4),
        "could not have revoked there",
    ),
    "an offence before a lead": (
        "offence",
        lambda lines: lines[1].update(unfinished="", tricks=[], offender=0),
        "could not have revoked there",
    ),
    "an offence without its fault": (
        "offence",
        lambda lines: lines[1].pop("faults"),
        "of whom no illegal play is recorded",
    ),
    "another bot's fault": (
        "hands",
        put_all(1, stand_ins=[0], faults=[a_fault(entrant=12)]),
        "a fault of entrant 12 in seat 0, where entrant 10 sits",
    ),
    "a fault of a stranger": (
        "hands",
        put(-1, "faults", [a_fault(entrant=77)]),
        "a fault of entrant 77, who did not play",
    ),
    "a fault at another board": (
        "hands",
        put_all(1, stand_ins=[0], faults=[a_fault(board=2)]),
        "holds a fault of board 2, hand 1",
    ),
    "a fault of no seat": (
        "hands",
        put_all(1, stand_ins=[0], faults=[a_fault(seat=4)]),
        "a fault of seat 4, which there is not",
    ),
    "a fault and no stand-in": (
        "hands",
        put_all(1, faults=[a_fault()]),
        "seat 0 has a fault, but nobody stood in for it",
    ),
    "stand-ins that are no seats": (
        "hands",
        put_all(1, stand_ins=[4]),
        "stand-ins at (4,), which are not seats in order",
    ),
    "the kitty of another board": (
        "kitty",
        lambda lines: lines[1].update(kitty=lines[2]["kitty"]),
        "board 1, hand 1: the cards dealt are not the pack",
    ),
    "a game cut short": ("game", cut_game, "board 1: the game is not over after its last hand"),
    "a game called single hands": (
        "game",
        put(0, "match_format", "hands"),
        "hand 2: a board of this match is one hand",
    ),
    "single hands called a game": ("hands", put(0, "match_format", "game"), "board 1: the game is not over"),
    "another rule set": ("hands", lambda lines: lines[0]["rules"].update(QS=5), "trick"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_every_tampering_is_found(name: str) -> None:
    kind, change, message = TAMPERED[name]
    verify_replay(changed(kind, lambda lines: None), DEAL_SEED)
    with pytest.raises(ReplayError, match=re.escape(message)):
        verify_replay(changed(kind, change), DEAL_SEED)


def test_without_the_deal_seed_all_but_the_deal_is_checked() -> None:
    replay = changed("hands", lambda lines: None)
    assert verify_replay(replay) == verify_replay(replay, DEAL_SEED)
    with pytest.raises(ReplayError, match="not those that the deal seed gives"):
        verify_replay(replay, bytes(32))


@pytest.mark.parametrize("kind", ["hands", "game", "choice", "offence", "kitty"])
def test_a_replay_is_read_as_it_was_written(kind: str) -> None:
    data = lines_of(kind).encode()
    assert write_replay(read_replay(data)) == data
    assert lines_of("offence").count('"offender"') > 0


UNREADABLE: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "nothing": (lambda lines: lines.clear(), "line 1: not what a replay holds there"),
    "no JSON at the top": (lambda lines: lines.__setitem__(0, "{"), "line 1: not what a replay holds there"),
    "another format": (lambda lines: lines.__setitem__(0, '{"format": "pbn"}'), "line 1: no replay of format"),
    "a list at the top": (lambda lines: lines.__setitem__(0, "[]"), "line 1: not what a replay holds there: TypeError"),
    "a rule set that contradicts": (
        lambda lines: lines.__setitem__(0, lines[0].replace('"players":4', '"players":7')),
        "line 1: rule set parameter",
    ),
    "a name that is a number": (
        lambda lines: lines.__setitem__(0, lines[0].replace('"name":"bot0"', '"name":0')),
        "line 1: not what a replay holds there: TypeError: 0 is no text",
    ),
    "a first line alone": (
        lambda lines: lines.__delitem__(slice(1, None)),
        "line 2: the file ends after its first line",
    ),
    "no JSON in the middle": (lambda lines: lines.__setitem__(2, "{]"), "line 3: not what a replay holds there"),
    "JSON without end": (
        lambda lines: lines.__setitem__(2, "[" * 100_000),
        "line 3: not what a replay holds there: Recursion",
    ),
    "a key missing": (
        lambda lines: lines.__setitem__(3, lines[3].replace('"dealt"', '"delt"')),
        "line 4: not what a replay holds there: KeyError: 'dealt'",
    ),
    "no card": (lambda lines: lines.__setitem__(1, lines[1].replace("QS", "XS")), "line 2: 'XS' is no card"),
    "a card three times": (
        lambda lines: lines.__setitem__(1, lines[1].replace('"dealt":["', '"dealt":["2D 2D 2D ')),
        "line 2: not what a replay holds there: ValueError",
    ),
    "a broken number": (
        lambda lines: lines.__setitem__(1, lines[1].replace('"dealer":0', '"dealer":0.0')),
        "line 2: not what a replay holds there: TypeError: 0.0 is no whole number",
    ),
    "true for one": (
        lambda lines: lines.__setitem__(1, lines[1].replace('"board":1', '"board":true')),
        "line 2: not what a replay holds there: TypeError: True is no whole number",
    ),
    "no last line": (lambda lines: lines.pop(), "line 5: no last line of a replay; the file was cut off"),
    "no JSON at the end": (lambda lines: lines.__setitem__(-1, "{"), "line 6: not what a replay holds there"),
    "another count": (
        lambda lines: lines.__setitem__(-1, lines[-1].replace('"end":4', '"end":5')),
        "line 6: the file holds 4 hands and says 5",
    ),
    "a fault that is none": (
        lambda lines: lines.__setitem__(-1, '{"end": 4, "faults": [{"entrant": 1, "code": "LAZY", "detail": ""}]}'),
        "line 6: not what a replay holds there: ValueError: 'LAZY'",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_by_its_line(name: str) -> None:
    change, message = UNREADABLE[name]
    lines = lines_of("hands").splitlines()
    change(lines)
    with pytest.raises(ReplayError, match=re.escape(message)) as caught:
        read_replay("".join(line + "\n" for line in lines).encode())
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_named_by_their_line() -> None:
    lines = lines_of("hands").encode().splitlines(keepends=True)
    with pytest.raises(ReplayError, match="line 3: not UTF-8"):
        read_replay(b"".join([*lines[:2], b"\xff\n", *lines[3:]]))


def test_the_stand_in_of_a_lost_bot_is_in_the_replay() -> None:
    plan = plan_of(boards=2, fault_limit=0)

    def wrong(message: Any) -> list[Any]:
        for row in range(len(message.plays.card)):
            message.plays.card[row] = 60
        return [message]

    record = play(plan, [BentLink(Uniform(), wrong) if place == 1 else LocalLink(Uniform()) for place in range(4)])
    replay = read_replay(write_replay(replay_of(plan, record.hands, record.faults)))
    assert all(hand.stand_ins == (hand.places.index(1),) for hand in replay.hands)
    assert [fault.entrant for hand in replay.hands for fault in hand.faults] == [11]
