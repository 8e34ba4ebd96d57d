"""``arbiter db``: bring the database up to date, look for damage, back it up, move it to PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arbiter.cli.console import errors, output
from arbiter.cli.options import DataDir, data_folder, need_server
from arbiter.errors import UsageError

if TYPE_CHECKING:
    from arbiter.store import Database

app = typer.Typer(help="Look after the database (see docs/database.md).", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def upgrade(data_dir: DataDir = None) -> None:
    """Bring the schema up to date, as every command does that opens the database."""
    with _database(data_dir, make=True) as database:
        from arbiter.store import schema

        with database.connection(writes=False) as connection:
            before, wanted = schema.revisions(connection, database.name)
        schema.upgrade(database)
        line = f"{database.name}: schema {wanted}" + ("" if before == wanted else f", was {before or 'empty'}")
        errors.print(line, markup=False, highlight=False, soft_wrap=True)


@app.command()
def check(data_dir: DataDir = None) -> None:
    """Look for damage and contradictions, and print each. Exit status 1 when there are any."""
    with _database(data_dir) as database, _progress("replays read") as progress:
        from arbiter.store import checking

        found = checking.check(database, progress)
    for line in found:
        output.print(line, markup=False, highlight=False, soft_wrap=True)
    if found:
        raise typer.Exit(1)
    errors.print(f"{database.name}: all is well", markup=False, highlight=False, soft_wrap=True)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; there must be no such file yet.")],
    data_dir: DataDir = None,
) -> None:
    """Copy the whole database into a file while it is in use: for SQLite another such file, for PostgreSQL a dump."""
    with _database(data_dir) as database, errors.status("copying"):
        from arbiter.store import backup

        backup.backup(database, file)
    errors.print(f"{database.name} is in {file}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def copy(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An SQLite file; by default the data folder's.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Copy an SQLite file, whole, into the empty database that ARBITER_DATABASE_URL names, and compare the two."""
    need_server()
    from arbiter.cli.options import DATABASE_URL
    from arbiter.store import Database, copying

    url = os.environ.get(DATABASE_URL)
    if not url:
        raise UsageError(f"{DATABASE_URL} is not set; let it name the database that is to get everything")
    source = Database(_existing(file or data_folder(data_dir) / "arbiter.db"))
    target = Database(url)
    try:
        with _progress("rows copied") as progress:
            counts = copying.copy(source, target, progress)
    finally:
        source.close()
        target.close()
    for table, rows in counts.items():
        output.print(f"{table}: {rows}", markup=False, highlight=False)
    line = f"{source.name} is in {target.name}, row for row; the bots of the data folder stay where they are"
    errors.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _database(data_dir: Path | None, *, make: bool = False) -> Iterator[Database]:
    need_server()
    from arbiter.cli.event import database_in
    from arbiter.store import Database

    where = database_in(data_folder(data_dir))
    database = Database(where if make or isinstance(where, str) else _existing(where))
    try:
        yield database
    finally:
        database.close()


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise UsageError(f"{file}: there is no such database; name another data folder with --data-dir")
    return file


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how far something is, on a terminal."""
    with errors.status("") as status:

        def show(done: int, of: int) -> None:
            status.update(f"{done:,} of {of:,} {what}")

        yield show
