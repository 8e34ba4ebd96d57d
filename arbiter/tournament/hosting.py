"""Tournaments between submitted versions: made from a text and the registry, entered, started and cancelled from
afar."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, cast

from arbiter.engine import rule_set
from arbiter.errors import UsageError
from arbiter.identity import Forbidden
from arbiter.packages import Versions as Contents
from arbiter.store import (
    AuditEntry,
    Entrant,
    Entry,
    EntryRefused,
    InvalidPlan,
    Scope,
    Store,
    Token,
    Tournament,
    TournamentState,
    TransitionRefused,
    UnknownTournament,
    Version,
    VersionState,
    check_request_id,
)
from arbiter.tournament.drafts import EntryTerms, parse_draft, parse_entered, read_definition, read_terms
from arbiter.tournament.naming import active_version
from arbiter.tournament.planning import plan_tournament
from arbiter.tournament.spec import EntrantSpec, SpecError, TournamentSpec, parse_spec

_SIDE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


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
        data = read_definition(definition)
        terms = read_terms(data)
        spec = parse_spec(data, Path()) if terms is None else parse_draft(data, terms)
        tournament_id = f"{spec.name}-{hashlib.sha256(request_id.encode()).hexdigest()[:12]}"
        if terms is None:
            listed, kept = spec, spec.to_dict()
        else:
            listed = replace(spec, entrants=spec.entrants[: len(data.get("entrants", []))])
            kept = {**spec.to_dict(), "clocks": [], "sides": None, "definition": definition, "entry": asdict(terms)}
        entrants = self._entrants(listed)
        try:
            return self._again(tournament_id, spec, kept, entrants)
        except UnknownTournament:
            pass
        tournament, matches = plan_tournament(tournament_id, spec, entrants, datetime.now(UTC), draft=terms is not None)
        tournament = replace(tournament, spec=kept)
        try:
            sittings = spec.seatings.sittings(spec.rules)
            self._store.create_tournament(tournament, () if terms else entrants, matches, sittings)
        except InvalidPlan as error:
            try:  # the same request, sent twice at once, was quicker
                return self._again(tournament_id, spec, kept, entrants)
            except UnknownTournament:
                raise error from None
        self._note(token, "tournament.create", tournament_id)
        return tournament

    def enter(self, token: Token, tournament: str, bot: str, number: int | None, side: str) -> Tournament:
        """Enter a version of the caller's own, without a number the newest active one, in place of another of its bot.

        Raises:
            Forbidden: the version is another's.
            TransitionRefused: the tournament is no draft.
            EntryRefused: it can't enter; says why.
        """
        found = self._store.tournament(tournament)
        version = active_version(self._store, bot if number is None else f"{bot}@{number}")
        _check_owner(token, version)
        terms = _terms(found)
        spec = TournamentSpec.from_dict(found.spec)
        if all(rule_set(name) != spec.rules for name in version.tried):
            tried = ", ".join(version.tried) or "no rule set that is on record"
            raise EntryRefused(
                f"{version.name} was tried out in {tried}, but {tournament} is played under {spec.rules_name}; where"
                " the service tries versions out in that, submit it anew"
            )
        if bool(side) != (spec.rules.teams is not None):
            has = "has no teams, so give no side" if side else "has teams, so name a side"
            raise EntryRefused(f"{tournament} is played under {spec.rules_name}, which {has}")
        owner = version.submission.owner
        name = version.submission.bot
        entry = Entry(name, version.number, owner, _checked_side(side))
        listed = read_definition(str(found.spec["definition"])).get("entrants", [])
        if any(str(entrant.get("bot")).partition("@")[0] == name for entrant in listed):
            raise EntryRefused(f"{tournament} lists {name} among its entrants already")
        most = terms.limit - len(listed)
        self._store.entries.enter(tournament, entry, per_owner=terms.per_owner, limit=most, now=datetime.now(UTC))
        self._note(token, "tournament.enter", tournament, version.name)
        return found

    def withdraw(self, token: Token, tournament: str, bot: str) -> Tournament:
        """Take an entry of the caller's own back.

        Raises:
            Forbidden: it is another's.
            TransitionRefused: the tournament is no draft.
            EntryRefused: the bot has not entered it.
        """
        entry = next((entry for entry in self._store.entries.entries(tournament) if entry.bot == bot), None)
        if entry is not None and token.scope is not Scope.HOST and token.owner != entry.owner:
            raise Forbidden(f"the entry of {bot} is another contestant's; only its owner and the host may do that")
        self._store.entries.withdraw(tournament, bot, None if token.scope is Scope.HOST else token.owner)
        self._note(token, "tournament.withdraw", tournament, bot)
        return self._store.tournament(tournament)

    def schedule(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Close a draft: who has entered is fixed and planned, and nobody enters or leaves any more.

        Left out are entries whose version is not active any more, and sides that are not complete.

        Raises:
            TransitionRefused: it is no draft.
            SpecError: it can't be held with these entrants; says why.
        """
        return self._once(token, tournament, "schedule", request_id, lambda: self._close(tournament))

    def _close(self, tournament: str) -> Tournament:
        while True:
            found, entries = self._store.tournament(tournament), self._store.entries.entries(tournament)
            terms = _terms(found)
            definition = str(found.spec["definition"])
            spec = parse_entered(read_definition(definition), self._playing(entries, found))
            entrants = self._entrants(spec)
            spec = replace(spec, deal_seed=found.deal_seed)
            _, matches = plan_tournament(tournament, spec, entrants, found.created_at)
            kept: dict[str, object] = {**spec.to_dict(), "definition": definition, "entry": asdict(terms)}
            sittings = spec.seatings.sittings(spec.rules)
            closed = self._store.entries.close(tournament, kept, entries, entrants, matches, sittings)
            if closed is not None:
                return closed

    def _playing(self, entries: Sequence[Entry], tournament: Tournament) -> list[Entry]:
        """The entries that can play: their version is active, and their side complete."""
        rules = TournamentSpec.from_dict(tournament.spec).rules
        get = self._store.versions.get
        active = [each for each in entries if get(each.bot, each.version).state is VersionState.ACTIVE]
        if rules.teams is None:
            return active
        sizes = Counter(entry.side for entry in active)
        return [entry for entry in active if sizes[entry.side] == rules.players // len(rules.teams)]

    def start(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Let a tournament be played, a draft after closing it.

        Raises:
            TransitionRefused: it can't be.
            SpecError: it is a draft that can't be held with its entrants.
        """

        def begin() -> Tournament:
            if self._store.tournament(tournament).state is TournamentState.DRAFT:
                self._close(tournament)
            return self._moved(tournament, TournamentState.RUNNING)

        return self._once(token, tournament, "start", request_id, begin)

    def pause(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Stop the play: what is being played is ended and played again later, which is held against nobody.

        Raises:
            TransitionRefused: it is not running.
        """
        pause = partial(self._moved, tournament, TournamentState.PAUSED)
        return self._once(token, tournament, "pause", request_id, pause)

    def resume(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Go on with a tournament that is paused; raises `TransitionRefused` when it is not."""

        def go_on() -> Tournament:
            state = self._store.tournament(tournament).state
            if state is not TournamentState.PAUSED:
                raise TransitionRefused(f"tournament {tournament!r} is {state}; only one that is paused can be resumed")
            return self._moved(tournament, TournamentState.RUNNING)

        return self._once(token, tournament, "resume", request_id, go_on)

    def cancel(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """End a tournament for good, at once; raises `TransitionRefused` when it is over."""
        cancel = partial(self._moved, tournament, TournamentState.CANCELLED)
        return self._once(token, tournament, "cancel", request_id, cancel)

    def _once(
        self, token: Token, tournament: str, action: str, request_id: str, change: Callable[[], Tournament]
    ) -> Tournament:
        """Change a tournament, unless the same request did so before; returns it as it is then."""
        request = (token.owner, request_id, f"tournament.{action}", tournament)
        if self._store.requests.done(*request):
            return self._store.tournament(tournament)
        changed = change()
        self._store.requests.note(*request, datetime.now(UTC))
        self._note(token, f"tournament.{action}", tournament)
        return changed

    def _moved(self, tournament: str, state: TournamentState) -> Tournament:
        return self._store.set_state(tournament, state, now=datetime.now(UTC))

    def _again(
        self, tournament_id: str, spec: TournamentSpec, kept: dict[str, object], entrants: list[Entrant]
    ) -> Tournament:
        earlier = self._store.tournament(tournament_id)
        if "definition" in earlier.spec and earlier.spec["definition"] == kept.get("definition"):
            return earlier
        held = [(entrant.name, entrant.digest) for entrant in self._store.entrants(tournament_id)]
        wanted = [(entrant.name, entrant.digest) for entrant in entrants]
        if (earlier.spec, held) != (kept, wanted) or spec.deal_seed not in (None, earlier.deal_seed):
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

    def _note(self, token: Token, action: str, tournament: str, detail: str = "") -> None:
        now = datetime.now(UTC)
        self._store.accounts.note(AuditEntry(now, token.id, token.owner, action, tournament, detail))


def _terms(tournament: Tournament) -> EntryTerms:
    if tournament.state is not TournamentState.DRAFT:
        raise TransitionRefused(
            f"tournament {tournament.id!r} is {tournament.state}; only a draft is entered and closed"
        )
    entry = cast("dict[str, int]", tournament.spec["entry"])
    return EntryTerms(**entry)


def _check_owner(token: Token, version: Version) -> None:
    if token.scope is not Scope.HOST and token.owner != version.submission.owner:
        raise Forbidden(f"{version.name} is another contestant's; only its owner and the host may enter it")


def _checked_side(side: str) -> str:
    if side and not _SIDE.fullmatch(side):
        raise EntryRefused(f"side {side!r}: write letters, digits, '_', '.' and '-', 40 at the most")
    return side
