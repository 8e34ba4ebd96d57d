"""Write into earlier plans what they took for granted: one clock for all, and the stand-in for whoever fails."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_tournament = sa.table("tournament", sa.column("id", sa.String), sa.column("spec", sa.JSON))
_entrant = sa.table("entrant", sa.column("tournament_id", sa.String))


def upgrade() -> None:
    """Give each entrant the plan's clock."""
    connection = op.get_bind()
    for tournament, spec in connection.execute(sa.select(_tournament.c.id, _tournament.c.spec)).all():
        if "clock" not in spec:
            continue
        wanted = sa.select(sa.func.count()).select_from(_entrant).where(_entrant.c.tournament_id == tournament)
        clock = {**spec.pop("clock"), "margin": 0.0}
        spec["clocks"] = [clock] * (connection.scalar(wanted) or 0)
        spec["match"].setdefault("fault_policy", "stand_in")
        connection.execute(sa.update(_tournament).where(_tournament.c.id == tournament).values(spec=spec))


def downgrade() -> None:
    """Give the plan its first entrant's clock."""
    connection = op.get_bind()
    for tournament, spec in connection.execute(sa.select(_tournament.c.id, _tournament.c.spec)).all():
        clocks = spec.pop("clocks", None)
        if clocks is None:
            continue
        spec["clock"] = {name: value for name, value in clocks[0].items() if name != "margin"} if clocks else {}
        connection.execute(sa.update(_tournament).where(_tournament.c.id == tournament).values(spec=spec))
