"""What tests of several parts share: the databases that they run on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from arbiter.store import Store, database
from tests.patience import PATIENCE
from tests.postgres import Postgres, find_programs, serving

# No test fails because the machine is busy.
settings.register_profile("arbiter", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("arbiter")


@pytest.fixture(scope="session", autouse=True)
def _patient_databases() -> Iterator[None]:
    """No test fails because the machine stands still for a while, in the middle of a transaction that others wait
    for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "BUSY_TIMEOUT_SECONDS", PATIENCE)
        for bound in ("lock_timeout", "idle_in_transaction_session_timeout"):
            patch.setitem(database._POSTGRES_SESSION, bound, f"{PATIENCE:.0f}s")
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server."""
    programs = find_programs()
    if programs is None or shutil.which("setpriv") is None:
        reason = "PostgreSQL's programs (initdb, postgres) or util-linux are not there: apt-get install postgresql"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    with serving(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the test's database is, of each kind in turn: a path or a URL."""
    if request.param == "sqlite":
        yield str(shutil.copy(request.getfixturevalue("_empty_file"), tmp_path / "arbiter.db"))
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = request.getfixturevalue("_reused")
    yield url
    server.clear(url)


@pytest.fixture(scope="session")
def _empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "arbiter.db"
    Store.open(path).close()
    return path


@pytest.fixture(scope="session")
def _reused(postgres: Postgres) -> str:
    return postgres.new()
