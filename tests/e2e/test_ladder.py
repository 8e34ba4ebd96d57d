"""The ladder of one machine with real processes: entered, played, stopped, and gone on with."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from arbiter.cli.ladder_run import enter_here, make_ladder
from arbiter.store import Store
from tests.e2e.support import SAMPLES, Place, interrupt, new_place, until
from tests.patience import PATIENCE


@pytest.fixture
def fresh() -> Iterator[Place]:
    with new_place() as found:
        yield found


def test_a_ladder_is_entered_played_stopped_and_gone_on_with(fresh: Place) -> None:
    with Store.open(fresh.data / "arbiter.db") as store:
        ladder = make_ladder(store, boards=2).id
    entered = fresh.run("ladder", "enter", SAMPLES / "lowest")
    assert (entered.returncode, entered.stdout) == (0, f"lowest@1 plays on ladder {ladder}\n"), entered.stderr
    for name in ("uniform", "careful", "batch"):  # in this process, which has everything imported
        assert enter_here(fresh.data, str(SAMPLES / name), "", False).entry.name == f"{name}@1"

    with fresh.start("ladder", "run", "--workers", "1", "--json") as run:
        interrupt(fresh, run, signal.SIGTERM)
        output, errors = run.communicate(timeout=PATIENCE)
    assert (run.returncode, "Nothing that was recorded is lost" in errors) == (0, True), errors
    until(lambda: not fresh.processes(), "workers, Redis, cages and bots end with the run")
    before = matches(output)

    played = fresh.run("ladder", "run", "--matches", "1", "--workers", "1", "--json")
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["ladder"] == ladder
    after = matches(played.stdout)
    assert set(after) == {"lowest@1", "uniform@1", "careful@1", "batch@1"}
    assert all(after[name] > before[name] for name in after), "it goes on where it stopped"
    until(lambda: not fresh.processes(), "workers, Redis, cages and bots end with the run")


def matches(leaderboard: str) -> dict[str, int]:
    """Complete matches by version."""
    return {row["version"]: row["matches"] for row in json.loads(leaderboard)["leaderboard"]}
