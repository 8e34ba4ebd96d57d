"""One place for all runs of these tests, and one run that nothing disturbs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support import BOTS, SAMPLES, Place, new_place, standings, tournament_file


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    with new_place() as found:
        yield found


@pytest.fixture(scope="session")
def cup(place: Place) -> Path:
    """A tournament of four sittings, long enough to be disturbed; two of its bots draw from `view.random`."""
    bots = [SAMPLES / "uniform", BOTS / "slow", SAMPLES / "uniform", SAMPLES / "lowest"]
    return tournament_file(place.data, bots)


@pytest.fixture(scope="session")
def undisturbed(place: Place, cup: Path) -> dict[str, Any]:
    """The standings after a run with four workers."""
    outcome = place.run("tournament", "run", cup, "--workers", "4", "--json")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    found = standings(outcome.stdout)
    assert found["sittings"]["recorded"] == 4
    assert sum(row["hands"] for row in found["standings"]) == 4 * found["hands"] == 32
    assert not any(row["faults"] for row in found["standings"])
    return found
