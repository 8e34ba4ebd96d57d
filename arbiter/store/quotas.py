"""What one owner may submit, counted over what is recorded; and which contents are still needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, select, union
from sqlalchemy.orm import Session

from arbiter.store.errors import QuotaExceeded
from arbiter.store.tables import BotRow, BuildRow, EntrantRow, VersionRow

if TYPE_CHECKING:
    from arbiter.store.versions import Submission

KEPT_FOR = timedelta(days=1)
"""How long the content of a failed or retired version stays: whoever is about to use it finds it."""

_GONE = ("failed", "retired")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Quota:
    """What one owner may submit.

    Attributes:
        submissions_per_day: Versions within 24 hours.
        stored_bytes: Contents of versions and what was built of them, each counted once.
        bots: Names of bots.
        builds_per_day: Builds within 24 hours, those not counted for which the machine was at fault.
    """

    submissions_per_day: int = 50
    stored_bytes: int = 1 << 30
    bots: int = 20
    builds_per_day: int = 30


def check_quota(session: Session, submission: Submission, quota: Quota, now: datetime) -> None:
    """Return when a submission is within its sender's quota; raises `QuotaExceeded`."""
    owner = submission.owner
    versions = select(func.count()).where(VersionRow.owner == owner, VersionRow.created_at > now - _DAY)
    today = session.scalar(versions) or 0
    if today >= quota.submissions_per_day:
        raise QuotaExceeded(f"{owner} has made {today} submissions within a day, which is all that is allowed; wait")
    counted = (BuildRow.owner == owner, BuildRow.began_at > now - _DAY, BuildRow.state != "interrupted")
    builds = (session.scalar(select(func.count()).where(*counted)) or 0) if submission.needs_build else 0
    if submission.needs_build and builds >= quota.builds_per_day:
        raise QuotaExceeded(f"{owner} has had {builds} builds within a day, which is all that is allowed; wait")
    check_room(session, owner, (submission.digest, submission.size), quota, now)
    others = select(func.count()).where(BotRow.owner == owner, BotRow.name != submission.bot)
    bots = session.scalar(others) or 0
    if bots >= quota.bots:
        raise QuotaExceeded(f"{owner} has {bots} bots already, which is all that is allowed")


def check_room(session: Session, owner: str, content: tuple[str, int], quota: Quota, now: datetime) -> None:
    """Return when an owner may store a content, of which digest and bytes are given; raises `QuotaExceeded`."""
    mine = (VersionRow.owner == owner, _kept(now))
    sources = select(VersionRow.digest, VersionRow.size).where(*mine)
    results = select(VersionRow.built, VersionRow.built_size).where(*mine)
    stored: dict[str, int] = {digest: size for digest, size in session.execute(union(sources, results)) if digest}
    digest, more = content
    total = sum(stored.values())
    if digest not in stored and total + more > quota.stored_bytes:
        raise QuotaExceeded(
            f"{owner} has {total} bytes stored; {more} more are above the {quota.stored_bytes} that are allowed;"
            " retire versions, which counts a day later"
        )


def referenced_contents(session: Session, now: datetime) -> set[str]:
    """Digests of all contents that are needed: of versions that can be played or will be, of those that failed or were
    retired a short while ago, and of every tournament's entrants."""
    kept = select(VersionRow.digest, VersionRow.built).where(_kept(now))
    found = {digest for pair in session.execute(kept) for digest in pair if digest}
    return found | set(session.scalars(select(EntrantRow.digest)))


def _kept(now: datetime) -> ColumnElement[bool]:
    return VersionRow.state.not_in(_GONE) | (VersionRow.moved_at > now - KEPT_FOR)
