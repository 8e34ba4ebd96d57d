"""Create the tables of plans, attempts and results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "tournament",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("deal_seed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("failure", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_tournament"),
    )
    op.create_table(
        "entrant",
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("manifest", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "number", name="pk_entrant"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournament.id"], name="fk_entrant_tournament_id_tournament"),
    )
    op.create_table(
        "match",
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("deal_seed", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("boards", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "number", name="pk_match"),
        sa.ForeignKeyConstraint(["tournament_id"], ["tournament.id"], name="fk_match_tournament_id_tournament"),
    )
    op.create_table(
        "match_entrant",
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.Column("match_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("entrant_number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "match_number", "position", name="pk_match_entrant"),
        sa.ForeignKeyConstraint(
            ["tournament_id", "match_number"],
            ["match.tournament_id", "match.number"],
            name="fk_match_entrant_tournament_id_match",
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "entrant_number"],
            ["entrant.tournament_id", "entrant.number"],
            name="fk_match_entrant_entrant_number_entrant",
        ),
    )
    op.create_table(
        "sitting",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.Column("match_number", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("infrastructure", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sitting"),
        sa.UniqueConstraint("tournament_id", "match_number", "number", name="uq_sitting_tournament_id"),
        sa.ForeignKeyConstraint(
            ["tournament_id", "match_number"],
            ["match.tournament_id", "match.number"],
            name="fk_sitting_tournament_id_match",
        ),
    )
    op.create_index("ix_sitting_tournament_id", "sitting", ["tournament_id", "state"])
    op.create_table(
        "attempt",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(64)),
        sa.PrimaryKeyConstraint("sitting_id", "number", name="pk_attempt"),
        sa.ForeignKeyConstraint(["sitting_id"], ["sitting.id"], name="fk_attempt_sitting_id_sitting"),
    )
    op.create_table(
        "result",
        sa.Column("sitting_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("hands", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("replay", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", name="pk_result"),
        sa.ForeignKeyConstraint(
            ["sitting_id", "attempt_number"],
            ["attempt.sitting_id", "attempt.number"],
            name="fk_result_sitting_id_attempt",
        ),
    )
    op.create_table(
        "seat_result",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("board", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("entrant", sa.Integer(), nullable=False),
        sa.Column("hands", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", "board", "seat", name="pk_seat_result"),
        sa.ForeignKeyConstraint(["sitting_id"], ["result.sitting_id"], name="fk_seat_result_sitting_id_result"),
    )
    op.create_table(
        "fault",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("entrant", sa.Integer(), nullable=False),
        sa.Column("board", sa.Integer()),
        sa.Column("hand", sa.Integer()),
        sa.Column("seat", sa.Integer()),
        sa.Column("trick", sa.Integer()),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", "number", name="pk_fault"),
        sa.ForeignKeyConstraint(["sitting_id"], ["result.sitting_id"], name="fk_fault_sitting_id_result"),
    )
    op.create_table(
        "bot_log",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("entrant", sa.Integer(), nullable=False),
        sa.Column("ending", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", "number", name="pk_bot_log"),
        sa.ForeignKeyConstraint(["sitting_id"], ["result.sitting_id"], name="fk_bot_log_sitting_id_result"),
    )
    op.create_table(
        "alarm",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("first_digest", sa.String(64), nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", "attempt_number", "digest", name="pk_alarm"),
        sa.ForeignKeyConstraint(
            ["sitting_id", "attempt_number"],
            ["attempt.sitting_id", "attempt.number"],
            name="fk_alarm_sitting_id_attempt",
        ),
    )


def downgrade() -> None:
    """Drop all tables, those that others refer to last."""
    for table in ("alarm", "bot_log", "fault", "seat_result", "result", "attempt"):
        op.drop_table(table)
    op.drop_index("ix_sitting_tournament_id", "sitting")
    for table in ("sitting", "match_entrant", "match", "entrant", "tournament"):
        op.drop_table(table)
