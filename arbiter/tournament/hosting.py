"""Tournaments between submitted versions: made from a text and the registry, entered, started and cancelled from
afar."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

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
    NameTaken,
    Request,
    Scope,
    Store,
    Token,
    Tournament,
    TournamentState,
    TransitionRefused,
    UnknownTournament,
    Version,
    check_request_id,
)
from arbiter.tournament.closing import DraftChanged, DraftPlan, plan_draft
from arbiter.tournament.drafts import draft_terms, listed_in, parse_draft, partners_of, read_definition, read_terms
from arbiter.tournament.naming import active_version, bot_name
from arbiter.tournament.planning import entrant_of, plan_tournament
from arbiter.tournament.preparing import prepare
from arbiter.tournament.spec import EntrantSpec, SpecError, TournamentSpec, parse_spec

_SIDE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


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
            UsageError: the request id has another form.
            NameTaken: it has made a tournament from another file.
        """
        check_request_id(request_id)
        data = read_definition(definition)
        terms = read_terms(data)
        spec = parse_spec(data, Path()) if terms is None else parse_draft(data, terms)
        tournament_id = f"{spec.name}-{hashlib.sha256(request_id.encode()).hexdigest()[:12]}"
        if (earlier := self._made(tournament_id, definition)) is not None:
            return earlier
        kept: dict[str, object] = {**spec.to_dict(), "definition": definition}
        listed = spec
        if terms is not None:
            listed = replace(spec, entrants=spec.entrants[: len(data.get("entrants", []))])
            kept |= {"clocks": [], "sides": None, "entry": asdict(terms)}
        entrants = self._entrants(listed)
        tournament, matches = plan_tournament(tournament_id, spec, entrants, datetime.now(UTC), draft=terms is not None)
        tournament = replace(tournament, spec=kept)
        try:
            sittings = spec.seatings.sittings(spec.rules)
            with self._store.together() as part:
                part.create_tournament(tournament, () if terms else entrants, matches, sittings)
                _note(part, token, "tournament.create", tournament_id)
        except InvalidPlan:
            earlier = self._made(tournament_id, definition)  # the same request, sent twice at once, was quicker
            if earlier is None:
                raise
            return earlier
        return tournament

    def enter(
        self, token: Token, tournament: str, bot: str, number: int | None, side: str, request_id: str = ""
    ) -> tuple[Tournament, str]:
        """Enter a version of the caller's own, without a number the newest active one, in place of another of its bot.

        Returns:
            The tournament, and the name of the version; empty when it was entered by the same request before, and has
            been withdrawn since.

        Raises:
            Forbidden: the version is another's.
            TransitionRefused: the tournament is no draft.
            EntryRefused: it can't enter; says why.
        """
        named = bot if number is None else f"{bot}@{number}"
        subject = " ".join((tournament, named, side)).rstrip()
        request = Request(token.owner, request_id, "tournament.enter", subject)
        with self._store.once(request, datetime.now(UTC)) as part:
            if part is not None:
                _enter(part, token, tournament, named, side)
        entries = self._store.entries.entries(tournament)
        entered = (f"{entry.bot}@{entry.version}" for entry in entries if entry.bot == bot_name(named))
        return self._store.tournament(tournament), next(entered, "")

    def withdraw(self, token: Token, tournament: str, bot: str, request_id: str = "") -> Tournament:
        """Take an entry of the caller's own back.

        Raises:
            Forbidden: it is another's.
            TransitionRefused: the tournament is no draft.
            EntryRefused: the bot has not entered it.
        """
        request = Request(token.owner, request_id, "tournament.withdraw", f"{tournament} {bot}")
        with self._store.once(request, datetime.now(UTC)) as part:
            if part is not None:
                _withdraw(part, token, tournament, bot)
        return self._store.tournament(tournament)

    def schedule(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Close a draft: who has entered is fixed and planned, and nobody enters or leaves any more.

        Left out, with a line in the audit log, are those whose version is not active any more, listed or entered, and
        sides that are not complete.

        Raises:
            TransitionRefused: it is no draft.
            SpecError: it can't be held with these entrants; says why.
        """
        return self._close(token, Request(token.owner, request_id, "tournament.schedule", tournament))

    def _close(self, token: Token, request: Request, *, then: TournamentState | None = None) -> Tournament:
        """Close a draft and let it be in a further state then; returns the tournament as it is afterwards."""
        tournament = request.subject
        while plan := prepare(self._store, request, lambda: plan_draft(self._store, self._contents, tournament)):
            with suppress(DraftChanged):
                self._write(token, request, plan, then)
                break
        return self._store.tournament(tournament)

    def _write(self, token: Token, request: Request, plan: DraftPlan, then: TournamentState | None) -> None:
        with self._once(token, request) as part:
            if part is None:
                return
            plan.write(part)
            for each in plan.left_out:
                _note(part, token, "tournament.leave_out", plan.tournament, f"{each.name}: {each.reason}")
            if then is not None:
                part.set_state(plan.tournament, then, now=datetime.now(UTC))

    def start(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Let a tournament be played, a draft after closing it.

        Raises:
            TransitionRefused: it can't be.
            SpecError: it is a draft that can't be held with its entrants.
        """
        request = Request(token.owner, request_id, "tournament.start", tournament)
        if self._store.tournament(tournament).state is TournamentState.DRAFT:
            # Who else closes it at the same time has not started it yet.
            with suppress(TransitionRefused):
                return self._close(token, request, then=TournamentState.RUNNING)
        return self._move(token, request, TournamentState.RUNNING)

    def pause(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Stop the play: what is being played is ended and played again later, which is held against nobody.

        Raises:
            TransitionRefused: it is not running.
        """
        request = Request(token.owner, request_id, "tournament.pause", tournament)
        return self._move(token, request, TournamentState.PAUSED)

    def resume(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """Go on with a tournament that is paused; raises `TransitionRefused` when it is not."""
        request = Request(token.owner, request_id, "tournament.resume", tournament)
        return self._move(token, request, TournamentState.RUNNING, only_from=TournamentState.PAUSED)

    def cancel(self, token: Token, tournament: str, request_id: str = "") -> Tournament:
        """End a tournament for good, at once; raises `TransitionRefused` when it is over."""
        request = Request(token.owner, request_id, "tournament.cancel", tournament)
        return self._move(token, request, TournamentState.CANCELLED)

    def _move(
        self, token: Token, request: Request, state: TournamentState, *, only_from: TournamentState | None = None
    ) -> Tournament:
        """Change a tournament's state, unless the same request did so before; returns it as it is then."""
        with self._once(token, request) as part:
            if part is not None:
                part.set_state(request.subject, state, now=datetime.now(UTC), only_from=only_from)
        return self._store.tournament(request.subject)

    @contextmanager
    def _once(self, token: Token, request: Request) -> Iterator[Store | None]:
        """`Store.once`, with a line in the audit log."""
        with self._store.once(request, datetime.now(UTC)) as part:
            yield part
            if part is not None:
                _note(part, token, request.call, request.subject)

    def _made(self, tournament_id: str, definition: str) -> Tournament | None:
        """What an earlier request of this id made, whatever became of it and of those that its file lists.

        Raises:
            NameTaken: it came with another file.
        """
        try:
            earlier = self._store.tournament(tournament_id)
        except UnknownTournament:
            return None
        if earlier.spec.get("definition") != definition:
            raise NameTaken(f"this request id has made {tournament_id} from another file; choose a new one")
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


def _enter(store: Store, token: Token, tournament: str, named: str, side: str) -> None:
    found = store.tournament(tournament)
    version = active_version(store, named)
    _check_owner(token, version)
    terms = draft_terms(found)
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
    listed = listed_in(found)
    if any(bot_name(str(entrant.get("bot"))) == name for entrant in listed):
        raise EntryRefused(f"{tournament} lists {name} among its entrants already")
    if side and any(entrant.get("side") == side for entrant in listed):
        raise EntryRefused(f"side {side!r} is listed by {tournament} itself; choose another name")
    store.entries.enter(
        tournament,
        entry,
        per_owner=terms.per_owner,
        per_side=partners_of(spec.rules),
        limit=terms.limit - len(listed),
        now=datetime.now(UTC),
    )
    _note(store, token, "tournament.enter", tournament, version.name)


def _withdraw(store: Store, token: Token, tournament: str, bot: str) -> None:
    entry = next((entry for entry in store.entries.entries(tournament) if entry.bot == bot), None)
    if entry is not None and token.scope is not Scope.HOST and token.owner != entry.owner:
        raise Forbidden(f"the entry of {bot} is another contestant's; only its owner and the host may do that")
    store.entries.withdraw(tournament, bot, None if token.scope is Scope.HOST else token.owner)
    _note(store, token, "tournament.withdraw", tournament, bot)


def _note(store: Store, token: Token, action: str, tournament: str, detail: str = "") -> None:
    now = datetime.now(UTC)
    store.accounts.note(AuditEntry(now, token.id, token.owner, action, tournament, detail))


def _check_owner(token: Token, version: Version) -> None:
    if token.scope is not Scope.HOST and token.owner != version.submission.owner:
        raise Forbidden(f"{version.name} is another contestant's; only its owner and the host may enter it")


def _checked_side(side: str) -> str:
    if side and not _SIDE.fullmatch(side):
        raise EntryRefused(f"side {side!r}: write letters, digits, '_', '.' and '-', 40 at the most")
    return side
