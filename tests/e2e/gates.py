"""Bots for gates: copies of sample bots, sound or with one bug."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.e2e.support import SAMPLES

LEADS_THE_QUEEN: Final = """\
        queen = [card for card in view.legal if str(card) == "QS"]
        if queen and not view.trick:
            return queen[0]
"""
"""A bug: it leads the queen of spades whenever it may."""

CHOOSE: Final = "    def choose_card(self, view: CardView) -> Card:\n"


def copy_of(sample: str, folder: Path, name: str, *, bug: str = "") -> Path:
    """The folder of a copy, sound or with a bug in how it chooses cards."""
    copy = folder / name
    copy.mkdir()
    code = (SAMPLES / sample / "bot.py").read_text()
    assert code.count(CHOOSE) == 1
    (copy / "bot.py").write_text(code.replace(CHOOSE, CHOOSE + bug))
    (copy / "bot.toml").write_text(f'[bot]\nname = "{name}"\nruntime = "python"\nrun = ["python", "bot.py"]\n')
    return copy
