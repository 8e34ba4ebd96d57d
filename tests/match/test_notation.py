"""The text notation: what is written is read back, what people write is read too, and mistakes are named by line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.deals import ROTATIONS, Seatings, SeatingsKind
from arbiter.engine import Moon, PassDirection, RuleSet, Trick, mask_of, rule_set
from arbiter.links import FaultCode, Link, LocalLink
from arbiter.match import (
    Fault,
    FaultPolicy,
    HandRecord,
    MatchFormat,
    Replay,
    ReplayError,
    read_replay,
    replay_of,
    verify_replay,
    write_replay,
)
from arbiter.match.notation import is_notation, read_notation, write_notation
from arbiter.match.replay import ReplayBot
from tests.match.replays import changed, lines_of
from tests.match.support import DEAL_SEED, VARIANTS, BentLink, Uniform, plan_of, play
from tests.match.test_tampering import TAMPERED, refusal

PAGE = Path(__file__).parents[2] / "docs" / "replay-format.md"
KINDS = ("hands", "game", "choice", "offence", "kitty")


@cache
def replay_from(kind: str) -> Replay:
    return read_replay(lines_of(kind).encode())


def holds(replay: Replay) -> None:
    """Print, parse and print again: nothing is lost, and JSON Lines made from it are the same."""
    text = write_notation(replay)
    assert is_notation(text)
    assert read_notation(text) == replay
    assert write_notation(read_notation(text)) == text
    assert all(letter == "\n" or letter.isprintable() for letter in text)


# -- the identity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_every_rule_set_is_read_as_it_was_written(name: str, options: tuple[str, ...]) -> None:
    for early_end in (False, True):
        plan = plan_of(rule_set(name, options), boards=3, early_end=early_end)
        record = play(plan, [LocalLink(Uniform()) for _ in plan.bots])
        replay = replay_of(plan, record.hands, record.faults)
        holds(replay)
        verify_replay(read_notation(write_notation(replay)), DEAL_SEED)


@pytest.mark.parametrize("kind", KINDS)
def test_games_choices_offences_and_kitties_are_kept(kind: str) -> None:
    replay = replay_from(kind)
    holds(replay)
    assert write_replay(read_notation(write_notation(replay))).decode() == lines_of(kind)


def test_faults_and_stand_ins_are_kept() -> None:
    plan = plan_of(boards=3, fault_limit=1)

    def wrong(message: Any) -> list[Any]:
        for row in range(len(message.plays.card)):
            message.plays.card[row] = 60
        return [message]

    links: list[Link] = [LocalLink(Uniform()) for _ in range(3)]
    record = play(plan, [BentLink(Uniform(), wrong), *links])
    replay = replay_of(plan, record.hands, record.faults)
    assert any(hand.faults for hand in replay.hands)
    holds(replay)


@pytest.mark.parametrize(
    "name", [name for name, tampering in TAMPERED.items() if not tampering.message.startswith("line ")]
)
def test_what_was_tampered_with_stays_so(name: str) -> None:
    tampering = TAMPERED[name]
    holds(changed(tampering.kind, tampering.change))
    assert refusal(tampering, lambda replay: read_notation(write_notation(replay))).startswith(tampering.message)


NUMBERS = st.integers(-(10**12), 10**12)
FEW = st.lists(NUMBERS, max_size=4).map(tuple)
CARD = st.integers(0, 51)
CARD_ROW = st.lists(CARD, max_size=6).map(tuple)
HELD = st.lists(CARD, max_size=17, unique=True).map(mask_of) | st.lists(CARD, max_size=9, unique=True).map(
    lambda cards: mask_of(cards * 2)
)
FAULTS = st.lists(
    st.builds(
        Fault,
        NUMBERS,
        st.sampled_from(FaultCode),
        st.text(),
        st.none() | NUMBERS,
        st.none() | NUMBERS,
        st.none() | NUMBERS,
        st.none() | NUMBERS,
    ),
    max_size=3,
).map(tuple)
HANDS = st.builds(
    HandRecord,
    board=NUMBERS,
    number=NUMBERS,
    places=FEW,
    dealer=NUMBERS,
    direction=st.sampled_from(PassDirection),
    dealt=st.lists(HELD, max_size=6).map(tuple),
    kitty=HELD,
    passed=st.none() | st.lists(CARD_ROW, max_size=4).map(tuple),
    tricks=st.lists(st.builds(Trick, NUMBERS, CARD_ROW, st.none() | NUMBERS, NUMBERS), max_size=4).map(tuple),
    unfinished=CARD_ROW,
    offenders=st.lists(NUMBERS, max_size=3).map(tuple),
    chosen_moon=st.none() | st.sampled_from(Moon),
    moon=st.none() | NUMBERS,
    points=FEW,
    totals=FEW,
    absent=FEW,
    missed=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=3).map(tuple),
    faults=FAULTS,
)
REPLAYS = st.builds(
    Replay,
    sitting=st.text(),
    rules=st.sampled_from([RuleSet(), rule_set("spot"), rule_set("omnibus"), rule_set("partnership")]),
    format=st.sampled_from(MatchFormat),
    boards=NUMBERS,
    seating=NUMBERS,
    seatings=st.sampled_from([ROTATIONS, Seatings(SeatingsKind.ALL), Seatings(SeatingsKind.RANDOM, 3)]),
    early_end=st.booleans(),
    fault_policy=st.sampled_from(FaultPolicy),
    fault_limit=NUMBERS,
    bots=st.lists(st.builds(ReplayBot, NUMBERS, st.text(), st.text()), max_size=12).map(tuple),
    hands=st.lists(HANDS, max_size=3).map(tuple),
    faults=FAULTS,
)


@given(REPLAYS)
def test_any_replay_at_all_is_read_as_it_was_written(replay: Replay) -> None:
    holds(replay)


@given(st.text(alphabet='[]"{};:=-0123ABoardPlyT \n\\'))
def test_any_other_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ReplayError, match=r"^line \d+: ") as caught:
        read_notation(text)
    assert "\n" not in str(caught.value)


# -- what people write -------------------------------------------------------------------------------------------------


@given(st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_tags_may_stand_in_any_order(kind: str, order: random.Random) -> None:
    """A hand begins with its Board tag, and its tricks stay in their order; nothing else has a place."""
    head, *hands = write_notation(replay_from(kind)).split("\n\n")
    *hands, tail = hands
    loose = [*head.splitlines(), *tail.splitlines()]
    order.shuffle(loose)
    text = ""
    for hand in hands:
        board, *rest = hand.splitlines()
        tags = [line for line in rest if line.startswith("[")]
        rows = [line for line in rest if not line.startswith("[")]
        order.shuffle(tags)
        mixed = [board]
        while tags or rows:
            mixed.append((tags if tags and (not rows or order.random() < 0.5) else rows).pop(0))
        text += "".join(f"{line}\n" for line in mixed)
        for _ in range(order.randrange(3)):
            text += loose.pop() + "\n" if loose else "\n"
    assert read_notation(text + "\n".join(loose)) == replay_from(kind)


CHANGES: dict[str, Callable[[str], str]] = {
    "comments to the line's end": lambda text: "; a comment [Board]\n" + text.replace("]\n", "] ; [Dealer 7\n"),
    "comments in braces": lambda text: text.replace("]\n", "] { over\nlines [Moon ; } \n").replace(
        " = ", " {no; no} = "
    ),
    "no blank lines": lambda text: text.replace("\n\n", "\n"),
    "many blank lines": lambda text: text.replace("\n", "\n\n \t\n"),
    "line ends of Windows": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "tags in one line": lambda text: re.sub(r"\]\n+\[", "][", text),
    "blanks in tags": lambda text: re.sub(r"\[(\w+) (.*)\]", r"[ \1\t\2 ]", text),
    "names in lower case": lambda text: re.sub(r"\[\w+", lambda found: found[0].lower(), text),
    "names in upper case": lambda text: re.sub(r"\[\w+", lambda found: found[0].upper(), text),
    "cards in lower case": lambda text: re.sub(
        r"^(\[(Deal|Kitty|Passed|Unfinished).*|\d+:.*)",
        lambda found: found[0].lower().replace("[d", "[D"),
        text,
        flags=re.M,
    ),
    "10 for T": lambda text: re.sub(
        r'(?<=")[^"]*[.:/][^"]*(?=")|^\d+:.*',
        lambda found: re.sub(r"T(?=[.CDHSKQJ2-9 ])", "10", found[0]),
        text,
        flags=re.M,
    ),
    "plus signs left out": lambda text: re.sub(r"(= \d+) \+", r"\1 ", text),
    "rules as a quoted text": lambda text: re.sub(
        r"\[Rules (.*)\]", lambda found: '[Rules "' + found[1].replace('"', '\\"') + '"]', text
    ),
    "words in upper case": lambda text: re.sub(
        r'\[(Pass|EarlyEnd|MatchFormat|Seatings|MoonChoice) ".*', lambda found: found[0].upper(), text
    ),
    "a deal from another seat": lambda text: re.sub(
        r'"0:(\S+) ([^"]*)"', lambda found: f'"1:{found[2]} {found[1]}"', text
    ),
    "a dash for a void": lambda text: re.sub(
        r"[2-9TJQKA]*(?:\.[2-9TJQKA]*){3}",
        lambda found: ".".join(ranks or "-" for ranks in found[0].split(".")),
        text,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", ["offence", "kitty", "choice"])
def test_what_people_write_otherwise_is_read_too(name: str, kind: str) -> None:
    text = write_notation(replay_from(kind))
    written = CHANGES[name](text)
    assert read_notation(written) == replay_from(kind)
    assert is_notation(written)


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_each_of_these_changes_something(name: str) -> None:
    assert any(CHANGES[name](text) != text for text in map(write_notation, map(replay_from, KINDS)))


@pytest.mark.parametrize("kind", KINDS)
def test_json_lines_are_not_taken_for_the_notation(kind: str) -> None:
    assert not is_notation(lines_of(kind))
    told = replace(replay_from(kind), sitting='[Format "hearts-arbiter-notation 1"]')
    assert not is_notation(write_replay(told).decode())


# -- mistakes ----------------------------------------------------------------------------------------------------------


def line_of(text: str, part: str) -> int:
    """The number of the first line with this in it."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


