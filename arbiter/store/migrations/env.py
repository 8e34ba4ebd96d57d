"""Run by Alembic, never imported: applies migrations over the connection that `arbiter.store.schema` hands in."""

from __future__ import annotations

from alembic import context

from arbiter.store.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    target_metadata=Table.metadata,
)
with context.begin_transaction():
    context.run_migrations()
