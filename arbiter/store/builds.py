"""Builds of versions: what each was, how it ended and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import func, select, tuple_, update
from sqlalchemy.orm import Session

from arbiter.store.database import Database
from arbiter.store.errors import QuotaExceeded, UnknownBuild
from arbiter.store.quotas import Quota, check_builds
from arbiter.store.records import LARGEST, check_aware
from arbiter.store.tables import BuildRow
from arbiter.store.versions import existing_version


class BuildState(StrEnum):
    """Where a build is."""

    RUNNING = "running"  #: it runs
    BUILT = "built"  #: its result is what plays
    FAILED = "failed"  #: there is no result, and that is the version's fault
    INTERRUPTED = "interrupted"  #: the machine was at fault, or the service ended meanwhile


@dataclass(frozen=True, slots=True)
class Build:
    """A build of a version.

    Attributes:
        bot: Name of the bot.
        version: Number of the version.
        number: From 1 for each version.
        state: Where it is.
        detail: One line: how it ended; empty while it runs.
        digest: SHA-256 of the result's content in hexadecimal digits; empty when there is none.
        size: Bytes of the result.
        began_at: When it began.
        ended_at: When it ended, None while it runs.
    """

    bot: str
    version: int
    number: int
    state: BuildState
    detail: str
    digest: str
    size: int
    began_at: datetime
    ended_at: datetime | None


class Builds:
    """All builds. Every method is one transaction; raises `StoreError` when the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, bot: str, version: int, quota: Quota, now: datetime) -> int:
        """Note that a version's next build begins, and return its number. One that still runs was interrupted.

        Raises:
            UnknownVersion: there is none.
            QuotaExceeded: its owner has had as many builds as may be.
        """
        check_aware(now)
        with self._database.write() as session:
            owner = existing_version(session, bot, version, lock=True).owner
            self._database.take_turns(session, f"owner {owner}")
            of = (BuildRow.bot_name == bot, BuildRow.version_number == version)
            session.execute(
                update(BuildRow)
                .where(*of, BuildRow.state == BuildState.RUNNING.value)
                .values(state=BuildState.INTERRUPTED.value, detail="the service ended meanwhile", ended_at=now)
            )
            refused: QuotaExceeded | None = None
            try:
                check_builds(session, owner, quota, now)
            except QuotaExceeded as error:
                refused = error  # and yet the one that was interrupted is so
            else:
                number = (session.scalar(select(func.max(BuildRow.number)).where(*of)) or 0) + 1
                row = BuildRow(bot_name=bot, version_number=version, number=number, owner=owner, began_at=now)
                row.state, row.detail, row.log, row.digest, row.size = BuildState.RUNNING.value, "", "", "", 0
                session.add(row)
        if refused is not None:
            raise refused
        return number

    def end(
        self,
        bot: str,
        version: int,
        number: int,
        state: BuildState,
        detail: str,
        now: datetime,
        *,
        log: str = "",
        digest: str = "",
        size: int = 0,
    ) -> None:
        """Note how a build ended; raises `UnknownBuild`."""
        check_aware(now)
        with self._database.write() as session:
            row = session.get(BuildRow, (bot, version, number), with_for_update=True)
            if row is None:
                raise UnknownBuild(f"version {bot}@{version} has no build {number}")
            row.state, row.detail, row.log, row.digest, row.size = state.value, detail, log, digest, size
            row.ended_at = now

    def get(self, bot: str, version: int, number: int | None = None) -> Build:
        """A build; without a number a version's newest. Raises `UnknownVersion` or `UnknownBuild`."""
        with self._database.read() as session:
            return _build(_existing_build(session, bot, version, number))

    def log(self, bot: str, version: int, number: int | None = None) -> str:
        """What a build wrote; without a number a version's newest. Raises as `get` does."""
        with self._database.read() as session:
            return _existing_build(session, bot, version, number).log

    def builds(
        self, bot: str | None = None, *, after: tuple[str, int, int] = ("", 0, 0), limit: int | None = None
    ) -> Sequence[Build]:
        """Builds by bot, version and number, of one bot or of all, those behind ``after``, at most ``limit``."""
        place = tuple_(BuildRow.bot_name, BuildRow.version_number, BuildRow.number)
        wanted = select(BuildRow).where(place > after).limit(limit)
        wanted = wanted.order_by(BuildRow.bot_name, BuildRow.version_number, BuildRow.number)
        if bot is not None:
            wanted = wanted.where(BuildRow.bot_name == bot)
        with self._database.read() as session:
            return [_build(row) for row in session.scalars(wanted)]


def _existing_build(session: Session, bot: str, version: int, number: int | None) -> BuildRow:
    existing_version(session, bot, version)
    wanted = select(BuildRow).where(BuildRow.bot_name == bot, BuildRow.version_number == version)
    if number is not None:
        wanted = wanted.where(BuildRow.number == number)
    kept = number is None or number <= LARGEST
    row = session.scalar(wanted.order_by(BuildRow.number.desc()).limit(1)) if kept else None
    if row is None:
        which = "no build" if number is None else f"no build {number}"
        raise UnknownBuild(f"version {bot}@{version} has {which}; its runtime may need none")
    return row


def _build(row: BuildRow) -> Build:
    return Build(
        bot=row.bot_name,
        version=row.version_number,
        number=row.number,
        state=BuildState(row.state),
        detail=row.detail,
        digest=row.digest,
        size=row.size,
        began_at=row.began_at,
        ended_at=row.ended_at,
    )
