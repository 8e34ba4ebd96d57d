"""The tables, as SQLAlchemy declares them; private to this package.

A change here needs a migration beside it: a test compares the two. Only portable types are used.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from arbiter.store.records import AttemptOutcome, SittingState, TournamentState

EARLIEST = "1970-01-01 00:00:00"
"""A moment for rows that know of none."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware moment, kept in UTC. SQLite drops the zone, so UTC is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class ForeignText(TypeDecorator[str]):
    """Text that a bot may have written: what no database takes (NUL, lone surrogates) becomes U+FFFD.

    A bot must not be able to make its sitting impossible to record by what it prints.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)


def _words(kind: type[StrEnum]) -> Enum:
    """A column of one enum's values, kept as plain words so that adding a member needs no migration."""
    return Enum(
        kind, native_enum=False, length=16, values_callable=lambda members: [member.value for member in members]
    )


class Table(DeclarativeBase):
    """Base of all tables. Every constraint has a name, so that a migration can address it on any database."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
        }
    )


class TournamentRow(Table):
    """A tournament."""

    __tablename__ = "tournament"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    state: Mapped[TournamentState] = mapped_column(_words(TournamentState))
    spec: Mapped[dict[str, object]] = mapped_column(JSON)
    deal_seed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failure: Mapped[str | None] = mapped_column(ForeignText)


class EntrantRow(Table):
    """A bot version in a tournament."""

    __tablename__ = "entrant"

    tournament_id: Mapped[str] = mapped_column(ForeignKey("tournament.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(Text)
    manifest: Mapped[dict[str, object]] = mapped_column(JSON)
    joined: Mapped[int] = mapped_column(server_default="0")
    gone: Mapped[int | None]


class MatchRow(Table):
    """A match of a tournament."""

    __tablename__ = "match"

    tournament_id: Mapped[str] = mapped_column(ForeignKey("tournament.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    deal_seed: Mapped[bytes] = mapped_column(LargeBinary)
    commitment: Mapped[str] = mapped_column(Text)
    boards: Mapped[int]


class MatchEntrantRow(Table):
    """An entrant's place in a match."""

    __tablename__ = "match_entrant"
    __table_args__ = (
        ForeignKeyConstraint(["tournament_id", "match_number"], ["match.tournament_id", "match.number"]),
        ForeignKeyConstraint(
            ["tournament_id", "entrant_number"],
            ["entrant.tournament_id", "entrant.number"],
            name="fk_match_entrant_entrant_number_entrant",
        ),
    )

    tournament_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    match_number: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    entrant_number: Mapped[int]


