"""Ids that callers gave to their requests, so that the same one sent twice is done once (https://google.aip.dev/155)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import delete

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


class Requests:
    """All requests with an id that were done. Every method is one transaction; raises `StoreError` when the database
    fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def once(
        self, owner: str, request_id: str, call: str, subject: str, change: Callable[[], object], now: datetime
    ) -> bool:
        """Do what a request asks for, unless the same one did so before; whether it was done now.

        Raises as `done` does, and what ``change`` raises.
        """
        request = (owner, request_id, call, subject)
        if self.done(*request):
            return False
        try:
            change()
        except UsageError:
            if self.done(*request):  # the same request, sent twice at once, was quicker
                return False
            raise
        self.note(*request, now)
        return True

    def done(self, owner: str, request_id: str, call: str, subject: str) -> bool:
        """Whether this request of this owner was done before; an empty id is none.

        Raises `NameTaken` when its id was another's, and `UsageError` when it has another form.
        """
        if not request_id:
            return False
        check_request_id(request_id)
        with self._database.read() as session:
            row = session.get(RequestRow, (owner, request_id))
        if row is not None and (row.call, row.subject) != (call, subject):
            raise NameTaken(f"request id {request_id!r} was used for {row.call} {row.subject}; choose a new one")
        return row is not None

    def note(self, owner: str, request_id: str, call: str, subject: str, now: datetime) -> None:
        """Remember that a request was done; a second time changes nothing, and so does an empty id."""
        check_aware(now)
        if not request_id:
            return
        with self._database.write() as session:
            self._database.take_turns(session, f"owner {owner}")
            if session.get(RequestRow, (owner, request_id)) is None:
                session.add(RequestRow(owner=owner, request_id=request_id, call=call, subject=subject, at=now))

    def forget(self, now: datetime) -> None:
        """Forget the requests that were done longer than `REMEMBERED` ago."""
        check_aware(now)
        with self._database.write() as session:
            session.execute(delete(RequestRow).where(RequestRow.at < now - REMEMBERED))
