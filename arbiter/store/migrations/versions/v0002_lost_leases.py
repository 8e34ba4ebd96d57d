"""Count the leases that each sitting lost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the count; leases lost before count for nothing."""
    op.add_column("sitting", sa.Column("lost", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Forget the count."""
    op.drop_column("sitting", "lost")
