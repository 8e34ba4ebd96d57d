"""Opening a database, and every reason for which it can't be opened."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import text
from sqlalchemy.exc import InternalError

from arbiter.errors import InfrastructureError, UsageError
from arbiter.store import Store, StoreError, StoreUnavailable, TournamentState, database, schema
from arbiter.store.database import Database
from tests.postgres import Postgres
from tests.store.support import START, create


def test_what_was_written_is_there_after_closing_and_opening(path: Path) -> None:
    with Store.open(path) as store:
        create(store, "kept")
    with Store.open(path) as store:
        assert store.tournament("kept").state is TournamentState.RUNNING


@pytest.mark.parametrize("form", ["path", "text", "url"])
def test_a_database_is_named_by_path_or_url(path: Path, form: str) -> None:
    targets: dict[str, str | Path] = {"path": path, "text": str(path), "url": f"sqlite:///{path}"}
    target = targets[form]
    with Store.open(target) as store:
        create(store, "kept")
    with Store.open(path) as store:
        assert [each.id for each in store.tournaments()] == ["kept"]


def test_a_new_file_with_its_companions_is_for_its_owner_alone(path: Path) -> None:
    previous = os.umask(0)
    try:
        with Store.open(path) as store:
            create(store)
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(previous)
    assert modes == {"arbiter.db": 0o600, "arbiter.db-wal": 0o600, "arbiter.db-shm": 0o600}


def test_every_connection_is_set_up(path: Path) -> None:
    Store.open(path).close()
    opened = Database(path)
    with opened.read() as first, opened.read() as second:
        for session in (first, second):
            found = {
                name: session.execute(text(f"PRAGMA {name}")).scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
            busy = 1000 * database.BUSY_TIMEOUT_SECONDS
            assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": busy}
    opened.close()


def test_several_that_open_a_new_database_at_once_all_can(path: Path) -> None:
    together = Barrier(4)

    def open_and_look(_: int) -> int:
        together.wait()
        with Store.open(path) as store:
            return len(store.tournaments())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(open_and_look, range(4))) == [0, 0, 0, 0]


def test_who_is_just_making_it_is_waited_for(path: Path) -> None:
    """SQLite itself waits for nobody when it switches a file to its write-ahead log."""
    maker = sqlite3.connect(path, isolation_level=None)
    maker.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(Store.open, path)
        with pytest.raises(TimeoutError):
            opening.result(0.3)
        maker.execute("ROLLBACK")
        maker.close()
        with opening.result() as store:
            assert store.tournaments() == []


def test_opening_it_once_more_leaves_its_locks_to_the_process(path: Path) -> None:
    """https://www.sqlite.org/howtocorrupt.html, 2.2: who closes the file by other means drops them, and the next
    process that comes and goes deletes the write-ahead log."""
    elsewhere = "import sys; from arbiter.store import Store; Store.open(sys.argv[1]).close()"
    with Store.open(path) as store:
        create(store, "first")
        Store.open(path).close()
        subprocess.run([sys.executable, "-c", elsewhere, path], check=True)
        assert path.with_name("arbiter.db-wal").exists()
        create(store, "second")
        with Store.open(path) as other:
            assert [each.id for each in other.tournaments()] == [each.id for each in store.tournaments()]


def test_a_reader_sees_one_state_while_another_writes(path: Path) -> None:
    with Store.open(path) as store:
        create(store, "first")
        looking = Database(path)
        with looking.read() as session:
            assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 1
            create(store, "second")
            assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 1
        with looking.read() as session:
            assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 2
        looking.close()


@pytest.mark.parametrize("target", ["", ":memory:", "sqlite://", "sqlite:///:memory:"])
def test_a_database_that_does_not_last_is_refused(target: str) -> None:
    with pytest.raises(UsageError, match="names no lasting database; give the path of a file or a database URL"):
        Store.open(target)


@pytest.mark.parametrize("target", ["nonsense://host/name", "://", "mysql://host/name"])
def test_an_unknown_kind_of_database_is_a_usage_error(target: str) -> None:
    with pytest.raises(UsageError, match="database"):
        Store.open(target)


def test_a_server_out_of_reach_is_an_infrastructure_error_without_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        Store.open("postgresql+psycopg://arbiter:sesame@127.0.0.1:1/arbiter?connect_timeout=2")
    assert isinstance(caught.value, InfrastructureError)
    assert "127.0.0.1" in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_several_that_open_a_new_database_of_a_server_at_once_all_can(postgres: Postgres) -> None:
    url = postgres.new(empty=True)
    together = Barrier(4)

    def open_and_look(_: int) -> int:
        together.wait()
        with Store.open(url) as store:
            return len(store.tournaments())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(open_and_look, range(4))) == [0, 0, 0, 0]
    postgres.drop(url)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_goes_away_and_comes_back_is_an_outage_and_no_loss(
    postgres: Postgres, how: signal.Signals
) -> None:
    url = postgres.new()
    with Store.open(url) as store:
        create(store, running=False)
        postgres.end(how)
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="see that the server runs"):
                    store.set_state("demo-1a2b", TournamentState.RUNNING, now=START)
        finally:
            postgres.start()
        assert store.tournament("demo-1a2b").state is TournamentState.SCHEDULED
        store.set_state("demo-1a2b", TournamentState.RUNNING, now=START)
    postgres.drop(url)


def test_a_server_that_breaks_a_transaction_off_is_an_outage(postgres: Postgres) -> None:
    url = postgres.new()
    with Store.open(url) as store:
        create(store, running=False)
        broken = Database(url)

        def break_off() -> None:
            with broken.write() as session:
                session.execute(text("UPDATE tournament SET state = 'running'"))
                pid = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
                postgres.execute(f"SELECT pg_terminate_backend({pid})")

        with pytest.raises(StoreUnavailable):
            break_off()
        broken.close()
        assert store.tournament("demo-1a2b").state is TournamentState.SCHEDULED
    postgres.drop(url)


def test_a_stopped_process_does_not_hold_its_locks_for_ever(postgres: Postgres) -> None:
    url = postgres.new()
    with Store.open(url) as store:
        create(store, running=False)
        stopped = Database(url)

        def stop() -> None:
            with stopped.write() as session:
                bound = session.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one()
                assert bound != "0", "every session has one"
                session.execute(text("UPDATE tournament SET state = 'failed'"))
                # From here on, where all has been done that comes before.
                session.execute(text("SET LOCAL idle_in_transaction_session_timeout = '100ms'"))
                store.set_state("demo-1a2b", TournamentState.RUNNING, now=START)  # waits until the other is ended

        with pytest.raises(StoreUnavailable):
            stop()
        stopped.close()
        assert store.tournament("demo-1a2b").state is TournamentState.RUNNING
    postgres.drop(url)


def test_a_reader_of_a_server_sees_one_state_and_changes_nothing(postgres: Postgres) -> None:
    url = postgres.new()
    with Store.open(url) as store:
        create(store, "first")
        looking = Database(url)
        with looking.read() as session:
            assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 1
            create(store, "second")
            assert session.execute(text("SELECT count(*) FROM tournament")).scalar_one() == 1
            with pytest.raises(InternalError, match="read-only transaction"):
                session.execute(text("DELETE FROM tournament"))
            session.rollback()
        looking.close()
    postgres.drop(url)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"create the folder {tmp_path}/absent first"):
        Store.open(tmp_path / "absent" / "arbiter.db")


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="name a file that this user may write to"):
        Store.open(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 500)
    with pytest.raises(StoreError, match="file is not a database; name another file"):
        Store.open(path)
    assert path.read_bytes() == b"Dear diary, " * 500


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE alembic_version (version_num TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"holds something else \(alembic_version\); name a new file"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_later_versions_database_is_refused(path: Path) -> None:
    Store.open(path).close()
    later = sqlite3.connect(path)
    later.execute(f"UPDATE {schema.VERSION_TABLE} SET version_num = 'fffe'")
    later.commit()
    later.close()
    with pytest.raises(StoreError, match=r"written by a later version of hearts-arbiter \(schema fffe\); install that"):
        Store.open(path)


def test_a_database_that_another_program_holds_is_a_store_error_and_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.01)
    with Store.open(path) as store:
        create(store, running=False)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked; end the other program that holds it open"):
            store.set_state("demo-1a2b", TournamentState.RUNNING, now=START)
        holder.execute("ROLLBACK")
        holder.close()
        assert store.tournament("demo-1a2b").state is TournamentState.SCHEDULED


def test_a_damaged_database_is_a_store_error(path: Path) -> None:
    with Store.open(path) as store:
        create(store)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreError, match="malformed; restore it from a backup"), Store.open(path) as store:
        store.tournaments()
