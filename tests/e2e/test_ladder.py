"""The ladder with real processes, on one machine and at a service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arbiter.identity import issue_token
from arbiter.store import Scope, Store
from tests.e2e.support import COMMAND, SAMPLES, Place, environment, new_place, until
from tests.e2e.test_submission import TIMEOUT, service


@pytest.fixture
def fresh() -> Iterator[Place]:
    with new_place() as found:
        yield found


def test_a_ladder_is_entered_played_stopped_and_gone_on_with(fresh: Place) -> None:
    lonely = fresh.run("ladder", "run", "--boards", "2")
    assert (lonely.returncode, "has 0 bots, and a table seats 4" in lonely.stderr) == (2, True)
    for name in ("lowest", "uniform", "careful", "batch"):
        entered = fresh.run("ladder", "enter", SAMPLES / name)
        assert entered.returncode == 0, entered.stderr
        assert entered.stdout.startswith(f"{name}@1 plays on ladder ladder-")
    counts = []
    for _ in range(2):
        played = fresh.run("ladder", "run", "--matches", "1", "--json")
        assert played.returncode == 0, played.stderr
        found = json.loads(played.stdout)["leaderboard"]
        counts.append(sum(row["matches"] for row in found) // 4)
        assert {row["version"] for row in found} == {"lowest@1", "uniform@1", "careful@1", "batch@1"}
    assert 1 <= counts[0] < counts[1], "the second run goes on where the first stopped"
    assert fresh.processes() == []


def test_contestants_enter_folders_at_a_service_which_plays_them(fresh: Place, tmp_path: Path) -> None:
    file = tmp_path / "ladder.toml"
    file.write_text('name = "ladder"\nformat = "ladder"\n[match]\nboards = 2\nseatings = 1\n')
    bots = {"ada": "lowest", "bob": "uniform", "cyd": "careful", "dan": "batch"}
    with Store.open(fresh.data / "arbiter.db") as store:
        scopes = {"hal": Scope.HOST, "eve": Scope.SPECTATOR} | dict.fromkeys(bots, Scope.CONTESTANT)
        now = datetime.now(UTC)
        tokens = {owner: issue_token(store.accounts, owner, scope, now)[1] for owner, scope in scopes.items()}
    with service(fresh) as (address, certificate):

        def call(owner: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
            where = {"ARBITER_SERVER": address, "ARBITER_CA": certificate, "ARBITER_API_TOKEN": tokens[owner]}
            command, variables = [*COMMAND, *arguments], environment(fresh.temporary) | where
            return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=TIMEOUT)

        def enter(owner: str) -> None:
            entered = call(owner, "ladder", "enter", SAMPLES / bots[owner])
            assert entered.returncode == 0, entered.stderr
            assert entered.stdout == f"{bots[owner]}@1 plays on ladder {ladder}\n"

        def matches() -> dict[str, int]:
            shown = call("eve", "ladder", "show", "--json")
            return {row["version"]: row["matches"] for row in json.loads(shown.stdout)["leaderboard"]}

        ladder = call("hal", "service", "create", file, "--start").stdout.strip()
        with ThreadPoolExecutor() as pool:
            list(pool.map(enter, ("ada", "bob", "cyd")))
        waiting = call("ada", "ladder", "next", "lowest")
        assert waiting.stderr.startswith("nothing is planned or expected: ")
        enter("dan")
        until(lambda: min(matches().values()) >= 1, "a match of all four is complete")
        assert set(matches()) == {"lowest@1", "uniform@1", "careful@1", "batch@1"}
        assert len(json.loads(call("eve", "ladder", "history", "lowest", "--json").stdout)["history"]) >= 1
        assert call("bob", "ladder", "leave", "lowest").returncode == 2, "it is another's"
        assert call("ada", "ladder", "leave", "lowest").returncode == 0
        assert call("hal", "service", "cancel", ladder).returncode == 0
