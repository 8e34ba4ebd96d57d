"""Who may call: tokens, of which only a digest is kept, and the record of what was done by whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select

from arbiter.store.database import Database
from arbiter.store.errors import UnknownToken
from arbiter.store.records import check_aware
from arbiter.store.tables import AuditRow, TokenRow


class Scope(StrEnum):
    """What a token is good for."""

    HOST = "host"  #: everything
    CONTESTANT = "contestant"  #: submit and retire bots of its owner, and all that a spectator may
    WORKER = "worker"  #: lease and report sittings
    SPECTATOR = "spectator"  #: look at what is public


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept.

    Attributes:
        id: The part of it that is no secret.
        owner: Who holds it.
        scope: What it is good for.
        digest: SHA-256 of its secret part, in hexadecimal digits.
        created_at: When it was made.
        expires_at: When it ends.
        revoked_at: When it was taken back, None while it was not.
    """

    id: str
    owner: str
    scope: Scope
    digest: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that was done.

    Attributes:
        at: When.
        actor: The token's id, or ``cli`` for what the host did on the machine itself.
        owner: Who holds that token; empty for the host on the machine itself.
        action: What, such as ``bot.submit``.
        subject: To what, such as ``mybot@3``.
        detail: More, in one line.
    """

    at: datetime
    actor: str
    owner: str
    action: str
    subject: str
    detail: str = ""


class Accounts:
    """Tokens and the audit log. Every method is one transaction; raises `StoreError` when the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_token(self, token: Token) -> None:
        """Keep a new token."""
        check_aware(token.created_at)
        check_aware(token.expires_at)
        with self._database.write() as session:
            session.add(
                TokenRow(
                    id=token.id,
                    owner=token.owner,
                    scope=token.scope.value,
                    digest=token.digest,
                    created_at=token.created_at,
                    expires_at=token.expires_at,
                    revoked_at=token.revoked_at,
                )
            )

    def token(self, token_id: str) -> Token:
        """The token with this id, revoked or expired ones too; raises `UnknownToken`."""
        with self._database.read() as session:
            return _token(_found(session.get(TokenRow, token_id), token_id))

    def tokens(self) -> list[Token]:
        """All tokens, oldest first."""
        with self._database.read() as session:
            return [_token(row) for row in session.scalars(select(TokenRow).order_by(TokenRow.created_at, TokenRow.id))]

    def revoke_token(self, token_id: str, now: datetime) -> Token:
        """Take a token back, and return it as it then is; a second time changes nothing. Raises `UnknownToken`."""
        check_aware(now)
        with self._database.write() as session:
            row = _found(session.get(TokenRow, token_id, with_for_update=True), token_id)
            row.revoked_at = row.revoked_at or now
            return _token(row)

    def note(self, entry: AuditEntry) -> None:
        """Write into the audit log."""
        check_aware(entry.at)
        with self._database.write() as session:
            session.add(
                AuditRow(
                    at=entry.at,
                    actor=entry.actor,
                    owner=entry.owner,
                    action=entry.action,
                    subject=entry.subject,
                    detail=entry.detail,
                )
            )

    def audit(self, limit: int) -> Sequence[AuditEntry]:
        """The latest entries of the audit log, newest first."""
        with self._database.read() as session:
            rows = session.scalars(select(AuditRow).order_by(AuditRow.id.desc()).limit(limit))
            return [AuditEntry(row.at, row.actor, row.owner, row.action, row.subject, row.detail) for row in rows]


def _found(row: TokenRow | None, token_id: str) -> TokenRow:
    if row is None:
        raise UnknownToken(f"there is no token {token_id!r}; see: arbiter token list")
    return row


def _token(row: TokenRow) -> Token:
    return Token(
        id=row.id,
        owner=row.owner,
        scope=Scope(row.scope),
        digest=row.digest,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
