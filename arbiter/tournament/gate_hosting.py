"""Gates between submitted versions: made on a contestant's request, and cancelled."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any, Final

from arbiter.deals import sides_per_match
from arbiter.engine import EngineError, read_rules
from arbiter.identity import Forbidden
from arbiter.match import MatchFormat
from arbiter.packages import Versions as Contents
from arbiter.store import (
    AuditEntry,
    Entrant,
    InvalidPlan,
    NameTaken,
    Quota,
    Request,
    Scope,
    Store,
    Token,
    Tournament,
    TournamentState,
    UnknownTournament,
    Version,
    check_request_id,
)
from arbiter.tournament.gate_planning import CANDIDATE, plan_gate
from arbiter.tournament.gate_request import NAME, GateBot, GateRequest, gate_spec
from arbiter.tournament.gate_terms import Form, Mode, Unit
from arbiter.tournament.ladder_top import ladder_top
from arbiter.tournament.naming import HOST_OWNER, active_version, read_ladder_top
from arbiter.tournament.planning import entrant_of
from arbiter.tournament.spec import SpecError, TournamentSpec

OPPONENTS: Final = ("ladder-top:3",)
"""Who sits at the table when nobody is named."""

MAX_BOARDS: Final = 20_000
"""Boards of the largest gate."""

MAX_SITTINGS: Final = 20_000
"""Sittings of the largest gate: they are written in one transaction, and others' leases wait for that."""

MAX_OPPONENTS: Final = 24


