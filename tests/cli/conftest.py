"""The command line in this process, where it starts no other, and one played tournament to look at."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arbiter.cli.main import main
from arbiter.store import Store
from tests.e2e.support import SAMPLES, Place, new_place, tournament_file


@dataclass(frozen=True)
class Outcome:
    """What a command left."""

    status: int
    output: str
    errors: str


Call = Callable[..., Outcome]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command in this process: quick, and as good for what only reads files and the database."""

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["arbiter", *map(str, arguments)])
        for name in [name for name in os.environ if name.startswith("ARBITER_")]:
            monkeypatch.delenv(name)
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(ended.value.code if isinstance(ended.value.code, int) else 0, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """A place whose database stays empty: every run here is refused."""
    with new_place() as found:
        yield found


@pytest.fixture(scope="session")
def played() -> Iterator[Place]:
    """A place with one tournament of one match, played to its end."""
    with new_place() as found:
        bots = [SAMPLES / "lowest", SAMPLES / "uniform", SAMPLES / "lowest", SAMPLES / "uniform"]
        outcome = found.run("tournament", "run", tournament_file(found.data, bots))
        assert (outcome.returncode, outcome.stderr) == (0, "")
        (found.data / "output").write_text(outcome.stdout)
        yield found


@pytest.fixture(scope="session")
def tournament(played: Place) -> str:
    """Its id."""
    with Store.open(played.data / "arbiter.db") as store:
        return store.tournaments()[0].id
