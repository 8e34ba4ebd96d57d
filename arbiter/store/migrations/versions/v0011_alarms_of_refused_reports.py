"""Keep an alarm for a report that was refused, and why each alarm was raised."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the reason; until now there was one alone."""
    op.add_column("alarm", sa.Column("reason", sa.Text(), nullable=False, server_default="reported twice, differently"))


def downgrade() -> None:
    """Forget the reason, and the alarms that an earlier version does not know."""
    op.execute("DELETE FROM alarm WHERE first_digest = ''")
    op.drop_column("alarm", "reason")