@dataclass(frozen=True, slots=True)
class GateOrder:
    """A gate as a contestant asks for it: versions by their names.

    Attributes:
        candidate: such as ``mybot@7``.
        baseline: likewise, or ``mybot@latest``.
        opponents: likewise, or ``ladder-top:6``; none for the usual ones.
        rules: a named rule set.
        match: a ``[match]`` table; ``boards`` are those of one group of opponents in a block.
        max_boards: boards after which there is no verdict.
        mode: as the others, see :class:`arbiter.tournament.gate_request.GateRequest`.
    """

    candidate: str
    baseline: str
    opponents: tuple[str, ...]
    rules: str
    match: dict[str, Any]
    max_boards: int
    mode: Mode
    form: Form
    unit: Unit
    alpha: float
    beta: float
    delta0: float | None
    delta1: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the same once it was kept as JSON."""
        return {**asdict(self), "opponents": list(self.opponents)}


class GateHosting:
    """What contestants may do with gates. Methods may be called from several threads.

    Args:
        store: where plans and versions are.
        contents: where the content of versions is.
        quota: what an owner may have played.
    """

    def __init__(self, store: Store, contents: Contents, quota: Quota | None = None) -> None:
        self._store: Final = store
        self._contents: Final = contents
        self._quota: Final = quota or Quota()

    def create(self, token: Token, order: GateOrder, request_id: str) -> Tournament:
        """Make a gate and let it be played; the same request makes no second one.

        Raises:
            UsageError: the order asks for something impossible; says why.
            NameTaken: the request id has made a gate of another order.
            Forbidden: the candidate is somebody else's.
            QuotaExceeded: the candidate's owner has as many gates as may be.
        """
        check_request_id(request_id)
        gate = f"{NAME}-{hashlib.sha256(f'{token.owner}/{request_id}'.encode()).hexdigest()[:12]}"
        try:
            return self._again(gate, order)
        except UnknownTournament:
            pass
        candidate = active_version(self._store, order.candidate)
        owner = candidate.submission.owner
        _check_owner(token, owner)
        self._store.gates.check(owner, self._quota, datetime.now(UTC))  # before anything is worked out
        baseline = active_version(self._store, order.baseline, but={candidate.built})
        spec, versions = self._spec(order, candidate, baseline)
        assert spec.gate is not None
        if not 1 <= order.max_boards <= MAX_BOARDS:
            raise SpecError(f"max_boards: is {order.max_boards}; write 1 to {MAX_BOARDS}")
        entrants = self._entrants(spec, versions)
        blocks = order.max_boards // (spec.boards * spec.gate.tables)
        sittings = blocks * spec.gate.matches_per_block * spec.seatings.sittings(spec.rules)
        if sittings > MAX_SITTINGS:
            raise SpecError(
                f"max_boards: would take {sittings} sittings, of which {MAX_SITTINGS} are the most; write a smaller"
                " number, or larger blocks (block_boards)"
            )
        now = datetime.now(UTC)
        tournament, matches = plan_gate(gate, spec, entrants, blocks, now)
        kept = {**tournament.spec, "order": order.to_dict()}
        tournament = replace(tournament, state=TournamentState.RUNNING, spec=kept)
        sittings_each = spec.seatings.sittings(spec.rules)
        try:
            with self._store.together() as part:
                part.gates.create(tournament, entrants, matches, sittings_each, owner=owner, quota=self._quota)
                _note(part, token, "gate.create", gate)
        except InvalidPlan as error:
            try:  # the same request, sent twice at once, was quicker
                return self._again(gate, order)
            except UnknownTournament:
                raise error from None
        return tournament

    def cancel(self, token: Token, gate: str, request_id: str = "") -> None:
        """End a gate for good; the same request id again changes nothing.

        Raises:
            TransitionRefused: it is over.
            Forbidden: it is somebody else's.
            UnknownTournament: it is no gate.
        """
        _check_owner(token, self.owner(gate))
        now = datetime.now(UTC)
        with self._store.once(Request(token.owner, request_id, "gate.cancel", gate), now) as part:
            if part is not None:
                part.set_state(gate, TournamentState.CANCELLED, now=now)
                _note(part, token, "gate.cancel", gate)

    def owner(self, gate: str) -> str:
        """Whose gate it is: the candidate's owner; raises `UnknownTournament` when it is none."""
        if TournamentSpec.from_dict(self._store.tournament(gate).spec).gate is None:
            raise UnknownTournament(f"{gate} is a tournament and no gate")
        return str(self._store.entrants(gate)[CANDIDATE].manifest.get("owner", ""))

    def _again(self, gate: str, order: GateOrder) -> Tournament:
        """The gate that a request has made already, whatever became of it and of the versions that it names.

        Raises:
            UnknownTournament: it has made none.
            NameTaken: it came with another order, whose answer would be that to another question.
        """
        earlier = self._store.tournament(gate)
        if earlier.spec.get("order") != order.to_dict():
            raise NameTaken(f"this request id has made {gate} of another order; choose a new one")
        return earlier

    def _spec(self, order: GateOrder, candidate: Version, baseline: Version) -> tuple[TournamentSpec, list[Version]]:
        """The spec, and the versions of candidate, baseline and opponents."""
        opponents = self._opponents(order, candidate, baseline)
        versions = [candidate, baseline, *opponents]
        bots = [GateBot(self._contents.open(version.built), version.name) for version in versions]
        request = GateRequest(
            candidate=bots[0],
            baseline=bots[1],
            opponents=tuple(bots[2:]),
            rules={"name": order.rules},
            match=order.match,
            mode=order.mode,
            form=order.form,
            unit=order.unit,
            alpha=order.alpha,
            beta=order.beta,
            delta0=order.delta0,
            delta1=order.delta1,
        )
        return gate_spec(request), versions

    def _opponents(self, order: GateOrder, candidate: Version, baseline: Version) -> list[Version]:
        owner = candidate.submission.owner
        found: list[Version] = []
        for text in order.opponents or OPPONENTS:
            count = read_ladder_top(text)
            if count is None:
                found.append(active_version(self._store, text))
                continue
            try:
                _, rules = read_rules({"name": order.rules})
            except EngineError as error:
                raise SpecError(str(error)) from error
            match_format = MatchFormat(order.match.get("format", MatchFormat.HANDS.value))
            names = {version.submission.bot for version in (candidate, baseline)}
            best = ladder_top(
                self._store, self._contents, rules, match_format, count, but=names, not_of={owner} - {HOST_OWNER}
            )
            found += [active_version(self._store, str(bot.name)) for bot in best]
        for version in found:
            # Whoever owns both could let the one help the other, and what they play counts for ratings.
            if version.submission.owner == owner != HOST_OWNER:
                raise SpecError(f"opponents: {version.name} is the candidate's owner's too; name bots of others")
        if len(found) > MAX_OPPONENTS:
            raise SpecError(f"opponents: are {len(found)}; name {MAX_OPPONENTS} at the most")
        return found

    def _entrants(self, spec: TournamentSpec, versions: Sequence[Version]) -> list[Entrant]:
        """The entrants of a spec that :func:`gate_spec` made of these versions: each once for every partner, too few
        opponents several times."""
        partners = spec.rules.players // sides_per_match(spec.rules)
        sides = [*versions[:2], *islice(cycle(versions[2:]), len(spec.entrants) // partners - 2)]
        return [
            entrant_of(index, sides[index // partners], self._contents, entrant.name)
            for index, entrant in enumerate(spec.entrants)
        ]


def _note(store: Store, token: Token, action: str, gate: str) -> None:
    store.accounts.note(AuditEntry(datetime.now(UTC), token.id, token.owner, action, gate))


def _check_owner(token: Token, owner: str) -> None:
    if token.scope is not Scope.HOST and token.owner != owner:
        raise Forbidden("the candidate is another contestant's; only its owner and the host may do that")
