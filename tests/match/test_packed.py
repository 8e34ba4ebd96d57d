"""The packed form of replays: nothing is lost, few bytes are left, and whatever can't be read is named."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.compression import compress
from arbiter.deals import Seatings, SeatingsKind
from arbiter.engine import rule_set
from arbiter.links import LocalLink
from arbiter.match import (
    HandRecord,
    Replay,
    ReplayError,
    hand_to_dict,
    pack_replay,
    read_replay,
    replay_of,
    unpack_replay,
    write_replay,
)
from tests.match.replays import lines_of, lines_within
from tests.match.support import VARIANTS, Uniform, plan_of, play

KINDS = ["hands", "game", "games", "choice", "kitty", "offence", "bad pass", "lost", "unpunished", "bad card"]


def replay(kind: str) -> Replay:
    return read_replay(lines_of(kind).encode())


PACKED = pack_replay(replay("hands"))
KEPT = {
    "hands": "07f3c6e178ae97e431c10072a906e5bbd3778d05ccb6d773eb47df87d3885055",
    "offence": "c581ddcc0b11d09c6adc6b9040fa53e3fe55ecea49714bc158ad895244b874d6",
}
"""SHA-256 of the hands in the files that are kept beside this one."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_is_unpacked_as_it_was_packed(kind: str) -> None:
    packed = pack_replay(replay(kind))
    assert unpack_replay(packed) == replay(kind)
    assert pack_replay(unpack_replay(packed)) == packed
    assert not lines_within(packed)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_hand_of_any_rule_set_takes_few_bytes(name: str, options: tuple[str, ...]) -> None:
    """The goal is 100 bytes a hand on its way; what a sitting of 16 boards takes beside its hands is among them."""
    rules = rule_set(name, options, {})
    plan = replace(plan_of(rules, boards=16), seatings=Seatings(SeatingsKind.RANDOM, 3))
    record = play(plan, [LocalLink(Uniform()) for _ in range(rules.players)])
    found = replay_of(plan, record.hands, record.faults)
    packed = pack_replay(found)
    assert unpack_replay(packed) == found
    assert not lines_within(packed)
    assert len(compress(packed)) / 16 < (120 if rules.decks == 2 else 90)


@pytest.mark.parametrize("kind", ["hands", "offence"])
def test_what_databases_hold_can_be_read(kind: str) -> None:
    """Whoever changes the form gives it another first byte, and goes on reading this one."""
    kept = bytes.fromhex((Path(__file__).parent / "packed" / f"{kind}.hex").read_text())
    hands = json.dumps([hand_to_dict(hand) for hand in unpack_replay(kept).hands])
    assert sha256(hands.encode()).hexdigest() == KEPT[kind]


def test_json_lines_are_read_too() -> None:
    """Databases have replays from before there was a packed form."""
    assert unpack_replay(lines_of("offence").encode()) == replay("offence")


def test_a_hand_that_breaks_the_rules_stands_as_a_line_and_the_others_do_not() -> None:
    found = replay("hands")
    first, second, *rest = found.hands
    odd = replace(found, hands=(first, replace(second, points=(26, 0, 0, 0)), *rest))
    packed = pack_replay(odd)
    assert unpack_replay(packed) == odd
    assert [json.loads(line)["points"] for line in lines_within(packed)] == [[26, 0, 0, 0]]


SHORT: dict[str, Callable[[HandRecord], HandRecord]] = {
    "a seat": lambda hand: replace(hand, places=hand.places[:-1]),
    "a pass": lambda hand: replace(hand, passed=(hand.passed or ())[:-1]),
    "a trick": lambda hand: replace(hand, tricks=hand.tricks[:-1]),
    "an offence": lambda hand: replace(hand, tricks=hand.tricks[:-1], unfinished=hand.tricks[-1].cards[:2]),
}


@pytest.mark.parametrize("lacking", SHORT)
def test_a_hand_that_lacks_something_is_kept_without_it(lacking: str) -> None:
    plan = replace(plan_of(boards=2), seatings=Seatings(SeatingsKind.RANDOM, 3))
    record = play(plan, [LocalLink(Uniform()) for _ in range(4)])
    first, second = record.hands
    changed = replay_of(plan, (SHORT[lacking](first), second), record.faults)
    assert unpack_replay(pack_replay(changed)) == changed


def test_hands_in_any_order_are_kept_in_it() -> None:
    found = replay("games")
    for chance in map(random.Random, range(5)):
        shuffled = replace(found, hands=tuple(chance.sample(found.hands, len(found.hands))))
        assert unpack_replay(pack_replay(shuffled)) == shuffled


END = len(PACKED)
UNREADABLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "nothing": (lambda data: b"", "line 1"),
    "the first byte alone": (lambda data: data[:1], "byte 1: the replay is cut off"),
    "cut off in its lines": (lambda data: data[:300], "byte 3: the replay is cut off"),
    "cut off before its hands": (lambda data: data[: data.index(b'"faults":[]}') + 13], "the replay is cut off"),
    "cut off in its hands": (lambda data: data[:-1], "the replay is cut off"),
    "bytes behind its hands": (lambda data: data + b"\0", "bytes follow the 4 hands that were announced"),
    "an endless number": (lambda data: data[:1] + b"\xff" * 20, "no number that a replay holds"),
    "hands without end": (
        lambda data: data[: data.index(b'"faults":[]}') + 13] + b"\xff\xff\xff\x7f",
        "268435455 hands were announced",
    ),
    "a line for a hand that has none": (
        lambda data: data[: data.index(b'"faults":[]}') + 13] + b"\1\0",
        "hand 1: it should stand as a line",
    ),
    "a number that says more than a hand": (lambda data: data[:-1] + b"\xff", "hand 4: its number is too large"),
    "a number without end": (
        lambda data: data[: data.index(b'"faults":[]}') + 13] + b"\1\x81\x08" + b"\xff" * 1025,
        "hand 1: its number takes 1025 bytes",
    ),
    "other lines": (lambda data: data.replace(b'"version":3', b'"version":9'), "a replay of version 9"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(name: str) -> None:
    change, message = UNREADABLE[name]
    with pytest.raises(ReplayError, match=re.escape(message)) as caught:
        unpack_replay(change(PACKED))
    assert "\n" not in str(caught.value)


def test_more_hands_than_were_planned_are_not_played() -> None:
    assert unpack_replay(PACKED, 4) == replay("hands")
    with pytest.raises(ReplayError, match="4 hands were announced, but 3 at the most were planned"):
        unpack_replay(PACKED, 3)


def test_a_line_too_many_is_named() -> None:
    found = replay("hands")
    lines = write_replay(replace(found, hands=found.hands[:1]))
    frame = bytes([len(lines) & 0x7F | 0x80, len(lines) >> 7])
    with pytest.raises(ReplayError, match="more lines than hands: 0 hands were announced"):
        unpack_replay(b"\x01" + frame + lines + b"\0")


@settings(max_examples=150)
@given(st.sampled_from(KINDS), st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4))
def test_changed_bytes_are_an_error_or_a_replay(kind: str, edits: list[tuple[float, int]]) -> None:
    data = bytearray(pack_replay(replay(kind)))
    for place, byte in edits:
        data[int(place * len(data))] = byte
    with suppress(ReplayError):
        found = unpack_replay(bytes(data))
        assert unpack_replay(pack_replay(found)) == found
