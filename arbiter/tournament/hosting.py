"""Tournaments between submitted versions: made from a text and the registry, started and cancelled from afar."""

from __future__ import annotations

import hashlib
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from arbiter.errors import UsageError
from arbiter.packages import Versions as Contents
from arbiter.store import (
    AuditEntry,
    Entrant,
    InvalidPlan,
    Store,
    Token,
    Tournament,
    TournamentState,
    TransitionRefused,
    UnknownTournament,
    Version,
)
from arbiter.tournament.naming import active_version
from arbiter.tournament.planning import plan_tournament
from arbiter.tournament.spec import EntrantSpec, SpecError, TournamentSpec, parse_spec

MAX_DEFINITION: Final = 256 * 1024
"""Largest tournament file, in bytes."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_request_id(request_id: str) -> None:
    """Return when a request id has its form, else raise `UsageError`."""
    if not _REQUEST_ID.fullmatch(request_id):
        raise UsageError(f"request_id {request_id!r}: write 1 to 64 letters, digits, hyphens and underscores")


def entrant_of(index: int, version: Version, contents: Contents, name: str | None = None) -> Entrant:
    """A version as an entrant, under its own or another name; raises `VersionMissing` when its content is gone."""
    contents.open(version.built)  # said now, and not in the middle of the tournament
    manifest = {**version.submission.manifest, "owner": version.submission.owner}
    return Entrant(index, name or version.name, version.built, manifest)


class Hosting:
    """What a host may do. Methods may be called from several threads.

    Args:
        store: where plans and versions are.
        contents: where the content of versions is.
    """

    def __init__(self, store: Store, contents: Contents) -> None:
        self._store: Final = store
        self._contents: Final = contents

    def create(self, token: Token, definition: str, request_id: str) -> Tournament:
        """Make a tournament from a tournament file whose entrants name versions; the same request makes no second one.

        Raises:
            SpecError: the file asks for something impossible, or an entrant can't be scheduled; says why.
            UsageError: the request id has another form, or made another tournament.
        """
        check_request_id(request_id)
        if len(definition.encode()) > MAX_DEFINITION:
            raise SpecError(f"definition: has more than {MAX_DEFINITION} bytes; that is no tournament file")
        try:
            spec = parse_spec(tomllib.loads(definition), Path())
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"definition: is no TOML: {error}") from error
        tournament_id = f"{spec.name}-{hashlib.sha256(request_id.encode()).hexdigest()[:12]}"
        entrants = self._entrants(spec)
        try:
            return self._again(tournament_id, spec, entrants)
        except UnknownTournament:
            pass
        now = datetime.now(UTC)
        tournament, matches = plan_tournament(tournament_id, spec, entrants, now)
        try:
            self._store.create_tournament(tournament, entrants, matches, spec.seatings.sittings(spec.rules))
        except InvalidPlan as error:
            try:  # the same request, sent twice at once, was quicker
                return self._again(tournament_id, spec, entrants)
            except UnknownTournament:
                raise error from None
        self._note(token, "tournament.create", tournament_id)
        return tournament

    def start(self, token: Token, tournament: str) -> Tournament:
        """Let a tournament be played; raises `TransitionRefused` when it can't be."""
        return self._move(token, tournament, TournamentState.RUNNING, "start")

    def pause(self, token: Token, tournament: str) -> Tournament:
        """Stop the play: what is being played is ended and played again later, which is held against nobody.

        Raises:
            TransitionRefused: it is not running.
        """
        return self._move(token, tournament, TournamentState.PAUSED, "pause")

    def resume(self, token: Token, tournament: str) -> Tournament:
        """Go on with a tournament that is paused; raises `TransitionRefused` when it is not."""
        state = self._store.tournament(tournament).state
        if state is not TournamentState.PAUSED:
            raise TransitionRefused(f"tournament {tournament!r} is {state}; only one that is paused can be resumed")
        return self._move(token, tournament, TournamentState.RUNNING, "resume")

    def cancel(self, token: Token, tournament: str) -> Tournament:
        """End a tournament for good, at once; raises `TransitionRefused` when it is over."""
        return self._move(token, tournament, TournamentState.CANCELLED, "cancel")

    def _move(self, token: Token, tournament: str, state: TournamentState, action: str) -> Tournament:
        moved = self._store.set_state(tournament, state, now=datetime.now(UTC))
        self._note(token, f"tournament.{action}", tournament)
        return moved

    def _again(self, tournament_id: str, spec: TournamentSpec, entrants: list[Entrant]) -> Tournament:
        earlier = self._store.tournament(tournament_id)
        held = [(entrant.name, entrant.digest) for entrant in self._store.entrants(tournament_id)]
        wanted = [(entrant.name, entrant.digest) for entrant in entrants]
        if (earlier.spec, held) != (spec.to_dict(), wanted) or spec.deal_seed not in (None, earlier.deal_seed):
            raise UsageError(f"this request id has made {tournament_id} from another file; choose a new one")
        return earlier

    def _entrants(self, spec: TournamentSpec) -> list[Entrant]:
        found: list[Entrant] = []
        for index, entrant in enumerate(spec.entrants):
            try:
                made = self._entrant(index, entrant)
            except SpecError:
                raise
            except UsageError as error:
                raise SpecError(f"entrants.{index + 1}.bot: {error}") from error
            twin = next((other for other in found if other.name == made.name), None)
            if twin is not None:
                raise SpecError(
                    f"entrants.{index + 1}: {made.name!r} is entrant {twin.index + 1} already; give it a name"
                )
            found.append(made)
        return found

    def _entrant(self, index: int, entrant: EntrantSpec) -> Entrant:
        version = active_version(self._store, str(entrant.folder))
        return entrant_of(index, version, self._contents, entrant.name)

    def _note(self, token: Token, action: str, tournament: str) -> None:
        now = datetime.now(UTC)
        self._store.accounts.note(AuditEntry(now, token.id, token.owner, action, tournament))
