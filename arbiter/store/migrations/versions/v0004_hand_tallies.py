"""Keep hands by pass direction, moons and thinking time; the hands of earlier sittings are read from their replays."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table and fill it; how long bots thought in earlier sittings is not known."""
    op.add_column("bot_log", sa.Column("thinking_seconds", sa.Double(), nullable=True))
    op.add_column("bot_log", sa.Column("answers", sa.Integer(), nullable=True))
    tally = op.create_table(
        "hand_tally",
        sa.Column("sitting_id", sa.Integer(), nullable=False),
        sa.Column("board", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("direction", sa.String(16), nullable=False),
        sa.Column("hands", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("moons", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("sitting_id", "board", "seat", "direction", name="pk_hand_tally"),
        sa.ForeignKeyConstraint(["sitting_id"], ["result.sitting_id"], name="fk_hand_tally_sitting_id_result"),
    )
    connection = op.get_bind()
    result = sa.table("result", sa.column("sitting_id", sa.Integer), sa.column("replay", sa.LargeBinary))
    for sitting in connection.scalars(sa.select(result.c.sitting_id)).all():
        replay = connection.execute(sa.select(result.c.replay).where(result.c.sitting_id == sitting)).scalar_one()
        rows = _tallies(zlib.decompress(replay))
        if rows:
            connection.execute(sa.insert(tally), [{"sitting_id": sitting} | row for row in rows])


def downgrade() -> None:
    """Forget it all."""
    op.drop_table("hand_tally")
    op.drop_column("bot_log", "answers")
    op.drop_column("bot_log", "thinking_seconds")


def _tallies(replay: bytes) -> list[dict[str, object]]:
    """What the hands of a replay, its lines but the first and the last, come to."""
    sums: dict[tuple[int, int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in replay.decode().splitlines()[1:-1]:
        hand = json.loads(line)
        for seat, points in enumerate(hand["points"]):
            of_seat = sums[hand["board"], seat, hand["pass"]]
            of_seat[0] += 1
            of_seat[1] += points
            of_seat[2] += hand.get("moon") == seat
    return [
        {"board": board, "seat": seat, "direction": direction, "hands": hands, "points": points, "moons": moons}
        for (board, seat, direction), (hands, points, moons) in sums.items()
    ]
