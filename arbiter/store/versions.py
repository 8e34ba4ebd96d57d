"""Submitted bots and their versions: a version is numbered, immutable, and moves through its life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session, aliased

from arbiter.store.database import Database
from arbiter.store.errors import NameTaken, TransitionRefused, UnknownVersion
from arbiter.store.quotas import Quota, check_quota, check_room, referenced_contents
from arbiter.store.records import LARGEST, check_aware
from arbiter.store.tables import BotRow, VersionRow


class VersionState(StrEnum):
    """Where a version is in its life; see `VERSION_TRANSITIONS` for the ways between."""

    RECEIVED = "received"  #: its archive was checked and is kept
    BUILDING = "building"  #: its build runs
    VALIDATING = "validating"  #: it plays its first sittings, against stand-ins
    ACTIVE = "active"  #: it can be scheduled
    FAILED = "failed"  #: it did not build or did not play; it stays to be seen, with its log
    RETIRED = "retired"  #: its owner or the host took it back


AT_REST = frozenset({VersionState.ACTIVE, VersionState.FAILED, VersionState.RETIRED})
"""The states in which nothing happens by itself any more."""

VERSION_TRANSITIONS: Mapping[VersionState, frozenset[VersionState]] = {
    VersionState.RECEIVED: frozenset({VersionState.BUILDING, VersionState.FAILED, VersionState.RETIRED}),
    VersionState.BUILDING: frozenset({VersionState.VALIDATING, VersionState.RECEIVED, VersionState.FAILED}),
    VersionState.VALIDATING: frozenset({VersionState.ACTIVE, VersionState.RECEIVED, VersionState.FAILED}),
    VersionState.ACTIVE: frozenset({VersionState.RETIRED}),
    VersionState.FAILED: frozenset({VersionState.RECEIVED, VersionState.RETIRED}),
    VersionState.RETIRED: frozenset(),
}
"""The states that each state can change to; back to ``received`` when a build or validation is begun anew."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a contestant sends.

    Attributes:
        owner: Who.
        bot: Name of the bot; its first submitter owns the name.
        request_id: Chosen by the sender; the same one again gives the same version.
        digest: SHA-256 of the package's content, in hexadecimal digits.
        size: Bytes of the content.
        message: What the author says of it.
        commit: Id of the commit that it was made from, empty when there is none.
        manifest: Its ``bot.toml``, as plain data.
        needs_build: Its runtime builds.
    """

    owner: str
    bot: str
    request_id: str
    digest: str
    size: int
    message: str = ""
    commit: str = ""
    manifest: Mapping[str, object] = field(default_factory=dict)
    needs_build: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a bot.

    Attributes:
        number: From 1 for each bot.
        submission: What was sent.
        state: Where it is in its life.
        built: Digest of what plays, after the build; empty before it.
        built_size: Bytes of that.
        failure: Why it failed, in one line; empty when it did not.
        created_at: When it was received.
        tried: Names of the rule sets in which it was tried out and committed no fault.
    """

    number: int
    submission: Submission
    state: VersionState
    built: str
    built_size: int
    failure: str
    created_at: datetime
    tried: tuple[str, ...]

    @property
    def name(self) -> str:
        """Such as ``mybot@3``."""
        return f"{self.submission.bot}@{self.number}"


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot as its versions show it.

    Attributes:
        name: Its name.
        owner: Who submitted its first version.
        latest: Number of its newest version.
        active: Number of its newest active version; None when it has none.
    """

    name: str
    owner: str
    latest: int
    active: int | None


class Versions:
    """All bots and versions. Every method is one transaction; raises `StoreError` when the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receive(self, submission: Submission, quota: Quota, now: datetime) -> Version:
        """Keep a submission as the next version of its bot; the same request again gives the version it made.

        Raises:
            NameTaken: the name is somebody else's, or the request id was used for other content.
            QuotaExceeded: the sender's quota is used up.
        """
        check_aware(now)
        with self._database.write() as session:
            # Two submissions of one owner must not both find room for one, nor two of one bot take one number.
            self._database.take_turns(session, f"owner {submission.owner}", f"bot {submission.bot}")
            earlier = session.scalar(
                select(VersionRow).where(
                    VersionRow.owner == submission.owner, VersionRow.request_id == submission.request_id
                )
            )
            if earlier is not None:
                if (earlier.bot_name, earlier.digest) != (submission.bot, submission.digest):
                    raise NameTaken(
                        f"request id {submission.request_id!r} was used for {earlier.bot_name}@{earlier.number}, whose"
                        " content is another; choose a new one"
                    )
                return _version(earlier)
            check_quota(session, submission, quota, now)
            bot = session.get(BotRow, submission.bot)
            if bot is None:
                bot = BotRow(name=submission.bot, owner=submission.owner, created_at=now)
                session.add(bot)
                session.flush()
            _check_name(bot, submission)
            latest = session.scalar(select(func.max(VersionRow.number)).where(VersionRow.bot_name == submission.bot))
            row = VersionRow(
                bot_name=submission.bot,
                number=(latest or 0) + 1,
                owner=submission.owner,
                request_id=submission.request_id,
                digest=submission.digest,
                size=submission.size,
                message=submission.message,
                commit=submission.commit,
                manifest=dict(submission.manifest),
                needs_build=submission.needs_build,
                state=VersionState.RECEIVED.value,
                built="",
                built_size=0,
                log="",
                failure="",
                created_at=now,
                moved_at=now,
                tried=[],
            )
            session.add(row)
            return _version(row)

    def check(self, submission: Submission, quota: Quota, now: datetime) -> None:
        """Return when `receive` would take this submission; raises as it does. Before anything of it is kept."""
        with self._database.read() as session:
            earlier = session.scalar(
                select(VersionRow.number).where(
                    VersionRow.owner == submission.owner, VersionRow.request_id == submission.request_id
                )
            )
            if earlier is not None:
                return
            check_quota(session, submission, quota, now)
            _check_name(session.get(BotRow, submission.bot), submission)

    def move(
        self,
        bot: str,
        number: int,
        state: VersionState,
        now: datetime,
        *,
        built: str = "",
        built_size: int = 0,
        quota: Quota | None = None,
        log: str = "",
        failure: str = "",
        tried: Sequence[str] = (),
    ) -> Version:
        """Move a version on in its life, with what is known then; returns it as it is afterwards.

        ``built`` is the digest of what plays, ``built_size`` its bytes, and ``quota`` what its owner may store with it;
        ``tried`` names the rule sets in which it played without a fault.

        Raises:
            UnknownVersion: there is none.
            TransitionRefused: its life has no such change.
            QuotaExceeded: what was built is more than its owner may store.
        """
        check_aware(now)
        with self._database.write() as session:
            row = existing_version(session, bot, number, lock=True)
            if state not in VERSION_TRANSITIONS[VersionState(row.state)]:
                raise TransitionRefused(f"version {bot}@{number} is {row.state} and can't become {state}")
            if quota is not None and built not in ("", row.built, row.digest):
                self._database.take_turns(session, f"owner {row.owner}")
                check_room(session, row.owner, (built, built_size), quota, now)
            row.state, row.moved_at = state.value, now
            if built:
                row.built, row.built_size = built, built_size
            if log:
                row.log = log
            row.failure, row.tried = failure or row.failure, list(tried) or row.tried
            return _version(row)

    def referenced(self, now: datetime) -> set[str]:
        """Digests of the contents that are needed; all others may be deleted, unless they were kept a moment ago."""
        check_aware(now)
        with self._database.read() as session:
            return referenced_contents(session, now)

    def get(self, bot: str, number: int | None = None) -> Version:
        """A version; without a number the newest active one. Raises `UnknownVersion`, which says why there is none."""
        with self._database.read() as session:
            if number is not None:
                return _version(existing_version(session, bot, number))
            newest = session.scalar(
                select(VersionRow)
                .where(VersionRow.bot_name == bot, VersionRow.state == VersionState.ACTIVE.value)
                .order_by(VersionRow.number.desc())
                .limit(1)
            )
            if newest is None:
                raise UnknownVersion(_why_none(session, bot))
            return _version(newest)

    def log(self, bot: str, number: int) -> str:
        """What building and validating a version wrote; raises `UnknownVersion`."""
        with self._database.read() as session:
            return existing_version(session, bot, number).log

    def bots(self, *, after: str = "", limit: int | None = None) -> list[Bot]:
        """Bots by name, those behind ``after``, at most ``limit``."""
        active = func.max(case((VersionRow.state == VersionState.ACTIVE.value, VersionRow.number)))
        wanted = (
            select(BotRow.name, BotRow.owner, func.max(VersionRow.number), active)
            .join(VersionRow, VersionRow.bot_name == BotRow.name)
            .where(BotRow.name > after)
            .group_by(BotRow.name, BotRow.owner)
            .order_by(BotRow.name)
            .limit(limit)
        )
        with self._database.read() as session:
            return [Bot(*row) for row in session.execute(wanted)]

    def versions(
        self, bot: str | None = None, *, after: tuple[str, int] = ("", 0), limit: int | None = None
    ) -> Sequence[Version]:
        """Versions by name and number, of one bot or of all, those behind ``after``, at most ``limit``."""
        name, number = after
        wanted = (
            select(VersionRow)
            .where(
                (VersionRow.bot_name > name) | ((VersionRow.bot_name == name) & (VersionRow.number > number)),
            )
            .order_by(VersionRow.bot_name, VersionRow.number)
            .limit(limit)
        )
        if bot is not None:
            wanted = wanted.where(VersionRow.bot_name == bot)
        with self._database.read() as session:
            return [_version(row) for row in session.scalars(wanted)]

    def unfinished(self) -> Sequence[Version]:
        """Versions that are not yet active or failed, oldest first."""
        with self._database.read() as session:
            return [_version(row) for row in session.scalars(_UNFINISHED.order_by(*_OLDEST_FIRST))]

    def next_of_each_owner(self) -> Sequence[Version]:
        """Of each owner the oldest version that is not yet active or failed, those that were sent first before
        others."""
        place = func.row_number().over(partition_by=VersionRow.owner, order_by=_OLDEST_FIRST)
        placed = _UNFINISHED.add_columns(place.label("place")).subquery()
        row = aliased(VersionRow, placed)
        wanted = select(row).where(placed.c.place == 1).order_by(row.created_at, row.bot_name, row.number)
        with self._database.read() as session:
            return [_version(each) for each in session.scalars(wanted)]


