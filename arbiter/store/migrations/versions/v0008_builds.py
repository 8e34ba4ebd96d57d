"""Keep builds, how large their results are, since when a version is what it is, and ids of requests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the tables and the columns; earlier versions are what they are since they were made."""
    op.add_column("version", sa.Column("built_size", sa.BigInteger(), nullable=False, server_default="0"))
    earliest = "1970-01-01 00:00:00"
    op.add_column("version", sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False, server_default=earliest))
    version = sa.table("version", sa.column("moved_at", sa.DateTime), sa.column("created_at", sa.DateTime))
    op.execute(sa.update(version).values(moved_at=version.c.created_at))
    op.create_table(
        "build",
        sa.Column("bot_name", sa.String(64), nullable=False),
        sa.Column("version_number", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["bot_name", "version_number"],
            ["version.bot_name", "version.number"],
            name=op.f("fk_build_bot_name_version"),
        ),
        sa.PrimaryKeyConstraint("bot_name", "version_number", "number", name=op.f("pk_build")),
    )
    op.create_index(op.f("ix_build_owner"), "build", ["owner", "began_at"])
    op.create_table(
        "request",
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("owner", "request_id", name=op.f("pk_request")),
    )


def downgrade() -> None:
    """Remove them with all that they hold."""
    op.drop_table("request")
    op.drop_index(op.f("ix_build_owner"), "build")
    op.drop_table("build")
    op.drop_column("version", "moved_at")
    op.drop_column("version", "built_size")
