"""Stepping through a replay: where each key leads, and the command on a real terminal, with real keys."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arbiter.cli.stepping import Walk, keys_of
from arbiter.engine import cards_of, compile_rules, format_cards, new_hand
from arbiter.match import Replay, read_replay
from tests.cli.conftest import Call
from tests.match.replays import lines_of
from tests.patience import PATIENCE

END = "<what the command wrote ends here>"
RIGHT, LEFT, DOWN, UP, PAGE_DOWN = "\x1b[C", "\x1b[D", "\x1b[B", "\x1b[A", "\x1b[6~"


def replay_of(kind: str) -> Replay:
    return read_replay(lines_of(kind).encode())


def walked(walk: Walk, keys: str) -> tuple[int, int, int, int]:
    """Board, hand, trick and number of cards on the table after these keys."""
    for key in keys.split():
        assert walk.press(key)
    position = walk.position
    return position.hand.board, position.hand.number, position.trick, len(position.cards)


# -- the walk ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hands", "game", "choice", "kitty", "offence", "bad card"])
def test_a_walk_shows_every_card_of_every_hand_and_the_same_on_its_way_back(kind: str) -> None:
    replay = replay_of(kind)
    walk = Walk(replay)
    seen = [walk.position]
    while walk.press("right") and walk.position is not seen[-1]:
        seen.append(walk.position)
    assert [position.hand for position in seen if position.over] == list(replay.hands)
    for hand in replay.hands:
        shown = [position for position in seen if position.hand is hand]
        assert [p.cards for p in shown if p.winner is not None and not p.over] == [
            trick.cards for trick in hand.tricks if trick.winner is not None
        ]
        assert [p.cards[-1] for p in shown if p.cards and not p.over] == [
            card for cards in [*(trick.cards for trick in hand.tricks), hand.unfinished] for card in cards
        ]
        assert shown[-1].points == hand.points
    back = [walk.position]
    while walk.press("left") and walk.position != back[-1]:
        back.append(walk.position)
    assert back == seen[::-1]


def test_what_is_held_is_the_engine_s_account() -> None:
    replay = replay_of("hands")
    record = replay.hands[0]
    hand = new_hand(compile_rules(replay.rules), record.dealt, dealer=record.dealer, direction=record.direction)
    hand.exchange(record.passed or ())
    walk = Walk(replay)
    walk.press("right")
    for trick in record.tricks:
        for card in trick.cards:
            assert walk.position.held == tuple(hand.hands)
            hand.play(card)
            walk.press("right")
            assert walk.position.points == hand.points


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("left", (1, 1, 0, 0)),
        ("right", (1, 1, 0, 0)),
        ("right right", (1, 1, 1, 1)),
        ("t", (1, 1, 1, 1)),
        ("t t t", (1, 1, 3, 1)),
        ("t t right right", (1, 1, 2, 3)),
        ("t t right right T", (1, 1, 2, 1)),
        ("t t right right T T", (1, 1, 1, 1)),
        ("t T", (1, 1, 0, 0)),
        ("t T T", (1, 1, 0, 0)),
        ("t " * 14, (1, 1, 13, 4)),
        ("t " * 15, (1, 2, 0, 0)),
        ("t " * 15 + "T", (1, 1, 13, 4)),
        ("t " * 14 + "right", (1, 2, 0, 0)),
        ("h", (1, 2, 0, 0)),
        ("h h t", (1, 3, 1, 1)),
        ("h h t H", (1, 3, 0, 0)),
        ("h h t H H", (1, 2, 0, 0)),
        ("H", (1, 1, 0, 0)),
        ("b", (2, 1, 0, 0)),
        ("b h t", (2, 2, 1, 1)),
        ("b h t B", (2, 1, 0, 0)),
        ("b h B B", (1, 1, 0, 0)),
        ("b b", (2, 1, 0, 0)),
        ("B", (1, 1, 0, 0)),
        ("x ? t", (1, 1, 1, 1)),
    ],
)
def test_where_keys_lead(keys: str, place: tuple[int, ...]) -> None:
    assert walked(Walk(replay_of("games")), keys) == place


def test_a_walk_begins_where_it_is_told_to() -> None:
    replay = replay_of("games")
    assert walked(Walk(replay, 2, 5), "") == (1, 3, 5, 1)
    assert walked(Walk(replay, 2, 99), "") == (1, 3, 13, 4)
    assert not Walk(replay).press("q")


# -- the command -------------------------------------------------------------------------------------------------------


class Terminal:
    """A command on a pseudo-terminal of its own, 40 lines by 120 columns."""

    def __init__(self, words: list[str], **environment: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._slave = slave
        self.before = termios.tcgetattr(slave)
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
        self.process = subprocess.Popen(
            [Path(sys.executable).with_name("arbiter"), *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=kept | {"TERM": "xterm-256color"} | environment,
            start_new_session=True,
        )
        self.output = ""

    def press(self, *keys: str) -> None:
        """Type."""
        os.write(self._master, "".join(keys).encode())

    def shows(self, text: str) -> str:
        """Wait until the terminal has been sent this text; what was sent up to there, from then on forgotten."""
        end = time.monotonic() + PATIENCE
        while text not in self.output:
            left = end - time.monotonic()
            assert left > 0, f"never shown: {text!r}; but {self.output!r}"
            ended = self.process.poll() is not None
            if select.select([self._master], [], [], min(left, 0.2))[0]:
                self.output += os.read(self._master, 65536).decode(errors="replace")
            else:
                assert not ended or text == END, self.output
        shown, _, self.output = self.output.partition(text)
        return shown + text

    def ends(self) -> int:
        """Wait for the command's end, and for all that it has written; its exit status."""
        status = self.process.wait(PATIENCE)
        os.write(self._slave, END.encode())  # the kernel hands on in its own time what the command wrote before
        self.output = self.shows(END).removesuffix(END)
        return status

    def mode(self) -> list[object]:
        """How the terminal is set."""
        return termios.tcgetattr(self._slave)

    def close(self) -> None:
        """End the command, if it still runs, and the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._slave)
        os.close(self._master)


OnTerminal = Callable[..., Terminal]


@pytest.fixture
def on_terminal() -> Iterator[OnTerminal]:
    started: list[Terminal] = []

    def start(*words: str | Path, **environment: str) -> Terminal:
        started.append(Terminal([str(word) for word in words], **environment))
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay of two boards, each of several hands."""
    file = tmp_path_factory.mktemp("replays") / "games.jsonl"
    file.write_text(lines_of("games"), encoding="utf-8")
    return file


