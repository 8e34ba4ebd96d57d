"""Opens the database and hands out transactions.

SQLite connections are set up here, and only here:

* ``journal_mode=WAL``: readers never wait for the writer, nor the writer for them.
* ``synchronous=FULL``: a commit is on the disk before it returns. ``NORMAL`` would let a power cut take back the last
  commits, and by then a worker that got its acknowledgement has deleted its copy of the result, and a deal seed may
  have been published whose sitting would have to be played again. The price is one flush for each transaction, of
  which a sitting, seconds of play, needs a handful.
* ``foreign_keys=ON``: off by default in SQLite.
* ``busy_timeout``: a writer waits this long for another process's transaction instead of failing at once.
* ``BEGIN IMMEDIATE`` for every transaction that writes: with a plain ``BEGIN`` two that have both read can't both go on
  to write, and one fails without having waited. So writers are serial.

The threads of one process take turns at writing by a lock: SQLite lets waiters sleep and try again, and with eight busy
threads the unluckiest waited for two seconds; with the lock for a fifth of one.

PostgreSQL is set up so that it behaves alike:

* Transactions that read are ``REPEATABLE READ``, so that all their questions are answered from one state.
* Transactions that write are ``READ COMMITTED`` and lock the rows that they decide about, in the order leader,
  tournament, sittings in schedule order, so that no two wait for each other.
* ``lock_timeout``: as ``busy_timeout``.
* ``idle_in_transaction_session_timeout``: a process that is stopped or cut off in the middle of a transaction loses it,
  and with it its locks, which would hold up everyone else.
* Keep-alive packets and ``tcp_user_timeout``: a server that is gone without a word is noticed within seconds.
* A connection that was idle is tried before it is used, so that a server that was restarted is no error.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select, text
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from arbiter.errors import UsageError
from arbiter.store.errors import StoreError, StoreUnavailable

BUSY_TIMEOUT_SECONDS = 10.0
"""How long a writer waits for another process to end its transaction."""

_SWITCH_PAUSE = 0.01
"""Seconds between two tries to switch a new file to its write-ahead log, which takes others about as long."""

_KINDS = "use sqlite or postgresql+psycopg"

_POSTGRES: dict[str, object] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""How to connect to PostgreSQL, see libpq; what the URL says counts before it. All but the last in seconds."""

_POSTGRES_SESSION = {
    "lock_timeout": f"{BUSY_TIMEOUT_SECONDS:.0f}s",
    "idle_in_transaction_session_timeout": "15s",
    "timezone": "UTC",
}
"""Settings of a session there."""

_WRITES = "arbiter_writes"
"""Name of the execution option that marks a connection's transactions as writing."""


class Database:
    """An engine with its two kinds of transactions. Safe for many threads; not to be used across a fork."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        """Prepare access to `target`, a database URL or the path of an SQLite file, which is created when missing.

        Raises `UsageError` for a target that names no lasting database and `StoreError` for one that can't be reached.
        """
        url = _url(target)
        self.name = url.render_as_string(hide_password=True)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            self.name = _touch_file(url)
        self._engine = _engine(url, self.name)
        self._turn: AbstractContextManager[object] = Lock() if self.is_sqlite else nullcontext()
        self._joined: Session | None = None
        self._writer = self._engine.execution_options(**{_WRITES: True})
        self._reader = (
            self._engine
            if self.is_sqlite
            else self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        )

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session in a transaction that only reads: one consistent view of the database."""
        if self._joined is not None:
            self._joined.expire_all()
            yield self._joined
            return
        with self._session(self._reader) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session in a transaction that writes: all of it is committed at the end, or nothing on any exception."""
        if self._joined is not None:
            self._joined.expire_all()
            with self._joined.begin_nested():
                yield self._joined
            return
        with self._turn, self._session(self._writer) as session:
            yield session

    def joining(self, session: Session) -> Self:
        """This database, whose transactions are all parts of one that writes: on an exception such a part has changed
        nothing, and all are committed with the whole. What they read is what is there then, as in any that writes."""
        joined = copy(self)
        joined._joined = session
        return joined

    def take_turns(self, session: Session | Connection, *matters: str) -> None:
        """Let one writing transaction at a time decide about each of these matters, to its end.

        For what has no row of its own that could be locked, such as the number of an owner's submissions. On SQLite all
        that write take turns already.
        """
        if self.is_sqlite:
            return
        # In one order for all, so that no two wait for each other.
        for number in sorted({_advisory(matter) for matter in matters}):
            session.execute(select(func.pg_advisory_xact_lock(number)))

    def take_time(self, session: Session) -> None:
        """Let a transaction rest as long as it has to between two statements, because it waits for another database."""
        if not self.is_sqlite:
            session.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))

    @contextmanager
    def connection(self, *, writes: bool) -> Iterator[Connection]:
        """A bare connection in a transaction, for work on the schema."""
        with self._translated(), (self._writer if writes else self._reader).begin() as connection:
            yield connection

    @contextmanager
    def driver_connection(self) -> Iterator[object]:
        """The driver's own connection, outside of any transaction."""
        with self._translated():
            connection = self._engine.raw_connection()
            try:
                yield connection.driver_connection
            finally:
                connection.close()

    def libpq_address(self) -> tuple[str, str | None]:
        """How PostgreSQL's programs are told of this database, and the password, which goes another way."""
        url = self._engine.url
        return url.set(drivername="postgresql", password=None).render_as_string(), url.password

    def use_write_ahead_log(self) -> None:
        """Switch an SQLite file to its write-ahead log for good, or raise `StoreError`; does nothing elsewhere."""
        if not self.is_sqlite:
            return
        with self._translated():
            connection = self._engine.raw_connection()
            try:
                mode = _switch_to_wal(connection.cursor())
            except sqlite3.Error as error:
                raise (StoreUnavailable if _is_locked(error) else StoreError)(self._unusable(error)) from error
            finally:
                connection.close()
        if mode != ("wal",):
            raise StoreError(f"the database {self.name} can't use a write-ahead log; put it on a local disk")

    @contextmanager
    def _session(self, engine: Engine) -> Iterator[Session]:
        with self._translated(), Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeout as error:
            raise StoreUnavailable(f"the database {self.name} can't be used: all connections are busy; wait") from error
        except DBAPIError as error:
            # The bare class DatabaseError is a damaged or foreign file; its subclasses but these are mistakes of this
            # package, unless they came with the end of the connection.
            lost = isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated
            if not lost and type(error) is not DatabaseError:
                raise
            passes = _is_locked(error.orig) if self.is_sqlite else lost
            raise (StoreUnavailable if passes else StoreError)(self._unusable(error.orig)) from error

    def _unusable(self, reason: BaseException | None) -> str:
        cause = " ".join(str(reason).split())
        if not self.is_sqlite:
            remedy = "see that the server runs, that it lets this user in, and that it has room"
        elif _is_locked(reason):
            remedy = "end the other program that holds it open"
        elif "not a database" in cause:
            remedy = "name another file"
        elif "malformed" in cause:
            remedy = "restore it from a backup"
        else:
            remedy = "see that it is there, that there is room, and that this user may write to it"
        return f"the database {self.name} can't be used: {cause}; {remedy}"


