"""Keep for a voided attempt whose time was up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the entrant; attempts from before name none."""
    op.add_column("attempt", sa.Column("starved_entrant", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Forget it."""
    op.drop_column("attempt", "starved_entrant")
