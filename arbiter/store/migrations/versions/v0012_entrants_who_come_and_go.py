"""Let entrants come and go while a tournament runs: those of a ladder do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Those of earlier plans are there from the first match on."""
    op.add_column("entrant", sa.Column("joined", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("entrant", sa.Column("gone", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Forget who came when."""
    op.drop_column("entrant", "gone")
    op.drop_column("entrant", "joined")
