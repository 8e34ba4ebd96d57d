"""Bots for gates: the careful sample bot, and a copy of it with one bug."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.e2e.support import SAMPLES

BUG: Final = """\
        queen = [card for card in view.legal if str(card) == "QS"]
        if queen and not view.trick:
            return queen[0]
"""
"""It leads the queen of spades whenever it may."""

CHOOSE: Final = "    def choose_card(self, view: CardView) -> Card:\n"


def copy_of_careful(folder: Path, name: str, *, bug: str = "") -> Path:
    """The folder of a copy, sound or with a bug in how it chooses cards."""
    copy = folder / name
    copy.mkdir()
    code = (SAMPLES / "careful" / "bot.py").read_text()
    assert code.count(CHOOSE) == 1
    (copy / "bot.py").write_text(code.replace(CHOOSE, CHOOSE + bug))
    (copy / "bot.toml").write_text(f'[bot]\nname = "{name}"\nruntime = "python"\nrun = ["python", "bot.py"]\n')
    return copy
