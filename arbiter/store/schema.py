"""Brings a database's schema to the form that this version of the code expects."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from arbiter.store.database import Database
from arbiter.store.errors import StoreError

VERSION_TABLE = "arbiter_schema_version"
"""Alembic's table under a name of our own, so that another program's database is never taken for ours."""


def upgrade(database: Database) -> None:
    """Create or upgrade the schema; does not write when it is up to date.

    Raises `StoreError` when the database belongs to something else or to a later version of this project.
    """
    with database.connection(writes=False) as connection:
        if _is_current(connection, database.name):
            return
    database.use_write_ahead_log()
    with database.connection(writes=True) as connection:
        database.take_turns(connection, "schema")
        # Looked at again: another process may have been quicker.
        if not _is_current(connection, database.name):
            command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings for the migrations of this package over `connection`, inside its transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    return config


def revisions(connection: Connection, name: str) -> tuple[str | None, str]:
    """The schema's revision, None when there is none yet, and the one that this version of the code expects.

    Raises `StoreError` when the database, called `name`, belongs to something else or to a later version.
    """
    script = ScriptDirectory.from_config(alembic_config(connection))
    head = script.get_current_head()
    assert head is not None
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None, head
    if VERSION_TABLE not in tables:
        raise StoreError(f"the database {name} holds something else ({min(tables)}); name a new file or database")
    revision = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()
    if revision is not None and revision not in {known.revision for known in script.walk_revisions()}:
        raise StoreError(
            f"the database {name} was written by a later version of hearts-arbiter (schema {revision}); "
            "install that version or name a new file or database"
        )
    return revision, head


def _is_current(connection: Connection, name: str) -> bool:
    present, wanted = revisions(connection, name)
    return present == wanted
