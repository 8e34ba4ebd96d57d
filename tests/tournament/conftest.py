"""A store, a clock and a desk of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arbiter.store import Store
from arbiter.supervisor import redis
from arbiter.tournament import Desk, dispatch
from tests.patience import PATIENCE
from tests.tournament.support import Clock


@pytest.fixture(autouse=True)
def _patient_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Redis is given up because the machine is slow, or stands still for a while."""
    monkeypatch.setattr(redis, "START_LIMIT", PATIENCE)
    monkeypatch.setattr(dispatch, "ANSWER_LIMIT", PATIENCE)


@pytest.fixture
def store(target: str) -> Iterator[Store]:
    with Store.open(target) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(store: Store, clock: Clock) -> Desk:
    return Desk(store, now=clock)
