"""Keep who enters tournaments, and in which rule sets a version was tried out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the table and the column; of earlier versions it is not known."""
    op.add_column("version", sa.Column("tried", sa.JSON(), nullable=False, server_default="[]"))
    op.create_table(
        "entry",
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.Column("bot_name", sa.String(64), nullable=False),
        sa.Column("version_number", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("entered_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournament.id"], name=op.f("fk_entry_tournament_id_tournament")),
        sa.ForeignKeyConstraint(["bot_name"], ["bot.name"], name=op.f("fk_entry_bot_name_bot")),
        sa.PrimaryKeyConstraint("tournament_id", "bot_name", name=op.f("pk_entry")),
    )


def downgrade() -> None:
    """Remove them with all that they hold."""
    op.drop_table("entry")
    op.drop_column("version", "tried")
