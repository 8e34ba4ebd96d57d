"""Keep an id of the database itself, by which it is told from others."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the table; the id is drawn when it is first asked for, so that a copy keeps that of what it is a copy of."""
    op.create_table(
        "identity",
        sa.Column("id", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identity")),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("identity")
