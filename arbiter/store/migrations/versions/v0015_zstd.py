"""Keep replays compressed with zstd; the ones recorded from here on are packed besides."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import sqlalchemy as sa
from alembic import op
from backports import zstd

from arbiter.store.errors import StoreError

revision = "0015"
down_revision = "0014"

_PACKED = b"\x01"
"""How a replay begins that the version before can't read."""


def upgrade() -> None:
    """Compress every replay anew. What is in it, and so its digest, stays."""
    _rewrite(lambda replay: zstd.compress(zlib.decompress(replay)))


def downgrade() -> None:
    """Compress with zlib again; raises `StoreError` when a packed replay came since."""
    _rewrite(_earlier)


def _earlier(replay: bytes) -> bytes:
    content = zstd.decompress(replay)
    if content.startswith(_PACKED):
        raise StoreError(
            "the version before can't read replays that were recorded since; restore the backup that was made before"
            " the upgrade"
        )
    return zlib.compress(content)


def _rewrite(change: Callable[[bytes], bytes]) -> None:
    connection = op.get_bind()
    result = sa.table("result", sa.column("sitting_id", sa.Integer), sa.column("replay", sa.LargeBinary))
    for sitting in connection.scalars(sa.select(result.c.sitting_id)).all():
        mine = result.c.sitting_id == sitting
        replay = connection.execute(sa.select(result.c.replay).where(mine)).scalar_one()
        connection.execute(sa.update(result).where(mine).values(replay=change(replay)))
