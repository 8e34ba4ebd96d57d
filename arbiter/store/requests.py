"""Ids that callers gave to their requests, so that the same one sent twice is done once (https://google.aip.dev/155)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from arbiter.errors import UsageError
from arbiter.store.database import Database
from arbiter.store.errors import NameTaken
from arbiter.store.records import check_aware
from arbiter.store.tables import RequestRow

REMEMBERED = timedelta(days=30)
"""How long an id is known."""


_FORM = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_request_id(request_id: str) -> None:
    """Return when an id has the form of one; raises `UsageError`."""
    if not _FORM.fullmatch(request_id):
        raise UsageError(f"request_id {request_id!r}: write 1 to 64 letters, digits, hyphens and underscores")


@dataclass(frozen=True, slots=True)
class Request:
    """A call that changes something.

    Attributes:
        owner: Who calls.
        id: Chosen by the caller; empty for none, which makes every call another one.
        call: What is called.
        subject: What it is to change.
    """

    owner: str
    id: str
    call: str
    subject: str


class Requests:
    """All requests with an id that were done. Every method is one transaction; raises `StoreError` when the database
    fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def done(self, request: Request) -> bool:
        """Whether this request was done before.

        Raises `NameTaken` when its id was another's, and `UsageError` when it has another form.
        """
        with self._database.read() as session:
            return _done(session, request)

    def begin(self, request: Request) -> bool:
        """Let nobody else do the same request until the end of the transaction; False when it was done before.

        The same request, sent twice at once, waits here until it is known what became of the first. Raises as `done`
        does.
        """
        if not request.id:
            return True
        with self._database.write() as session:
            self._database.take_turns(session, f"request {request.owner} {request.id}")
            return not _done(session, request)

    def note(self, request: Request, now: datetime) -> None:
        """Remember that a request is done, once it was begun in the same transaction; see `Store.once`."""
        check_aware(now)
        if not request.id:
            return
        with self._database.write() as session:
            session.add(
                RequestRow(
                    owner=request.owner, request_id=request.id, call=request.call, subject=request.subject, at=now
                )
            )

    def forget(self, now: datetime) -> None:
        """Forget the requests that were done longer than `REMEMBERED` ago."""
        check_aware(now)
        with self._database.write() as session:
            session.execute(delete(RequestRow).where(RequestRow.at < now - REMEMBERED))


def _done(session: Session, request: Request) -> bool:
    if not request.id:
        return False
    check_request_id(request.id)
    row = session.get(RequestRow, (request.owner, request.id))
    if row is not None and (row.call, row.subject) != (request.call, request.subject):
        raise NameTaken(f"request id {request.id!r} was used for {row.call} {row.subject}; choose a new one")
    return row is not None
