"""A PostgreSQL server of the test session's own, on a unix socket in a temporary folder."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from arbiter.store import Store
from arbiter.store.tables import Table
from tests.patience import PATIENCE

_USER = "arbiter"

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    # What a crash of the machine would lose may be lost here; a crash of the server loses nothing still.
    "fsync": "off",
    "full_page_writes": "off",
}

_UNPRIVILEGED = 65534
"""The user and group ``nobody``: the server refuses to run as root."""


class Postgres:
    """A server that makes databases and can be stopped, killed and started again."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()
        self._run("initdb", "--auth=trust", f"--username={_USER}", "--encoding=UTF8", "--no-sync", "--locale=C.UTF-8")
        self.start()
        with Store.open(self.url("template1")):
            pass  # every new database begins with the tables

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql+psycopg://{_USER}@/{database}?host={self._folder}"

    def new(self, *, empty: bool = False) -> str:
        """The address of a new database, with the tables in it unless it is to be empty."""
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {'template0' if empty else 'template1'}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self.execute(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def clear(self, url: str) -> None:
        """Empty a database's tables, whoever is still connected to it: a tenth of the time that a new one takes."""
        name = _name(url)
        self.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        tables = ", ".join(f'"{each}"' for each in Table.metadata.tables)
        self.execute(f"TRUNCATE {tables} RESTART IDENTITY", database=name)

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement in a database, by default beside all tests' own, and return the rows that it gives."""
        with psycopg.connect(f"host={self._folder} user={_USER} dbname={database}", autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start it, on the main thread, for it ends with the thread that did, and wait until it answers."""
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *_as_unprivileged(),
                    str(self.programs / "postgres"),
                    "-D",
                    self._data,
                    "-k",
                    self._folder,
                    *settings,
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def end(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT breaks all connections in order, SIGQUIT is as good as a crash."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(PATIENCE)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*_as_unprivileged(), str(self.programs / program), "-D", str(self._data), *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


def _name(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def _as_unprivileged() -> list[str]:
    """What comes before a command that has to run without privileges, and to die with the tests."""
    command = ["setpriv", "--pdeathsig", "INT"]
    if os.geteuid() == 0:
        command += [f"--reuid={_UNPRIVILEGED}", f"--regid={_UNPRIVILEGED}", "--clear-groups"]
    return [*command, "--"]


def find_programs() -> Path | None:
    """The folder with the server's programs; Debian keeps them off PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


@contextmanager
def serving(programs: Path) -> Iterator[Postgres]:
    """A running server, gone with all that it holds afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="arbiter-pg-"))
    if os.geteuid() == 0:
        os.chown(folder, _UNPRIVILEGED, _UNPRIVILEGED)
    try:
        server = Postgres(programs, folder)
        try:
            yield server
        finally:
            server.end()
    finally:
        shutil.rmtree(folder)
