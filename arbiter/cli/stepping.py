"""Steps through the hands of a replay in a terminal, a key at a time."""

from __future__ import annotations

import codecs
import os
import re
import sys
import termios
import tty
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.text import Text

from arbiter.cli.hands import Position, position_table, positions

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from arbiter.match import Replay

HELP: Final = (
    "right, space: a card on   left: a card back   t, T: next trick, back   h, H: next hand, back"
    "   b, B: next board, back   q: quit"
)

_KEYS: Final = {
    "\x1b[C": "right",
    "\x1bOC": "right",
    " ": "right",
    "\r": "right",
    "\n": "right",
    "\x1b[D": "left",
    "\x1bOD": "left",
    "\x7f": "left",
    "\b": "left",
    "\x1b[B": "t",
    "\x1bOB": "t",
    "\x1b[A": "T",
    "\x1bOA": "T",
    "\x1b[6~": "h",
    "\x1b[5~": "H",
    "\x04": "q",
}
"""What terminals send for arrows, page keys and the like: in two modes, both in use."""

_SEQUENCE: Final = re.compile(r"\x1b\[[ -?]*[@-~]|\x1bO[@-~]|\x1b(?!\[[ -?]*$|O?$)|[^\x1b]", re.DOTALL)
"""One key in what a terminal sends; the beginning of one, at the end, is not matched yet."""


class Walk:
    """A place in a replay, and the ways from there.

    Args:
        replay: one that holds what it claims.
        at: index of the hand to begin with, among the replay's hands.
        trick: number of the trick to begin with; 0 for the deal.
    """

    def __init__(self, replay: Replay, at: int = 0, trick: int = 0) -> None:
        self._replay: Final = replay
        self._enter(at)
        self._step = self._first_of(trick)

    @property
    def position(self) -> Position:
        """Where the walk is."""
        return self._positions[self._step]

    def press(self, key: str) -> bool:
        """Go where a key leads; one without a meaning leads nowhere. False when the walk is over."""
        match key:
            case "right":
                self._to(self._step + 1)
            case "left":
                self._to(self._step - 1)
            case "t":
                self._to(self._step + 1 if self.position.over else self._first_of(self.position.trick + 1))
            case "T":
                here = self._first_of(self.position.trick)
                # From within a trick to its first card, from there to the first card of the one before.
                self._to(here if self._step > here else self._first_of(self.position.trick - 1) if here else -1)
            case "h":
                self._hand(self._at + 1)
            case "H":
                self._hand(self._at if self._step else self._at - 1)
            case "b":
                self._hand(self._board_begin(self.position.hand.board + 1))
            case "B":
                here = self._board_begin(self.position.hand.board)
                inside = self._step or self._at > here
                self._hand(here if inside else self._board_begin(self.position.hand.board - 1))
            case "q":
                return False
        return True

    def shown(self) -> RenderableType:
        """What the terminal shows."""
        where = f"step {self._step + 1} of {len(self._positions)}, hand {self._at + 1} of {len(self._replay.hands)}"
        return Group(position_table(self._replay, self.position), Text(), Text(where), Text(HELP, style="dim"))

    def _enter(self, at: int) -> None:
        self._at = at
        self._positions = positions(self._replay, self._replay.hands[at])
        self._step = 0

    def _first_of(self, trick: int) -> int:
        """The first step of a trick; of one that there is not, the hand's end or beginning."""
        steps = (step for step, position in enumerate(self._positions[:-1]) if position.trick >= trick)
        return next(steps, len(self._positions) - 1)

    def _to(self, step: int) -> None:
        """To a step of this hand; beyond its ends, to the next hand's beginning or the last one's end."""
        if step < 0:
            if self._at:
                self._enter(self._at - 1)
                self._step = len(self._positions) - 1
        elif step >= len(self._positions):
            self._hand(self._at + 1)
        else:
            self._step = step

    def _hand(self, at: int) -> None:
        if 0 <= at < len(self._replay.hands):
            self._enter(at)

    def _board_begin(self, board: int) -> int:
        """Index of a board's first hand; -1 when there is no such board."""
        return next((at for at, hand in enumerate(self._replay.hands) if hand.board == board), -1)


def walk_through(walk: Walk, console: Console) -> None:
    """Show a walk on the terminal's other screen and follow the keys until it is over or interrupted."""
    with _keys() as keys, console.screen() as screen:
        screen.update(walk.shown())
        for key in keys:
            if not walk.press(key):
                return
            screen.update(walk.shown())


@contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """Keys as they are pressed. One mode for the whole walk: what is typed during a redraw is kept, too."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield keys_of(iter(lambda: os.read(terminal, 1024), b""))
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def keys_of(typed: Iterable[bytes]) -> Iterator[str]:
    """The keys in what a terminal sends, in whatever pieces it comes."""
    pending = ""
    for text in codecs.iterdecode(typed, "utf-8", errors="ignore"):
        pending += text
        end = 0
        for found in _SEQUENCE.finditer(pending):
            if found.start() != end:
                break
            end = found.end()
            yield _KEYS.get(found[0], found[0])
        pending = pending[end:]
