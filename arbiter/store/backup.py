"""Copies of a whole database in one file, taken while it is in use."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path

from arbiter.errors import UsageError
from arbiter.store.database import Database
from arbiter.store.errors import StoreError

_PAGES_AT_ONCE = 1024


def backup(database: Database, file: Path) -> None:
    """Write everything as it is at one moment to a new file that only this user may read.

    Of an SQLite database that is another SQLite database (https://www.sqlite.org/backup.html), which is looked through
    before it gets its name; of a PostgreSQL database what ``pg_dump --format=custom`` writes, for ``pg_restore``.

    Raises:
        UsageError: there is such a file already, or no folder for it.
        StoreError: the database can't be read, the file can't be written, or ``pg_dump`` is missing.
    """
    if file.exists():
        raise UsageError(f"{file} is there already; name a new file")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is no folder; create it first")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if database.is_sqlite:
            _copy_file(database, unfinished)
        else:
            _dump(database, unfinished)
        # Until here the file had another name, so that none of this name is ever half a backup.
        os.link(unfinished, file)
        _flush(file)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already; name a new file") from error
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}; name another file") from error
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()


def _copy_file(database: Database, file: Path) -> None:
    try:
        with database.driver_connection() as source, closing(sqlite3.connect(file)) as target:
            assert isinstance(source, sqlite3.Connection)
            source.backup(target, pages=_PAGES_AT_ONCE)
            found = target.execute("PRAGMA integrity_check").fetchall()
    except sqlite3.Error as error:
        raise StoreError(f"the database {database.name} can't be copied to {file}: {error}") from error
    if found != [("ok",)]:
        raise StoreError(f"the database {database.name} is damaged ({found[0][0]}); see: arbiter db check")


def _dump(database: Database, file: Path) -> None:
    program = _find("pg_dump")
    if program is None:
        raise StoreError("pg_dump is missing; install PostgreSQL's client programs, of the server's version or newer")
    address, password = database.libpq_address()
    # The password not as an argument, which every user of the machine can read.
    environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
    done = subprocess.run(
        [program, "--format=custom", f"--file={file}", f"--dbname={address}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StoreError(f"pg_dump can't copy the database {database.name}: {' '.join(done.stderr.split())}")


def _find(program: str) -> str | None:
    """The newest installed; Debian keeps each version in a folder of its own, and one of them on PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    for folder in reversed(folders):
        if (folder / program).exists():
            return str(folder / program)
    return shutil.which(program)


def _flush(file: Path) -> None:
    """See that the file, and its name, are on the disk."""
    for path in (file, file.parent):
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
