"""Tournaments as they are planned: writing a plan, reading it, and moving through its life cycle."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from arbiter.store.database import survey
from arbiter.store.errors import InvalidPlan, TransitionRefused, UnknownTournament
from arbiter.store.records import (
    FINISHED,
    TRANSITIONS,
    Entrant,
    Match,
    SittingState,
    Tournament,
    TournamentState,
)
from arbiter.store.tables import EntrantRow, MatchEntrantRow, MatchRow, SittingRow, TournamentRow

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_IDS_IN_A_MESSAGE = 10
_MANY_SITTINGS = 100


def create(
    session: Session,
    tournament: Tournament,
    entrants: Sequence[Entrant],
    matches: Sequence[Match],
    sittings_per_match: int,
) -> None:
    """Write a whole plan; raises `InvalidPlan` when its parts do not fit together or the id is taken."""
    _check(tournament, entrants, matches, sittings_per_match)
    refuse_taken(session, tournament.id)
    session.add(
        TournamentRow(
            id=tournament.id,
            name=tournament.name,
            state=tournament.state,
            spec=tournament.spec,
            deal_seed=tournament.deal_seed,
            created_at=tournament.created_at,
            finished_at=tournament.finished_at,
            failure=tournament.failure,
        )
    )
    session.flush()
    _insert_entrants(session, tournament.id, entrants)
    _insert_matches(session, tournament.id, matches, sittings_per_match)


def refuse_taken(session: Session, tournament: str) -> None:
    """Return when there is no tournament of this id; raises `InvalidPlan`."""
    if session.get(TournamentRow, tournament) is not None:
        raise InvalidPlan(f"there is a tournament {tournament!r} already; choose another id")


def complete(
    session: Session,
    row: TournamentRow,
    spec: dict[str, object],
    entrants: Sequence[Entrant],
    matches: Sequence[Match],
    sittings_per_match: int,
) -> Tournament:
    """Make a plan of a draft, and schedule it; raises `InvalidPlan` when the parts do not fit together."""
    _move(row, TournamentState.SCHEDULED)
    row.spec = spec
    planned = _tournament(row)
    _check(planned, entrants, matches, sittings_per_match)
    _insert_entrants(session, row.id, entrants)
    _insert_matches(session, row.id, matches, sittings_per_match)
    return planned


def locked(session: Session, tournament: str) -> TournamentRow:
    """A tournament's row, locked until the transaction's end; raises `UnknownTournament`."""
    row = session.get(TournamentRow, tournament, with_for_update=True)
    if row is None:
        raise UnknownTournament(f"there is no tournament {tournament!r}; {_choice(_ids(session))}")
    return row


def extend(session: Session, tournament: str, matches: Sequence[Match], sittings_per_match: int) -> bool:
    """Add the matches that come next; False, and nothing is changed, when others are there already or the tournament
    is not running. Raises `UnknownTournament` or `InvalidPlan`."""
    row = locked(session, tournament)
    planned = session.scalar(select(func.count()).where(MatchRow.tournament_id == tournament)) or 0
    entrants = session.scalar(select(func.count()).where(EntrantRow.tournament_id == tournament)) or 0
    if row.state is not TournamentState.RUNNING or (matches and matches[0].index < planned):
        return False
    _check_matches(f"tournament {tournament!r}", matches, sittings_per_match, first=planned, entrants=entrants)
    _insert_matches(session, tournament, matches, sittings_per_match)
    return True


def _insert_entrants(session: Session, tournament: str, entrants: Sequence[Entrant]) -> None:
    if entrants:
        session.execute(
            insert(EntrantRow),
            [
                {
                    "tournament_id": tournament,
                    "number": e.index,
                    "name": e.name,
                    "digest": e.digest,
                    "manifest": e.manifest,
                }
                for e in entrants
            ],
        )


def enter(session: Session, tournament: str, entrant: Entrant, leaving: Collection[int]) -> Entrant:
    """Let an entrant come, or come again, and others leave; the entrant as it then is. Raises `UnknownTournament` or
    `InvalidPlan`."""
    planned = _locked_plan(session, tournament)
    where = f"tournament {tournament!r}"
    rows = list(session.scalars(select(EntrantRow).where(EntrantRow.tournament_id == tournament)))
    for row in rows:
        if row.number in leaving and row.gone is None and row.name != entrant.name:
            row.gone = planned
    known = next((row for row in rows if row.name == entrant.name), None)
    if known is None:
        _check_json(entrant.manifest, f"{where}: the manifest of entrant {entrant.name!r}")
        known = EntrantRow(
            tournament_id=tournament,
            number=len(rows),
            name=entrant.name,
            digest=entrant.digest,
            manifest=entrant.manifest,
            joined=planned,
            gone=None,
        )
        session.add(known)
    elif known.digest != entrant.digest:
        raise InvalidPlan(f"{where}: entrant {entrant.name!r} is there with other files; give it another name")
    elif known.gone is not None:
        known.joined, known.gone = planned, None
    return _entrant(known)


def leave(session: Session, tournament: str, index: int) -> None:
    """Let an entrant leave; nothing when it has left. Raises `UnknownTournament` or `InvalidPlan`."""
    planned = _locked_plan(session, tournament)
    row = session.get(EntrantRow, (tournament, index))
    if row is None:
        raise InvalidPlan(f"tournament {tournament!r} has no entrant {index}")
    if row.gone is None:
        row.gone = planned


def _locked_plan(session: Session, tournament: str) -> int:
    """The number of planned matches, which no other caller changes before the end of the transaction."""
    row = session.get(TournamentRow, tournament, with_for_update=True)
    if row is None:
        raise UnknownTournament(f"there is no tournament {tournament!r}; {_choice(_ids(session))}")
    return session.scalar(select(func.count()).where(MatchRow.tournament_id == tournament)) or 0


def _entrant(row: EntrantRow) -> Entrant:
    return Entrant(row.number, row.name, row.digest, row.manifest, row.joined, row.gone)


def _insert_matches(session: Session, tournament: str, matches: Sequence[Match], sittings_per_match: int) -> None:
    of = {"tournament_id": tournament}
    rows: dict[type[MatchRow | MatchEntrantRow | SittingRow], list[dict[str, object]]] = {
        MatchRow: [
            of | {"number": m.index, "deal_seed": m.deal_seed, "commitment": m.commitment, "boards": m.boards}
            for m in matches
        ],
        MatchEntrantRow: [
            of | {"match_number": m.index, "position": position, "entrant_number": entrant}
            for m in matches
            for position, entrant in enumerate(m.entrants)
        ],
        SittingRow: [
            of
            | {
                "match_number": m.index,
                "number": number,
                "state": SittingState.PLANNED,
                "attempts": 0,
                "infrastructure": 0,
                "lost": 0,
            }
            for m in matches
            for number in range(sittings_per_match)
        ],
    }
    for table, values in rows.items():
        if values:
            session.execute(insert(table), values)
    if len(rows[SittingRow]) >= _MANY_SITTINGS:
        survey(session, [table.__tablename__ for table in rows])


def get(session: Session, tournament: str) -> Tournament:
    """The tournament with this id; raises `UnknownTournament`."""
    row = session.get(TournamentRow, tournament)
    if row is None:
        raise UnknownTournament(f"there is no tournament {tournament!r}; {_choice(_ids(session))}")
    return _tournament(row)


def find(session: Session, prefix: str) -> Tournament:
    """The tournament with this id, or else the only one whose id begins so; raises `UnknownTournament`."""
    ids = _ids(session)
    if prefix in ids:
        return get(session, prefix)
    fitting = [each for each in ids if each.startswith(prefix)]
    if not fitting:
        raise UnknownTournament(f"no tournament's id begins with {prefix!r}; {_choice(ids)}")
    if len(fitting) > 1:
        raise UnknownTournament(f"several tournaments' ids begin with {prefix!r}; {_choice(fitting)}")
    return get(session, fitting[0])


def all_tournaments(session: Session) -> list[Tournament]:
    """All tournaments, newest first."""
    return [_tournament(row) for row in session.scalars(select(TournamentRow).order_by(*_NEWEST_FIRST))]


def entrants_of(session: Session, tournament: str) -> list[Entrant]:
    """The entrants by index; raises `UnknownTournament`."""
    get(session, tournament)
    rows = session.scalars(select(EntrantRow).where(EntrantRow.tournament_id == tournament).order_by(EntrantRow.number))
    return [_entrant(row) for row in rows]


def matches_of(session: Session, tournament: str) -> list[Match]:
    """The matches in schedule order; raises `UnknownTournament`."""
    get(session, tournament)
    groups: dict[int, list[int]] = {}
    for number, entrant in session.execute(
        select(MatchEntrantRow.match_number, MatchEntrantRow.entrant_number)
        .where(MatchEntrantRow.tournament_id == tournament)
        .order_by(MatchEntrantRow.match_number, MatchEntrantRow.position)
    ):
        groups.setdefault(number, []).append(entrant)
    rows = session.scalars(select(MatchRow).where(MatchRow.tournament_id == tournament).order_by(MatchRow.number))
    return [Match(row.number, tuple(groups[row.number]), row.deal_seed, row.commitment, row.boards) for row in rows]


def set_state(
    session: Session,
    tournament: str,
    state: TournamentState,
    failure: str | None,
    now: datetime,
    only_from: TournamentState | None,
) -> Tournament:
    """Move a tournament on; raises `UnknownTournament` or `TransitionRefused`."""
    row = locked(session, tournament)
    former = row.state
    if only_from not in (None, former):
        raise TransitionRefused(f"tournament {tournament!r} is {former}; this takes one that is {only_from}")
    _move(row, state)
    if (state is TournamentState.FAILED) != (failure is not None):
        raise TransitionRefused(
            f"tournament {tournament!r} can't go from {former} to {state} "
            f"{'without' if failure is None else 'with'} a failure; give one exactly for state failed"
        )
    row.failure = failure
    row.finished_at = now if state in FINISHED else None
    return _tournament(row)


def _move(row: TournamentRow, state: TournamentState) -> None:
    """The one place in which a tournament's state changes, by the table; raises `TransitionRefused`."""
    if state not in TRANSITIONS[row.state]:
        after = ", ".join(sorted(TRANSITIONS[row.state])) or "nothing, it is final"
        raise TransitionRefused(
            f"tournament {row.id!r} can't go from {row.state} to {state}; after {row.state} can come: {after}"
        )
    row.state = state


