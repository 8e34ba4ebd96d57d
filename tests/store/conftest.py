"""A store of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's database is, or will be."""
    return tmp_path / "arbiter.db"


@pytest.fixture
def store(target: str) -> Iterator[Store]:
    """An empty store."""
    with Store.open(target) as opened:
        yield opened
