"""The two consoles: results on standard output, progress and errors on standard error. Both heed ``NO_COLOR``."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Hashable
from typing import Self

from rich.console import Console

output = Console()
"""Results. Without a terminal tables are as wide as they need to be."""

errors = Console(stderr=True)
"""Progress and errors."""


def print_json(data: object) -> None:
    """Print data as JSON on standard output, numbers unrounded."""
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


class Following:
    """Shows how far something is: on a terminal as a line that changes, else as a line for each step."""

    def __init__(self) -> None:
        self._status = errors.status("")
        self._step: Hashable = None

    def __enter__(self) -> Self:
        if errors.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def show(self, text: str, step: Hashable) -> None:
        """Say how far it is; without a terminal only where ``step`` is another than before."""
        if errors.is_terminal:
            self._status.update(one_line(text))
        elif step != self._step:
            errors.print(one_line(text), markup=False, highlight=False, soft_wrap=True)
        self._step = step


class ConsoleHandler(logging.Handler):
    """Shows log records beside whatever is drawn, one line each: ``warning: the embedded Redis: ...``."""

    def emit(self, record: logging.LogRecord) -> None:
        """See logging.Handler."""
        line = f"{record.levelname.lower()}: {one_line(record.getMessage())}"
        errors.print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)


def one_line(text: str) -> str:
    """The text without line breaks and control characters, for a bot's words may be in it: those can steer a
    terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def results_console() -> Console:
    """Where tables go: the terminal, or a wide page when standard output is a file or a pipe."""
    return output if output.is_terminal else Console(width=160)