_NEWEST_FIRST = (TournamentRow.created_at.desc(), TournamentRow.id)


def _ids(session: Session) -> list[str]:
    return list(session.scalars(select(TournamentRow.id).order_by(*_NEWEST_FIRST)))


def _choice(ids: Sequence[str]) -> str:
    if not ids:
        return "there are none yet"
    more = f" and {len(ids) - _IDS_IN_A_MESSAGE} more" if len(ids) > _IDS_IN_A_MESSAGE else ""
    return f"there is {', '.join(ids[:_IDS_IN_A_MESSAGE])}{more}"


def _tournament(row: TournamentRow) -> Tournament:
    return Tournament(
        id=row.id,
        name=row.name,
        state=row.state,
        spec=row.spec,
        deal_seed=row.deal_seed,
        created_at=row.created_at,
        finished_at=row.finished_at,
        failure=row.failure,
    )


def _check(
    tournament: Tournament, entrants: Sequence[Entrant], matches: Sequence[Match], sittings_per_match: int
) -> None:
    where = f"tournament {tournament.id!r}"
    if _ID.fullmatch(tournament.id) is None:
        raise InvalidPlan(f"{where}: an id begins with a letter or digit and has at most 64 of a-z A-Z 0-9 . _ -")
    if tournament.state in FINISHED or tournament.finished_at is not None or tournament.failure is not None:
        raise InvalidPlan(f"{where}: a new tournament can't be finished; give it state draft, scheduled or running")
    _check_json(tournament.spec, f"{where}: its spec")
    for place, entrant in enumerate(entrants):
        if entrant.index != place:
            raise InvalidPlan(f"{where}: entrant {entrant.name!r} has index {entrant.index}; it stands at {place}")
        _check_json(entrant.manifest, f"{where}: the manifest of entrant {entrant.name!r}")
    _check_matches(where, matches, sittings_per_match, first=0, entrants=len(entrants))


def _check_matches(where: str, matches: Sequence[Match], sittings_per_match: int, *, first: int, entrants: int) -> None:
    if sittings_per_match < 1:
        raise InvalidPlan(f"{where}: {sittings_per_match} sittings in each match; there must be one at least")
    for place, match in enumerate(matches, first):
        if match.index != place:
            raise InvalidPlan(f"{where}: a match has index {match.index}; it stands at {place}")
        if not match.entrants or not set(match.entrants) <= set(range(entrants)):
            raise InvalidPlan(
                f"{where}: match {place} has entrants {list(match.entrants)}; choose from 0 to {entrants - 1}"
            )
        if match.boards < 1:
            raise InvalidPlan(f"{where}: match {place} has {match.boards} boards; there must be one at least")


def _check_json(value: dict[str, object], what: str) -> None:
    """Refuse what would not come back as it went in."""
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError) as error:
        raise InvalidPlan(f"{what} is not JSON: {error}") from error
    if not same:
        raise InvalidPlan(f"{what} changes as JSON; use lists for tuples and text for keys")
