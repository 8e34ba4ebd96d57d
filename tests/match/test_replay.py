"""Replays: read back as they were written, and refused line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from arbiter.links import LocalLink
from arbiter.match import ReplayError, read_replay, replay_of, verify_replay, write_replay
from tests.match.replays import changed, lines_of
from tests.match.support import DEAL_SEED, BentLink, Uniform, plan_of, play


def test_without_the_deal_seed_all_but_the_deal_is_checked() -> None:
    replay = changed("hands", lambda lines: None)
    assert verify_replay(replay) == verify_replay(replay, DEAL_SEED)
    with pytest.raises(ReplayError, match="not those that the deal seed gives"):
        verify_replay(replay, bytes(32))


@pytest.mark.parametrize("kind", ["hands", "game", "choice", "offence", "kitty"])
def test_a_replay_is_read_as_it_was_written(kind: str) -> None:
    data = lines_of(kind).encode()
    assert write_replay(read_replay(data)) == data
    assert lines_of("offence").count('"offenders"') > 0


UNREADABLE: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "nothing": (lambda lines: lines.clear(), "line 1: not what a replay holds there"),
    "no JSON at the top": (lambda lines: lines.__setitem__(0, "{"), "line 1: not what a replay holds there"),
    "another format": (lambda lines: lines.__setitem__(0, '{"format": "pbn"}'), "line 1: no replay of format"),
    "another version": (
        lambda lines: lines.__setitem__(0, lines[0].replace('"version":3', '"version":2')),
        "line 1: a replay of version 2; version 3 can be read",
    ),
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