_UNFINISHED = select(VersionRow).where(
    VersionRow.state.in_([VersionState.RECEIVED.value, VersionState.BUILDING.value, VersionState.VALIDATING.value])
)
_OLDEST_FIRST = (VersionRow.created_at, VersionRow.bot_name, VersionRow.number)


def _check_name(bot: BotRow | None, submission: Submission) -> None:
    if bot is not None and bot.owner != submission.owner:
        raise NameTaken(f"the name {submission.bot!r} is taken by another contestant; choose another")


def existing_version(session: Session, bot: str, number: int, *, lock: bool = False) -> VersionRow:
    """A version's row, locked until the transaction's end where asked for; raises `UnknownVersion`."""
    row = session.get(VersionRow, (bot, number), with_for_update=lock) if number <= LARGEST else None
    if row is None:
        raise UnknownVersion(f"there is no version {bot}@{number}; see: arbiter bot versions {bot}")
    return row


def _why_none(session: Session, bot: str) -> str:
    latest = session.scalar(
        select(VersionRow).where(VersionRow.bot_name == bot).order_by(VersionRow.number.desc()).limit(1)
    )
    if latest is None:
        return f"there is no bot {bot!r}; submit one with: arbiter bot submit DIR"
    reason = f": {latest.failure}" if latest.failure else ""
    return f"bot {bot!r} has no active version; its latest, {bot}@{latest.number}, is {latest.state}{reason}"


def _version(row: VersionRow) -> Version:
    return Version(
        number=row.number,
        submission=Submission(
            owner=row.owner,
            bot=row.bot_name,
            request_id=row.request_id,
            digest=row.digest,
            size=row.size,
            message=row.message,
            commit=row.commit,
            manifest=row.manifest,
            needs_build=row.needs_build,
        ),
        state=VersionState(row.state),
        built=row.built,
        built_size=row.built_size,
        failure=row.failure,
        created_at=row.created_at,
        tried=tuple(row.tried),
    )
