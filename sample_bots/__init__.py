"""Small bots, each a lesson in one thing: a folder with ``bot.toml`` and the program that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from arbiter.errors import UsageError

NAMES: Final = ("uniform", "lowest", "careful", "moonshooter", "montecarlo", "batch", "columns")
"""The bots, the simplest first."""


def folder(name: str) -> Path:
    """The folder of the sample bot with this name.

    Raises:
        UsageError: there is no such bot.
    """
    if name not in NAMES:
        raise UsageError(f"there is no sample bot {name!r}; there are: {', '.join(NAMES)}")
    return Path(__file__).parent / name
