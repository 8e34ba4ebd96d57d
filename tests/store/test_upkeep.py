"""Looking for damage, backups, and the way from SQLite to PostgreSQL."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text

from arbiter.compression import compress
from arbiter.errors import UsageError
from arbiter.store import (
    Accounts,
    AuditEntry,
    Database,
    Entry,
    Fault,
    Quota,
    Request,
    Scope,
    SittingKey,
    Store,
    StoreError,
    Submission,
    Token,
    TournamentState,
    backup,
    checking,
    copying,
    schema,
)
from tests.postgres import Postgres
from tests.store.support import START, TERM, after, create, everything, leased, result, tournament

ID = "demo-1a2b"
FIRST, SECOND, THIRD, FOURTH = (SittingKey(ID, match, sitting) for match in range(2) for sitting in range(2))
FAULT = Fault(2, 1, 3, 2, 7, "ILLEGAL_PLAY", "played 4♦, holds 2♣")


def fill(store: Store) -> None:
    """Something in every table, and sittings in every state."""
    create(store)
    store.record(FIRST, leased(store, FIRST).attempt, result(FIRST, faults=(FAULT,)), after(1))
    store.record(FIRST, 1, result(FIRST, "otherwise"), after(2))
    # Before another worker is there, for whom it would be kept.
    store.release(THIRD, leased(store, THIRD).attempt, "starved", starved_entrant=1, max_attempts=1)
    leased(store, SECOND, "w2")
    leased(store, FOURTH)
    store.expire_leases(ID, after(30))
    leased(store, SECOND, "w3", 30)
    store.lead(f"tournament/{ID}", "here", START, TERM)
    store.accounts.add_token(Token("a" * 12, "ada", Scope.HOST, "0" * 64, START, after(9)))
    store.accounts.note(AuditEntry(START, "a" * 12, "ada", "tournament.create", ID))
    store.versions.receive(
        Submission("ada", "ducker", "r1", "d" * 64, 1 << 40, manifest={"n": None}), Quota(9, 1 << 41), START
    )
    store.builds.begin("ducker", 1, Quota(), START)
    store.requests.note(Request("ada", "r2", "RetireVersion", "ducker@1"), START)
    store.create_tournament(tournament("open", TournamentState.DRAFT), (), (), 1)
    store.entries.enter("open", Entry("ducker", 1, "ada"), per_owner=1, per_side=1, limit=1, now=START)


@pytest.fixture
def filled(target: str) -> Iterator[Database]:
    with Store.open(target) as store:
        fill(store)
    database = Database(target)
    yield database
    database.close()


def change(database: Database, statement: str) -> None:
    with database.write() as session:
        assert session.execute(text(statement)).rowcount  # type: ignore[attr-defined]  # an UPDATE or DELETE has it


def test_a_sound_database_is_found_sound(filled: Database) -> None:
    seen: list[tuple[int, int]] = []
    assert checking.check(filled, lambda done, of: seen.append((done, of))) == []
    assert seen == [(1, 1)]


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        (
            "UPDATE sitting SET state = 'recorded' WHERE state = 'failed'",
            [f"sitting {THIRD} is recorded without a result"],
        ),
        (
            "UPDATE sitting SET state = 'planned' WHERE state = 'recorded'",
            [f"sitting {FIRST} has a result and is not recorded"],
        ),
        (
            f"UPDATE attempt SET digest = '{'0' * 64}' WHERE outcome = 'recorded'",
            [f"sitting {FIRST} has a result that is not that of a recorded attempt"],
        ),
        (
            "UPDATE attempt SET outcome = 'lost' WHERE outcome = 'running'",
            [f"sitting {SECOND} is leased without an attempt that runs"],
        ),
        (
            "UPDATE attempt SET outcome = 'running' WHERE outcome = 'infrastructure'",
            [f"sitting {THIRD} has an attempt that runs without the lease"],
        ),
        (
            "UPDATE sitting SET attempts = 7 WHERE state = 'failed'",
            [f"sitting {THIRD} does not have the attempts that it counts"],
        ),
        (
            f"UPDATE tournament SET finished_at = '{START.isoformat()}' WHERE state = 'running'",
            [f"tournament {ID} is running, which its finishing time, failure or leases contradict"],
        ),
        (
            "UPDATE tournament SET state = 'paused' WHERE state = 'running'",
            [f"tournament {ID} is paused, which its finishing time, failure or leases contradict"],
        ),
    ],
)
def test_what_contradicts_itself_is_named(filled: Database, statement: str, lines: list[str]) -> None:
    change(filled, statement)
    assert checking.check(filled) == lines


@pytest.mark.parametrize("replay", [compress(b"another"), b"no zstd"])
def test_a_changed_replay_is_named(filled: Database, replay: bytes) -> None:
    with filled.write() as session:
        session.execute(text("UPDATE result SET replay = :replay"), {"replay": replay})
    assert checking.check(filled) == [f"the replay of sitting {FIRST} is not the one that was recorded"]


def test_a_broken_reference_is_named(path: Path) -> None:
    with Store.open(path) as store:
        create(store)
    database = Database(path)
    with database.driver_connection() as connection:
        connection.execute("PRAGMA foreign_keys=OFF")  # type: ignore[attr-defined]  # a connection of sqlite3
        connection.execute("DELETE FROM entrant WHERE number = 4")  # type: ignore[attr-defined]
    found = checking.check(database)
    database.close()
    assert found
    assert all("of table match_entrant refers to a row of entrant that is not there" in line for line in found)


def test_an_older_schema_is_all_that_is_said(filled: Database) -> None:
    with filled.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "-1")
    try:
        (line,) = checking.check(filled)
        assert line.endswith("run: arbiter db upgrade")
    finally:
        schema.upgrade(filled)


def test_a_backup_holds_everything_though_others_write_meanwhile(
    filled: Database, target: str, tmp_path: Path, postgres: Postgres
) -> None:
    before = everything(target)
    file = tmp_path / "backup"
    with filled.write() as session:
        session.execute(text("UPDATE tournament SET name = 'not committed'"))
        backup.backup(filled, file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    if filled.is_sqlite:
        assert everything(str(file)) == before
        return
    url = postgres.new(empty=True)
    address = url.replace("postgresql+psycopg", "postgresql")
    subprocess.run([postgres.programs / "pg_restore", f"--dbname={address}", file], check=True)
    assert everything(url) == before
    postgres.drop(url)


def test_a_backup_writes_over_nothing(filled: Database, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("precious")
    with pytest.raises(UsageError, match="is there already; name a new file"):
        backup.backup(filled, file)
    assert file.read_text() == "precious"
    with pytest.raises(UsageError, match="is no folder; create it first"):
        backup.backup(filled, tmp_path / "absent" / "backup")


def test_a_backup_that_fails_leaves_nothing(postgres: Postgres, tmp_path: Path) -> None:
    url = postgres.new()
    database = Database(url)
    postgres.drop(url)
    with pytest.raises(StoreError, match="pg_dump can't copy the database"):
        backup.backup(database, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def source(path: Path) -> Iterator[Database]:
    with Store.open(path) as store:
        fill(store)
        store.identity()
    database = Database(path)
    yield database
    database.close()


@pytest.fixture
def server_database(postgres: Postgres) -> Iterator[Database]:
    url = postgres.new(empty=True)
    database = Database(url)
    yield database
    database.close()
    postgres.drop(url)


def url_of(database: Database) -> str:
    return database.name.replace("%2F", "/")


def test_a_copy_has_every_row_and_goes_on_from_there(source: Database, path: Path, server_database: Database) -> None:
    seen: list[tuple[int, int]] = []
    counts = copying.copy(source, server_database, lambda done, of: seen.append((done, of)))
    before = everything(str(path))
    assert {name: len(rows) for name, rows in before.items()} == counts
    assert all(counts.values()), "the test has something in every table"
    assert seen[-1] == (sum(counts.values()), sum(counts.values()))
    assert everything(url_of(server_database)) == before
    assert checking.check(server_database) == []
    with server_database.read() as session:
        known = session.scalar(text("SELECT reltuples FROM pg_class WHERE relname = 'sitting'"))
    assert known == counts["sitting"], "the server's planner of questions knows how much there is"
    with Store.open(url_of(server_database)) as store:
        create(store, "another")
        assert len(store.planned("another")) == 4
        Accounts(server_database).note(AuditEntry(START, "cli", "", "later", ""))


def test_a_copy_needs_an_empty_target_and_a_source_of_this_version(source: Database, server_database: Database) -> None:
    copying.copy(source, server_database)
    with pytest.raises(UsageError, match=r"has rows in \w+ already; name an empty one"):
        copying.copy(source, server_database)
    with source.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "-1")
    with pytest.raises(UsageError, match="first run: arbiter db upgrade"):
        copying.copy(source, server_database)


def test_a_copy_that_differs_is_taken_back(source: Database, server_database: Database) -> None:
    schema.upgrade(server_database)
    with server_database.write() as session:
        session.execute(
            text(
                "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
                "'BEGIN NEW.points := NEW.points + 1; RETURN NEW; END'"
            )
        )
        session.execute(text("CREATE TRIGGER spoil BEFORE INSERT ON seat_result FOR EACH ROW EXECUTE FUNCTION spoil()"))
    with pytest.raises(StoreError, match=r"the copy of seat_result in .* is not the same; nothing was copied"):
        copying.copy(source, server_database)
    with server_database.read() as session:
        assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 0