MISTAKES = {
    "no format": ('[Format "', '[Formatted "', "[Formatted] is not the sitting's, and no hand has begun"),
    "another card": ("1: 6S", "1: 1S", "a trick: '1S' is no card"),
    "no leader": ("1: 6S", "6S", "a trick: '6S "),
    "a misspelled tag": ("[Dealer ", "[Deeler ", "the hand of board 1 has no [Dealer]"),
    "an unknown tag": ("[Dealer ", '[Weather "fine"]\n[Dealer ', "[Weather] is no tag of this notation"),
    "a tag twice": ('[Dealer "0"]', '[Dealer "0"][Dealer "1"]', "a second [Dealer] of the hand of board 1"),
    "no number": ('[Dealer "0"]', '[Dealer "north"]', "[Dealer]: 'north' is no whole number"),
    "no direction": ('[Pass "left"]', '[Pass "up"]', "[Pass]: is 'up'; write one of left, right, across"),
    "no quotes": ('[Dealer "0"]', "[Dealer north]", "[Dealer] has no value that can be read"),
    "no bracket": ('[Dealer "0"]', '[Dealer "0"', "[Dealer] is not closed after its value; write ]"),
    "no tag": ('[Dealer "0"]', '["0"]', 'no tag; write [Name "value"]'),
    "a comment without end": ('[Dealer "0"]', "{ [Dealer]", "a comment that never ends"),
    "three suits": ('[Deal "0:', '[Deal "0:2.3.4 ', "[Deal]: '2.3.4' are no cards held"),
    "a deal of no seat": ('[Deal "0:', '[Deal "9:', "does not begin with a seat and a colon"),
    "no tricks": ('[Play "13"]', '[Play "12"]', "13 tricks follow, but [Play] says '12'"),
    "rules that are none": ('"players":4', '"players":0', "[Rules]: rule set parameter 'players'"),
    "rules that are no object": ("[Rules {", '[Rules "7"][EarlyEnd {', "[Rules]: holds no JSON object"),
    "no answer": ('[EarlyEnd "no"]', '[EarlyEnd "perhaps"]', "[EarlyEnd]: is 'perhaps'; write yes or no"),
    "no seatings": ('[Seatings "rotations"]', '[Seatings "some"]', "[Seatings]: is 'some'; write 'rotations'"),
    "a fault that is none": ("[End ", '[SittingFault "10 LAZY: x"]\n[End ', "write one of ILLEGAL_PLAY"),
    "a fault of no place": ("[End ", '[SittingFault "10 CRASH room 1: x"]\n[End ', "'10 CRASH room 1' says no fault"),
    "another end": ('[End "4"]', '[End "5"]', "the file holds 4 hands and says '5'"),
    "no end": ('[End "4"]', "", "the sitting has no [End]; the file was cut off"),
    "a trick before any hand": ("[Sitting ", "0: 2C = 0\n[Sitting ", "a trick is not the sitting's"),
    "an entrant too many": ("[Rules ", '[Entrant4 "9"]\n[Rules ', "[Entrant4] is no tag of this notation"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_by_their_line(name: str) -> None:
    old, new, message = MISTAKES[name]
    text = write_notation(replay_from("hands"))
    assert old in text
    with pytest.raises(ReplayError, match=re.escape(message)) as caught:
        read_notation(text.replace(old, new, 1))
    assert re.match(r"line \d+: ", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["another card", "no number", "no tricks", "another end", "no answer"])
def test_the_line_is_the_right_one(name: str) -> None:
    old, new, _ = MISTAKES[name]
    text = write_notation(replay_from("hands")).replace(old, new, 1)
    with pytest.raises(ReplayError, match=rf"^line {line_of(text, new)}: "):
        read_notation(text)


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_example_of_the_notation_is_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    example = page.split("```pbn\n")[1].split("```")[0]
    plan = plan_of(boards=1)
    record = play(plan, [LocalLink(Uniform()) for _ in plan.bots])
    text = write_notation(replay_of(plan, record.hands, record.faults))
    cut = '[Rules {"players":4,"decks":1,…}]'
    assert cut in example
    rules = next(line for line in text.splitlines() if line.startswith("[Rules "))
    assert example.replace(cut, rules).replace("…", "0" * 63) == text


def test_the_page_names_every_tag() -> None:
    sections = PAGE.read_text(encoding="utf-8").split("## The text notation\n")[1].split("\n## ")[0]
    documented = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.*?) \|", sections, re.M))))
    crashed = replace(replay_from("hands"), faults=(Fault(10, FaultCode.CRASH, "gone"),))
    replays = [crashed, *map(replay_from, KINDS)]
    moon = replace(crashed.hands[0], moon=1, absent=(1,))
    replays.append(replace(crashed, hands=(moon,)))
    used = {tag for replay in replays for tag in re.findall(r"^\[(\w+)", write_notation(replay), re.M)}
    assert documented == {re.sub(r"[0-9]+$", "N", tag) for tag in used}
