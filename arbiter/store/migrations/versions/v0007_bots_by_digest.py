"""Know bots by their digest alone: where a version's files are is each machine's own business."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_entrant = sa.table("entrant", sa.column("digest", sa.Text), sa.column("folder", sa.Text))


def upgrade() -> None:
    """Forget the folders."""
    op.drop_column("entrant", "folder")


def downgrade() -> None:
    """Name the folders in which the arbiter has kept versions, beside an SQLite database."""
    op.add_column("entrant", sa.Column("folder", sa.Text(), nullable=False, server_default=""))
    connection = op.get_bind()
    bots = Path(connection.engine.url.database or "").absolute().parent / "bots"
    for digest in connection.scalars(sa.select(_entrant.c.digest).distinct()).all():
        folder = str(bots / digest)
        connection.execute(sa.update(_entrant).where(_entrant.c.digest == digest).values(folder=folder))