def test_keys_on_a_terminal(on_terminal: OnTerminal, games: Path) -> None:
    terminal = on_terminal("replay", "show", games, "--step")
    first = terminal.shows("step 1 of 55, hand 1 of")
    assert "\x1b[?1049h" in first, "on the terminal's other screen"
    for keys, shown in (
        (RIGHT, "step 2 of 55, hand 1 of"),
        (" ", "step 3 of 55, hand 1 of"),
        (LEFT, "step 2 of 55, hand 1 of"),
        ("\x7f", "step 1 of 55, hand 1 of"),
        (DOWN + "t", "step 7 of 55, hand 1 of"),
        (UP, "step 3 of 55, hand 1 of"),
        (PAGE_DOWN, "step 1 of 55, hand 2 of"),
        ("\x1bOC", "step 2 of 55, hand 2 of"),
        ("?\x1b[15~" + RIGHT, "step 3 of 55, hand 2 of"),
        ("b" + RIGHT, "step 2 of"),
    ):
        terminal.press(keys)
        terminal.shows(shown)
    for part in ("\x1b", "[", "C"):
        terminal.press(part)
    terminal.shows("step 3 of")
    terminal.press("q")
    assert terminal.ends() == 0
    assert "\x1b[?1049l" in terminal.output
    assert terminal.mode() == terminal.before, "keys are echoed again"


PARTS = {
    "an arrow": (("\x1b", "[", "C"), ["right"]),
    "another mode": (("\x1bO", "C"), ["right"]),
    "cut within a key": (("t\x1b[6", "~t"), ["t", "h", "t"]),
    "a key without a meaning": (("\x1b[15;5~ ",), ["\x1b[15;5~", "right"]),
    "escape, then a key": (("\x1b", "q"), ["\x1b", "q"]),
    "no sequence after all": (("\x1b[", "\u00e9q"), ["\x1b", "[", "\u00e9", "q"]),
}


