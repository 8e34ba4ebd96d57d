"""Whole runs on PostgreSQL, which is killed in the middle of one; and the way there from an SQLite file."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from tests.e2e.support import held_worker, new_place, standings
from tests.patience import PATIENCE
from tests.postgres import Postgres

VARIABLE = "ARBITER_DATABASE_URL"


def test_a_run_outlives_its_database_and_comes_to_the_same_standings(
    postgres: Postgres, cup: Path, undisturbed: dict[str, Any]
) -> None:
    url = postgres.new(empty=True)
    with new_place() as place:
        process = place.start("tournament", "run", cup, "--json", **{VARIABLE: url})
        with held_worker(place, process):
            postgres.end(signal.SIGQUIT)
            try:
                assert process.stderr is not None
                said = process.stderr.readline()
            finally:
                postgres.start()
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        assert "trying again in" in said
        assert "Traceback" not in errors
        assert standings(output) == undisturbed
        assert not (place.data / "arbiter.db").exists()
        again = place.run("tournament", "standings", "cup-", "--json", **{VARIABLE: url})
        assert standings(again.stdout) == undisturbed
        assert place.run("db", "check", **{VARIABLE: url}).stderr.endswith("all is well\n")
    postgres.drop(url)


def test_a_tournament_moves_to_postgres(postgres: Postgres, cup: Path, undisturbed: dict[str, Any]) -> None:
    url = postgres.new(empty=True)
    with new_place() as place:
        played = place.run("tournament", "run", cup, "--json")
        assert standings(played.stdout) == undisturbed
        copied = place.run("db", "copy", **{VARIABLE: url})
        assert copied.returncode == 0, copied.stderr
        assert "result: 4\n" in copied.stdout
        assert "row for row" in copied.stderr
        again = place.run("db", "copy", **{VARIABLE: url})
        assert (again.returncode, again.stderr.count("\n")) == (2, 1)
        there = place.run("tournament", "standings", "cup-", "--json", **{VARIABLE: url})
        assert json.loads(there.stdout) == json.loads(played.stdout)
    postgres.drop(url)
