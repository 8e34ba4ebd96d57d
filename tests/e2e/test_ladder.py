"""The ladder with real processes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.support import SAMPLES, Place, new_place


@pytest.fixture
def fresh() -> Iterator[Place]:
    with new_place() as found:
        yield found


@pytest.mark.timeout(300)
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
