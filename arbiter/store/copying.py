"""Copies a whole database into another of any kind, and proves that it is the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from sqlalchemy import Table as SqlTable
from sqlalchemy import func, insert, select, text
from sqlalchemy.orm import Session

from arbiter.errors import UsageError
from arbiter.store import schema
from arbiter.store.database import Database, survey
from arbiter.store.errors import StoreError
from arbiter.store.tables import Table

_ROWS_AT_ONCE = 200


def copy(
    source: Database, target: Database, progress: Callable[[int, int], None] = lambda done, of: None
) -> dict[str, int]:
    """Copy every row, in one transaction; returns how many there were of each table.

    The source is read as it is at one moment, and stays as it is. Before the target's transaction is committed, every
    table's rows are read from it and compared with the source's by number and digest.

    Args:
        source: a database whose schema is up to date.
        target: a database with nothing in it; it gets the tables.
        progress: called with the number of rows that were copied, and how many there are.

    Raises:
        UsageError: the source's schema is older than this version's, or the target holds something.
        StoreError: one of them can't be used, or the copy is not the same.
    """
    with source.connection(writes=False) as connection:
        present, wanted = schema.revisions(connection, source.name)
    if present != wanted:
        raise UsageError(f"the database {source.name} is of an earlier version; first run: arbiter db upgrade")
    schema.upgrade(target)
    tables = Table.metadata.sorted_tables  # those that others refer to first
    with source.read() as reading, target.write() as writing:
        source.take_time(reading)
        target.take_time(writing)
        held = [table.name for table in tables if _count(writing, table)]
        if held:
            raise UsageError(f"the database {target.name} has rows in {held[0]} already; name an empty one")
        counts = {table.name: _count(reading, table) for table in tables}
        done = 0
        for table in tables:
            for rows in reading.execute(select(table), execution_options={"yield_per": _ROWS_AT_ONCE}).partitions():
                writing.execute(insert(table), [dict(row._mapping) for row in rows])
                done += len(rows)
                progress(done, sum(counts.values()))
        if not target.is_sqlite:
            _set_counters(writing)
        survey(writing, [table.name for table in tables])
        for table in tables:
            if _fingerprint(reading, table) != _fingerprint(writing, table):
                raise StoreError(f"the copy of {table.name} in {target.name} is not the same; nothing was copied")
    return counts


def _count(session: Session, table: SqlTable) -> int:
    return session.scalar(select(func.count()).select_from(table)) or 0


def _set_counters(session: Session) -> None:
    """Let PostgreSQL number new rows from where the copied ones end."""
    for table in Table.metadata.sorted_tables:
        column = table.autoincrement_column
        if column is None:
            continue
        highest = session.scalar(select(func.max(column)))
        if highest is not None:
            session.execute(
                text("SELECT setval(pg_get_serial_sequence(:table, :column), :highest)"),
                {"table": table.name, "column": column.name, "highest": highest},
            )


def _fingerprint(session: Session, table: SqlTable) -> tuple[int, int]:
    """Number of rows, and the sum of their digests: two databases need not agree in how they order words."""
    count = total = 0
    for row in session.execute(select(table), execution_options={"yield_per": _ROWS_AT_ONCE}):
        digest = sha256("\x1f".join(map(_plain, row)).encode("utf-8", "surrogatepass")).digest()
        count, total = count + 1, (total + int.from_bytes(digest, "big")) % (1 << 256)
    return count, total


def _plain(value: object) -> str:
    """A value in one form, whatever database it came from."""
    match value:
        case bytes():
            return sha256(value).hexdigest()
        case datetime():
            return value.isoformat()
        case StrEnum():
            return value.value
        case dict() | list():
            return json.dumps(value, sort_keys=True)
        case _:
            return repr(value)
