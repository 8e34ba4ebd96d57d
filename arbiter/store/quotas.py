"""What one owner may submit and have played, counted over what is recorded; and which contents are still needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Select, func, select, union
from sqlalchemy.orm import Session

from arbiter.store.errors import QuotaExceeded
from arbiter.store.records import FINISHED
from arbiter.store.tables import BotRow, BuildRow, EntrantRow, TournamentRow, VersionRow

if TYPE_CHECKING:
    from arbiter.store.versions import Submission

KEPT_FOR = timedelta(days=1)
"""How long the content of a failed or retired version stays: whoever is about to use it finds it."""

_GONE = ("failed", "retired")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Quota:
    """What one owner may submit and have played.

    Attributes:
        submissions_per_day: Versions within 24 hours.
        stored_bytes: Contents of versions and what was built of them, each counted once.
        bots: Names of bots.
        builds_per_day: Builds within 24 hours, those not counted for which the machine was at fault.
        gates_at_once: Gates of the owner's candidates that are under way.
        gates_per_day: Those made within 24 hours.
    """

    submissions_per_day: int = 50
    stored_bytes: int = 1 << 30
    bots: int = 20
    builds_per_day: int = 30
    gates_at_once: int = 4
    gates_per_day: int = 50


def check_quota(session: Session, submission: Submission, quota: Quota, now: datetime) -> None:
    """Return when a submission is within its sender's quota; raises `QuotaExceeded`."""
    owner = submission.owner
    versions = select(func.count()).where(VersionRow.owner == owner, VersionRow.created_at > now - _DAY)
    today = session.scalar(versions) or 0
    if today >= quota.submissions_per_day:
        raise QuotaExceeded(f"{owner} has made {today} submissions within a day, which is all that is allowed; wait")
    if submission.needs_build:
        waiting = select(func.count()).where(
            VersionRow.owner == owner, VersionRow.needs_build, VersionRow.state == "received"
        )
        check_builds(session, owner, quota, now, waiting=session.scalar(waiting) or 0)
    check_room(session, owner, (submission.digest, submission.size), quota, now)
    others = select(func.count()).where(BotRow.owner == owner, BotRow.name != submission.bot)
    bots = session.scalar(others) or 0
    if bots >= quota.bots:
        raise QuotaExceeded(f"{owner} has {bots} bots already, which is all that is allowed")


def check_builds(session: Session, owner: str, quota: Quota, now: datetime, *, waiting: int = 0) -> None:
    """Return when an owner may have one more build, beside so many that wait; raises `QuotaExceeded`."""
    counted = (BuildRow.owner == owner, BuildRow.began_at > now - _DAY, BuildRow.state != "interrupted")
    builds = session.scalar(select(func.count()).where(*counted)) or 0
    if builds + waiting >= quota.builds_per_day:
        others = f", and {waiting} wait" if waiting else ""
        raise QuotaExceeded(f"{owner} has had {builds} builds within a day{others}, which is all that is allowed; wait")


def check_gates(session: Session, owner: str, quota: Quota, now: datetime) -> None:
    """Return when one more gate may be made for a candidate of this owner; raises `QuotaExceeded`."""
    open_ = TournamentRow.state.not_in(FINISHED)
    recent = TournamentRow.created_at > now - _DAY
    gates = (
        select(func.count().filter(open_), func.count().filter(recent))
        .join(EntrantRow, EntrantRow.tournament_id == TournamentRow.id)
        .where(
            open_ | recent,
            TournamentRow.spec["gate"].as_string().is_not(None),
            EntrantRow.number == 0,
            EntrantRow.manifest["owner"].as_string() == owner,
        )
    )
    under_way, today = session.execute(gates).one()
    if under_way >= quota.gates_at_once:
        raise QuotaExceeded(
            f"{owner} has {under_way} gates under way, which is all that is allowed; wait, or cancel one"
        )
    if today >= quota.gates_per_day:
        raise QuotaExceeded(f"{owner} has had {today} gates within a day, which is all that is allowed; wait")


def check_room(session: Session, owner: str, content: tuple[str, int], quota: Quota, now: datetime) -> None:
    """Return when an owner may store a content, of which digest and bytes are given; raises `QuotaExceeded`."""
    sources = select(VersionRow.digest, VersionRow.size).where(VersionRow.owner == owner, _kept(now))
    played = VersionRow.built.in_(_in_play())
    results = select(VersionRow.built, VersionRow.built_size).where(VersionRow.owner == owner, _kept(now) | played)
    stored: dict[str, int] = {digest: size for digest, size in session.execute(union(sources, results)) if digest}
    digest, more = content
    total = sum(stored.values())
    if digest not in stored and total + more > quota.stored_bytes:
        raise QuotaExceeded(
            f"{owner} has {total} bytes stored; {more} more are above the {quota.stored_bytes} that are allowed;"
            " retire versions, which counts a day later and when what they play in is over"
        )


def referenced_contents(session: Session, now: datetime) -> set[str]:
    """Digests of all contents that are needed: of versions that can be played or will be, of those that failed or were
    retired a short while ago, and of the entrants of tournaments that are not over."""
    kept = select(VersionRow.digest, VersionRow.built).where(_kept(now))
    found = {digest for pair in session.execute(kept) for digest in pair if digest}
    return found | set(session.scalars(_in_play()))


def _kept(now: datetime) -> ColumnElement[bool]:
    return VersionRow.state.not_in(_GONE) | (VersionRow.moved_at > now - KEPT_FOR)


def _in_play() -> Select[str]:
    """What the entrants of tournaments that are not over play with."""
    return (
        select(EntrantRow.digest)
        .join(TournamentRow, TournamentRow.id == EntrantRow.tournament_id)
        .where(TournamentRow.state.not_in(FINISHED))
    )