@pytest.mark.parametrize("name", PARTS)
def test_keys_are_told_apart_however_they_come(name: str) -> None:
    parts, keys = PARTS[name]
    assert list(keys_of(part.encode() for part in parts)) == keys


def test_it_begins_where_the_options_say(on_terminal: OnTerminal, games: Path) -> None:
    terminal = on_terminal("replay", "show", games, "--step", "--board", "2", "--hand", "2", "--trick", "3")
    shown = terminal.shows("step 11 of 55")
    assert "board 2, hand 2" in shown
    assert "trick 3" in shown
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.ends() == 130
    assert terminal.mode() == terminal.before


COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-8]|9[0-7])(?:;[0-9]+)*m")


@pytest.mark.parametrize("words", [("--board", "1"), ("--trick", "1"), ("--step",)])
def test_colours_are_for_terminals_that_want_them(on_terminal: OnTerminal, games: Path, words: tuple[str, ...]) -> None:
    def printed(**environment: str) -> str:
        terminal = on_terminal("replay", "show", games, "--hand", "1", *words, **environment)
        terminal.press("q")
        assert terminal.ends() == 0
        return terminal.output

    assert COLOUR.search(printed())
    plain = printed(NO_COLOR="1")
    assert "bot3" in plain
    assert not COLOUR.search(plain)


def test_into_a_pipe_goes_plain_text(call: Call, games: Path) -> None:
    for words in ((), ("--trick", "2")):
        shown = call("replay", "show", games, *words)
        assert (shown.status, shown.errors) == (0, "")
        assert "\x1b" not in shown.output


def test_a_trick_is_shown_with_what_was_held_before_it(call: Call, games: Path) -> None:
    record = replay_of("games").hands[1]
    held = list(record.dealt)
    shown = call("replay", "show", games, "--board", "1", "--hand", "2", "--trick", "1", "--json")
    assert (shown.status, shown.errors) == (0, "")
    (found,) = json.loads(shown.output)
    trick = record.tricks[0]
    assert (found["board"], found["hand"], found["trick"]) == (1, 2, 1)
    assert (found["leader"], found["winner"], found["points"]) == (trick.leader, trick.winner, trick.points)
    assert found["cards"] == format_cards(trick.cards)
    for seat, cards in enumerate(record.passed or ()):
        kept = {str(card) for card in cards_of(held[seat])} - set(format_cards(cards).split())
        assert kept < set(found["held"][seat].split())
    table = call("replay", "show", games, "--board", "1", "--hand", "2", "--trick", "1").output
    assert "board 1, hand 2  pass right  trick 1" in table
    assert "takes the trick" in table


def test_what_there_is_not_is_a_mistake_of_use(call: Call, games: Path) -> None:
    for words, message in (
        (("--board", "3"), "sitting test/0/0 has no board 3; it has boards 1 to 2"),
        (("--board", "1", "--hand", "99"), "has no hand 99 there; board 1 has hands 1 to "),
        (("--trick", "14"), "sitting test/0/0 has no trick 14 there; the longest hand has 13"),
        (("--step",), "--step needs a terminal and goes without --json; --board, --hand and --trick show parts"),
    ):
        shown = call("replay", "show", games, *words)
        assert (shown.status, shown.output) == (2, "")
        assert message in shown.errors


def test_what_does_not_hold_is_not_shown(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "changed.jsonl"
    file.write_text(lines_of("hands").replace('"places":[0,1,2,3]', '"places":[0,1,2,9]', 1), encoding="utf-8")
    shown = call("replay", "show", file)
    assert (shown.status, shown.output) == (1, "")
    assert shown.errors.startswith(f"error: {file}: board 1, hand 1: seated as (0, 1, 2, 9), not as")


def test_names_from_a_file_are_no_markup_and_steer_no_terminal(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text(lines_of("hands").replace('"bot1"', '"[/b]\\u001b[2Jx"', 1), encoding="utf-8")
    for words in ((), ("--trick", "1")):
        shown = call("replay", "show", file, *words)
        assert (shown.status, shown.errors) == (0, "")
        assert "1 [/b] [2Jx" in shown.output
        assert "\x1b" not in shown.output
