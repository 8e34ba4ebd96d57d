"""The command line is loaded, or says why not: before that, nothing of the project can print anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Stands in for what happens while a module is looked for.
LOADING = """
import sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "arbiter.cli":
            {happens}
sys.meta_path.insert(0, Finder)
from arbiter.__main__ import main
main()
"""


def load(happens: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOADING.format(happens=happens)], capture_output=True, text=True, check=False
    )


def test_an_interrupt_while_it_is_loaded_is_one_as_ever() -> None:
    outcome = load("raise KeyboardInterrupt")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "")


@pytest.mark.parametrize("module", ["arbiter.errors.ArbiterError", "arbiter.errors.InfrastructureError"])
def test_what_can_not_be_loaded_is_said_in_one_line(module: str) -> None:
    outcome = load(f"import arbiter.errors; raise {module}('the engine is of other sources; make compiled')")
    assert outcome.returncode == {"ArbiterError": 1, "InfrastructureError": 4}[module.rpartition(".")[2]]
    assert (outcome.stdout, outcome.stderr) == ("", "error: the engine is of other sources; make compiled\n")
