"""A bot that is started by hand says what is missing, in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOT = """
from arbiter.sdk import Bot, run

class Any(Bot):
    def choose_pass(self, view): return view.hand[:3]
    def choose_card(self, view): return view.legal[0]

run(Any())
"""


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({}, "ARBITER_ADDRESS"),
        ({"ARBITER_ADDRESS": "unix:/nowhere"}, "ARBITER_TOKEN"),
        ({"ARBITER_TOKEN": "x"}, "ARBITER_ADDRESS"),
    ],
)
def test_without_an_arbiter_a_bot_ends_with_one_line(environment: dict[str, str], missing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOT],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), **environment},
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr == f"{missing} is not set: a bot is started by the arbiter; try it with `arbiter bot check DIR`\n"
    )