def survey(session: Session, tables: Iterable[str]) -> None:
    """Let PostgreSQL count again what is in tables of which this transaction has just written a large part.

    By itself it does so within a minute or more, and until then it plans its joins for some ten rows: looking at the
    progress of a new tournament of 10,000 sittings took twenty times as long. Where another transaction is counting a
    table this does not wait for it.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"ANALYZE (SKIP_LOCKED) {', '.join(tables)}"))


def _advisory(matter: str) -> int:
    """Number of PostgreSQL's advisory lock for a matter: its digest as a signed number of 64 bits."""
    return int.from_bytes(sha256(matter.encode()).digest()[:8], "big", signed=True)


def _is_locked(reason: BaseException | None) -> bool:
    """Whether SQLite says that another process is writing, which passes."""
    return "locked" in str(reason)


def _url(target: str | os.PathLike[str]) -> URL:
    text = os.fspath(target)
    if "://" not in text:
        if text in ("", ":memory:"):
            raise UsageError(f"{text!r} names no lasting database; give the path of a file or a database URL")
        return URL.create("sqlite", database=os.path.abspath(text))
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise UsageError("the database URL can't be read; write DIALECT://USER:PASSWORD@HOST/NAME") from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise UsageError(f"the database {url.render_as_string()} is of no known kind; {_KINDS}")
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise UsageError(f"{text!r} names no lasting database; give the path of a file or a database URL")
    return url


def _touch_file(url: URL) -> str:
    """See that the file can be written, creating it for this user alone, since it holds secret deal seeds.

    A file that is there is not opened: closing it again would drop the locks of every connection that this process has
    to it (https://www.sqlite.org/howtocorrupt.html, 2.2). Another process that closes its own would then take itself
    for the last one, and delete the write-ahead log that is still being written here.
    """
    path = Path(url.database or "")
    try:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
            if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
    except OSError as error:
        if not path.parent.is_dir():
            remedy = f"create the folder {path.parent} first"
        else:
            remedy = "name a file that this user may write to"
        raise StoreError(f"the database {path} can't be opened: {error.strerror}; {remedy}") from error
    return str(path)


def _engine(url: URL, name: str) -> Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    arguments: dict[str, object] = {"timeout": BUSY_TIMEOUT_SECONDS}
    if not is_sqlite:
        arguments = {name: value for name, value in _POSTGRES.items() if name not in url.query}
    try:
        engine = create_engine(url, connect_args=arguments, pool_pre_ping=not is_sqlite)
    except NoSuchModuleError as error:
        raise UsageError(f"the database {name} is of no known kind; {_KINDS}") from error
    except ImportError as error:
        raise StoreError(f"the database {name} needs a driver: {error}; install it or use an SQLite file") from error
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _set_up_postgres)
    return engine


def _set_up_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    # The driver's own idea of when to begin a transaction leaves out reads and schema changes: begin by hand instead.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _set_up_postgres(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    # Not by the connection's options: some connection poolers refuse those.
    cursor = connection.cursor()
    for name, value in _POSTGRES_SESSION.items():
        cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
    cursor.close()
    connection.commit()


def _switch_to_wal(cursor: DBAPICursor) -> object:
    """Switch to the write-ahead log; returns the row with the mode that SQLite has then.

    For others who switch at the same moment SQLite does not wait, whatever ``busy_timeout`` says: two that both read
    would wait for each other for ever. Who is turned away has to ask again.
    """
    end = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return cursor.fetchone()
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > end:
                raise
        time.sleep(_SWITCH_PAUSE)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
