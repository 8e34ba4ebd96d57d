"""Ladders between submitted versions: who enters and who leaves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from arbiter.errors import UsageError
from arbiter.identity import Forbidden
from arbiter.packages import Versions as Contents
from arbiter.store import FINISHED, AuditEntry, Entrant, Request, Scope, Store, Token, Tournament, Version
from arbiter.tournament.ladder import find_ladder, owner_of
from arbiter.tournament.leaderboard import find_entrant
from arbiter.tournament.naming import active_version, bot_name
from arbiter.tournament.planning import entrant_of
from arbiter.tournament.preparing import prepare


class LadderHosting:
    """What contestants may do with a ladder. Methods may be called from several threads.

    Args:
        store: where plans and versions are.
        contents: where the content of versions is.
    """

    def __init__(self, store: Store, contents: Contents) -> None:
        self._store: Final = store
        self._contents: Final = contents

    def enter(self, token: Token, named: str, ladder: str = "", request_id: str = "") -> tuple[Tournament, Entrant]:
        """Enter a version in the place of an earlier one of the same bot; entered again, it is back, but not by the
        same request.

        Raises:
            Forbidden: it is somebody else's.
            UsageError: it is not active, there is no such ladder, or it is over.
        """
        found, now = self._open(ladder), datetime.now(UTC)
        request = Request(token.owner, request_id, "ladder.enter", f"{found.id} {named}")
        prepared = prepare(self._store, request, lambda: self._own(token, named))
        if prepared is not None:
            with self._store.once(request, now) as part:
                if part is not None:
                    version, entrant = prepared
                    part.enter(found.id, entrant, leaving=_elder(part.entrants(found.id), version))
                    _note(part, token, "ladder.enter", found.id, version.name)
        return found, find_entrant(self._store.entrants(found.id), named)

    def _own(self, token: Token, named: str) -> tuple[Version, Entrant]:
        """A version of the caller's own, and as what it enters."""
        version = active_version(self._store, named)
        _check_owner(token, version.submission.owner)
        return version, entrant_of(0, version, self._contents)

    def leave(self, token: Token, named: str, ladder: str = "", request_id: str = "") -> tuple[Tournament, Entrant]:
        """Take a version off the ladder; its results and its rating stay. Raises likewise."""
        found = self._open(ladder)
        entrant = find_entrant(self._store.entrants(found.id), named)
        _check_owner(token, owner_of(entrant))
        now = datetime.now(UTC)
        with self._store.once(
            Request(token.owner, request_id, "ladder.leave", f"{found.id} {entrant.name}"), now
        ) as part:
            if part is not None:
                part.leave(found.id, entrant.index)
                _note(part, token, "ladder.leave", found.id, entrant.name)
        return found, entrant

    def _open(self, ladder: str) -> Tournament:
        found = find_ladder(self._store, ladder)
        if found.state in FINISHED:
            raise UsageError(f"ladder {found.id} is {found.state}; its results can still be seen")
        return found


def _elder(entrants: Sequence[Entrant], version: Version) -> list[int]:
    """Those in whose place a version comes."""
    return [
        entrant.index
        for entrant in entrants
        if bot_name(entrant.name) == version.submission.bot and entrant.gone is None
    ]


def _note(store: Store, token: Token, action: str, ladder: str, version: str) -> None:
    store.accounts.note(AuditEntry(datetime.now(UTC), token.id, token.owner, action, ladder, version))


def _check_owner(token: Token, owner: str) -> None:
    if token.scope is not Scope.HOST and token.owner != owner:
        raise Forbidden("the version is another contestant's; only its owner and the host may do that")
