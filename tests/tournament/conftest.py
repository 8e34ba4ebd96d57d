"""A store, a clock and a desk of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arbiter.store import Store
from arbiter.tournament import Desk
from tests.tournament.support import Clock


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