class SittingRow(Table):
    """A sitting. `attempts` counts its attempts so far: while it is leased, the last of them holds the lease."""

    __tablename__ = "sitting"
    __table_args__ = (
        ForeignKeyConstraint(["tournament_id", "match_number"], ["match.tournament_id", "match.number"]),
        UniqueConstraint("tournament_id", "match_number", "number"),
        Index(None, "tournament_id", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    tournament_id: Mapped[str] = mapped_column(String(64))
    match_number: Mapped[int]
    number: Mapped[int]
    state: Mapped[SittingState] = mapped_column(_words(SittingState))
    attempts: Mapped[int]
    infrastructure: Mapped[int]
    """Attempts given back for infrastructure failures since the plan was made or the host last looked."""
    lost: Mapped[int] = mapped_column(server_default="0")
    """Attempts whose lease ended without a word from their worker, counted since the same moment."""


class AttemptRow(Table):
    """A try at a sitting; `expires_at` is the end of its lease while the outcome is ``running``."""

    __tablename__ = "attempt"

    sitting_id: Mapped[int] = mapped_column(ForeignKey("sitting.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    worker: Mapped[str] = mapped_column(ForeignText)
    leased_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    outcome: Mapped[AttemptOutcome] = mapped_column(_words(AttemptOutcome))
    note: Mapped[str] = mapped_column(ForeignText)
    digest: Mapped[str | None] = mapped_column(String(64))
    starved_entrant: Mapped[int | None]
    """Whose time was up on a starved machine, where that voided the attempt."""


class ResultRow(Table):
    """The standing result of a sitting: the primary key lets there be one only.

    The replay is the last column, so that the sums over the others do not read it.
    """

    __tablename__ = "result"
    __table_args__ = (ForeignKeyConstraint(["sitting_id", "attempt_number"], ["attempt.sitting_id", "attempt.number"]),)

    sitting_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt_number: Mapped[int]
    recorded_at: Mapped[datetime] = mapped_column(UtcDateTime)
    digest: Mapped[str] = mapped_column(String(64))
    hands: Mapped[int]
    seconds: Mapped[float]
    replay: Mapped[bytes] = mapped_column(LargeBinary)


class SeatResultRow(Table):
    """What one seat made of one board."""

    __tablename__ = "seat_result"

    sitting_id: Mapped[int] = mapped_column(ForeignKey("result.sitting_id"), primary_key=True)
    board: Mapped[int] = mapped_column(primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    entrant: Mapped[int]
    hands: Mapped[int]
    points: Mapped[int]
    total: Mapped[int]


class HandTallyRow(Table):
    """The hands of one seat of one board under one pass direction."""

    __tablename__ = "hand_tally"

    sitting_id: Mapped[int] = mapped_column(ForeignKey("result.sitting_id"), primary_key=True)
    board: Mapped[int] = mapped_column(primary_key=True)
    seat: Mapped[int] = mapped_column(primary_key=True)
    direction: Mapped[str] = mapped_column(String(16), primary_key=True)
    hands: Mapped[int]
    points: Mapped[int]
    moons: Mapped[int]


class FaultRow(Table):
    """A fault, numbered in the order in which the sitting's faults happened."""

    __tablename__ = "fault"

    sitting_id: Mapped[int] = mapped_column(ForeignKey("result.sitting_id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    entrant: Mapped[int]
    board: Mapped[int | None]
    hand: Mapped[int | None]
    seat: Mapped[int | None]
    trick: Mapped[int | None]
    code: Mapped[str] = mapped_column(Text)
    detail: Mapped[str] = mapped_column(ForeignText)
    lost: Mapped[bool]


class BotLogRow(Table):
    """How a bot process ended, and its stderr."""

    __tablename__ = "bot_log"

    sitting_id: Mapped[int] = mapped_column(ForeignKey("result.sitting_id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    entrant: Mapped[int]
    ending: Mapped[str] = mapped_column(ForeignText)
    log: Mapped[str] = mapped_column(ForeignText)
    thinking_seconds: Mapped[float | None]
    answers: Mapped[int | None]


class IdentityRow(Table):
    """The one row says which database this is; copies say the same."""

    __tablename__ = "identity"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)


class LeadershipRow(Table):
    """Who leads in a matter; rows stay, so that their terms go on."""

    __tablename__ = "leadership"

    matter: Mapped[str] = mapped_column(String(128), primary_key=True)
    holder: Mapped[str] = mapped_column(Text)
    term: Mapped[int]
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class AlarmRow(Table):
    """A report that can't be right; the same one again adds no second alarm."""

    __tablename__ = "alarm"
    __table_args__ = (ForeignKeyConstraint(["sitting_id", "attempt_number"], ["attempt.sitting_id", "attempt.number"]),)

    sitting_id: Mapped[int] = mapped_column(primary_key=True)
    attempt_number: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    first_digest: Mapped[str] = mapped_column(String(64))
    """What the attempt had reported before; empty where it is the report itself that was refused."""
    raised_at: Mapped[datetime] = mapped_column(UtcDateTime)
    reason: Mapped[str] = mapped_column(ForeignText, server_default="reported twice, differently")


class TokenRow(Table):
    """A token, by the part of it that is no secret."""

    __tablename__ = "token"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner: Mapped[str] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(String(16))
    digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class AuditRow(Table):
    """Something that was done."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    actor: Mapped[str] = mapped_column(Text)
    owner: Mapped[str] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(ForeignText)
    detail: Mapped[str] = mapped_column(ForeignText)


class BotRow(Table):
    """A submitted bot: its name is its first submitter's."""

    __tablename__ = "bot"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    owner: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class VersionRow(Table):
    """A version of a submitted bot. Its log, which may be long, is read only by who asks for it."""

    __tablename__ = "version"
    __table_args__ = (UniqueConstraint("owner", "request_id"), Index(None, "state"))

    bot_name: Mapped[str] = mapped_column(ForeignKey("bot.name"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(Text)
    request_id: Mapped[str] = mapped_column(String(64))
    digest: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(BigInteger)
    message: Mapped[str] = mapped_column(ForeignText)
    commit: Mapped[str] = mapped_column(Text)
    manifest: Mapped[dict[str, object]] = mapped_column(JSON)
    state: Mapped[str] = mapped_column(String(16))
    built: Mapped[str] = mapped_column(String(64))
    built_size: Mapped[int] = mapped_column(BigInteger, server_default="0")
    log: Mapped[str] = mapped_column(ForeignText, deferred=True)
    failure: Mapped[str] = mapped_column(ForeignText)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    moved_at: Mapped[datetime] = mapped_column(UtcDateTime, server_default=EARLIEST)
    """When its state last changed."""
    tried: Mapped[list[str]] = mapped_column(JSON, server_default="[]")
    """Names of the rule sets in which it was tried out."""
    needs_build: Mapped[bool] = mapped_column(server_default=false())
    """Its runtime builds."""


class BuildRow(Table):
    """A build of a version. Its log is read as a version's is."""

    __tablename__ = "build"
    __table_args__ = (
        ForeignKeyConstraint(["bot_name", "version_number"], ["version.bot_name", "version.number"]),
        Index(None, "owner", "began_at"),
    )

    bot_name: Mapped[str] = mapped_column(String(64), primary_key=True)
    version_number: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16))
    detail: Mapped[str] = mapped_column(ForeignText)
    log: Mapped[str] = mapped_column(ForeignText, deferred=True)
    digest: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(BigInteger)
    began_at: Mapped[datetime] = mapped_column(UtcDateTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class RequestRow(Table):
    """A request that was done."""

    __tablename__ = "request"

    owner: Mapped[str] = mapped_column(String(64), primary_key=True)
    request_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    call: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcDateTime)


class EntryRow(Table):
    """A bot that was entered into a tournament which is or was a draft."""

    __tablename__ = "entry"

    tournament_id: Mapped[str] = mapped_column(ForeignKey("tournament.id"), primary_key=True)
    bot_name: Mapped[str] = mapped_column(ForeignKey("bot.name"), primary_key=True)
    version_number: Mapped[int]
    owner: Mapped[str] = mapped_column(Text)
    side: Mapped[str] = mapped_column(Text)
    entered_at: Mapped[datetime] = mapped_column(UtcDateTime)
