"""The command line in this process, where it starts no other, and one played tournament to look at."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arbiter.cli.main import main
from arbiter.store import Store, TournamentState
from arbiter.tournament import Desk
from tests.e2e.support import Place, new_place
from tests.tournament.support import ID, START, create, play_all


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
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one tournament of one match, played to its end."""
    folder = tmp_path_factory.mktemp("played")
    with Store.open(folder / "arbiter.db") as store:
        create(store)
        play_all(store, Desk(store))
        store.set_state(ID, TournamentState.COMPLETED, now=START)
    return folder
