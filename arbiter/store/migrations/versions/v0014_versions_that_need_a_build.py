"""Keep which versions need a build, so that those that wait for theirs are counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column; of earlier versions it is not known, and those that wait are counted when they are built."""
    op.add_column("version", sa.Column("needs_build", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("version", "needs_build")
