"""Say of each fault whether the bot was lost by it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_ENDING = ("TIMEOUT", "CRASH", "DISCONNECT", "OUT_OF_MEMORY")
_fault = sa.table("fault", sa.column("code", sa.Text), sa.column("lost", sa.Boolean))


def upgrade() -> None:
    """Add the column; until now these codes alone said so."""
    op.add_column("fault", sa.Column("lost", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute(sa.update(_fault).where(_fault.c.code.in_(_ENDING)).values(lost=sa.true()))
    with op.batch_alter_table("fault") as table:
        table.alter_column("lost", server_default=None)


def downgrade() -> None:
    """Drop it."""
    with op.batch_alter_table("fault") as table:
        table.drop_column("lost")
