"""Keep who leads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "leadership",
        sa.Column("matter", sa.String(128), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("term", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("matter", name=op.f("pk_leadership")),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("leadership")
