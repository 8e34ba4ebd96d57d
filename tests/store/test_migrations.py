"""The migrations against the tables that the code declares."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, inspect

from arbiter.compression import compress
from arbiter.store import Lease, SittingKey, Store, StoreError, checking, schema
from arbiter.store.database import Database
from arbiter.store.tables import Table
from tests.postgres import Postgres
from tests.store.support import START, TERM, after, create, leased, result

FIRST = SittingKey("demo-1a2b", 0, 0)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that no other test uses again, with nothing in it."""
    if request.param == "sqlite":
        yield str(tmp_path / "arbiter.db")
        return
    server: Postgres = request.getfixturevalue("postgres")
    url = server.new(empty=True)
    yield url
    server.drop(url)


@pytest.fixture
def opened(target: str) -> Iterator[Database]:
    found = Database(target)
    schema.upgrade(found)
    yield found
    found.close()


def test_the_newest_schema_is_what_the_code_declares(opened: Database) -> None:
    with opened.connection(writes=False) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
        assert compare_metadata(context, Table.metadata) == []


def test_keys_and_constraints_have_the_declared_names(opened: Database) -> None:
    """The comparison above does not look at these names, by which later migrations address them."""
    with opened.connection(writes=False) as connection:
        found = MetaData()
        found.reflect(connection)
    for name, table in Table.metadata.tables.items():
        assert {(str(c.name), type(c)) for c in found.tables[name].constraints} == {
            (str(c.name), type(c)) for c in table.constraints
        }
        assert list(found.tables[name].primary_key.columns.keys()) == list(table.primary_key.columns.keys())


def test_down_to_nothing_and_up_again(target: str, opened: Database) -> None:
    with opened.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "base")
    with opened.connection(writes=False) as connection:
        assert inspect(connection).get_table_names() == [schema.VERSION_TABLE]
    with Store.open(target) as store:
        create(store, "again")
        assert store.tournament("again").id == "again"


def test_a_plan_of_the_first_schema_is_kept(target: str) -> None:
    with Store.open(target) as store:
        create(store, "old")
    database = Database(target)
    with database.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0001")
    database.close()
    with Store.open(target) as store:
        (key, *_) = store.planned("old")
        assert isinstance(store.lease(key, "w1", START, TERM), Lease)
        store.expire_leases("old", after(1000), max_lost=1)
        assert store.failed("old") == [key]


_TOURNAMENT = sa.table("tournament", sa.column("spec", sa.JSON))


def test_earlier_plans_keep_their_clock(target: str) -> None:
    with Store.open(target) as store:
        create(store, "old")
        entrants = len(store.entrants("old"))
    clock = {"start_up": 5.0, "bank": 1.5, "increment": 0.0, "hard_stop": 2.0}
    database = Database(target)
    with database.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0005")
        spec = {"name": "old", "match": {"boards": 2}, "clock": clock}
        connection.execute(sa.update(_TOURNAMENT).values(spec=spec))
    database.close()
    with Store.open(target) as store:
        found = store.tournament("old").spec
    assert found["clocks"] == [{**clock, "margin": 0.0}] * entrants
    assert found["match"] == {"boards": 2, "fault_policy": "stand_in"}
    database = Database(target)
    with database.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0005")
        kept = connection.scalars(sa.select(_TOURNAMENT.c.spec)).one()
    database.close()
    assert kept["clock"] == clock


def test_earlier_versions_find_the_bots_beside_the_database(path: Path) -> None:
    with Store.open(path) as store:
        create(store, "old")
        digests = [entrant.digest for entrant in store.entrants("old")]
    database = Database(path)
    with database.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0006")
        folders = connection.execute(sa.text("select folder from entrant order by number")).scalars().all()
    database.close()
    assert folders == [str(path.parent / "bots" / digest) for digest in digests]
    with Store.open(path) as store:
        assert [entrant.digest for entrant in store.entrants("old")] == digests


@pytest.fixture
def recorded(target: str) -> Iterator[Database]:
    """A database with one result, its connections closed but for the fixture's own."""
    with Store.open(target) as store:
        create(store, "demo-1a2b")
        store.record(FIRST, leased(store, FIRST).attempt, result(FIRST), START)
    database = Database(target)
    yield database
    database.close()


_RESULT = sa.table("result", sa.column("replay", sa.LargeBinary), sa.column("digest", sa.String))


def test_replays_are_compressed_anew_and_back(target: str, recorded: Database) -> None:
    with recorded.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0014")
        kept = connection.scalars(sa.select(_RESULT.c.replay)).one()
    assert zlib.decompress(kept) == result(FIRST).replay
    with Store.open(target) as store:
        assert store.replay(FIRST) == result(FIRST).replay
    assert checking.check(recorded) == []


def test_what_an_earlier_version_could_not_read_is_not_taken_back(target: str, recorded: Database) -> None:
    packed = compress(b"\x01 and hands")
    with recorded.connection(writes=True) as connection:
        connection.execute(sa.update(_RESULT).values(replay=packed))

    def back() -> None:
        with recorded.connection(writes=True) as connection:
            command.downgrade(schema.alembic_config(connection), "0014")

    with pytest.raises(StoreError, match="restore the backup that was made before the upgrade"):
        back()
    with recorded.connection(writes=False) as connection:
        assert connection.scalars(sa.select(_RESULT.c.replay)).one() == packed
    with Store.open(target) as store:
        assert store.replay(FIRST) == b"\x01 and hands"


def test_a_migration_that_fails_leaves_nothing_behind(target: str, opened: Database) -> None:
    def fail_late() -> None:
        with opened.connection(writes=True) as connection:
            command.downgrade(schema.alembic_config(connection), "base")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_late()
    with Store.open(target) as store:
        create(store, "untouched")
        assert store.tournament("untouched").id == "untouched"


def test_the_history_is_one_line(opened: Database) -> None:
    with opened.connection(writes=False) as connection:
        script = ScriptDirectory.from_config(schema.alembic_config(connection))
    assert len(script.get_heads()) == 1
    assert all(not each.is_branch_point for each in script.walk_revisions())
