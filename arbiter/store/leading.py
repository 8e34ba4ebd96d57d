"""Who leads: of several processes that could decide about a matter one does, for a time that it keeps on renewing.

Each time somebody takes the lead, the matter's *term* goes up by one. A leader's transactions begin with `require`,
which shares a lock on the row until they are committed; to take the lead needs that lock alone. So no write of an
earlier term is committed after a later term has begun, however long its process was stopped and whatever its clock
says. (Such a number is called a fencing token:
https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html.) Clocks only decide when somebody else may
try.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from arbiter.store.errors import LeadershipLost
from arbiter.store.records import Leadership
from arbiter.store.tables import LeadershipRow


def lead(session: Session, matter: str, holder: str, now: datetime, duration: timedelta) -> Leadership:
    """Let `holder` lead, in a new term, unless somebody else does; returns the leadership that counts then.

    Callers must take turns about the matter, which may have no row yet.
    """
    row = session.get(LeadershipRow, matter, with_for_update=True)
    if row is None:
        row = LeadershipRow(matter=matter, holder=holder, term=1, expires_at=now + duration)
        session.add(row)
    elif row.holder == holder or row.expires_at <= now:
        # The same holder again has been started anew, and its former self is gone.
        row.holder, row.term, row.expires_at = holder, row.term + 1, now + duration
    return _leadership(row)


def leader(session: Session, matter: str) -> Leadership | None:
    """Who led last, even when that has expired; None when nobody ever did."""
    row = session.get(LeadershipRow, matter)
    return None if row is None else _leadership(row)


def keep(session: Session, leadership: Leadership, now: datetime, duration: timedelta) -> Leadership | None:
    """Let it end `duration` after `now`; None when its term is over."""
    row = session.get(LeadershipRow, leadership.matter, with_for_update=True)
    if row is None or row.term != leadership.term:
        return None
    row.expires_at = now + duration
    return _leadership(row)


def resign(session: Session, leadership: Leadership, now: datetime) -> None:
    """Let anybody else take the lead at once; nothing when its term is over already."""
    row = session.get(LeadershipRow, leadership.matter, with_for_update=True)
    if row is not None and row.term == leadership.term:
        row.expires_at = now


def require(session: Session, leadership: Leadership) -> None:
    """Keep everybody else from taking the lead until the end of the transaction; raises `LeadershipLost` when its term
    is over."""
    row = session.get(LeadershipRow, leadership.matter, with_for_update={"read": True})
    if row is None or row.term != leadership.term:
        who = f"{row.holder} does" if row else "nobody does"
        raise LeadershipLost(
            f"{leadership.holder} does not lead {leadership.matter} any more, {who}; nothing is written"
        )


def _leadership(row: LeadershipRow) -> Leadership:
    return Leadership(row.matter, row.holder, row.term, row.expires_at)
