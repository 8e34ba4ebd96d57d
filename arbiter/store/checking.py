"""Looks for damage: the file, the schema, and what the tables say of one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, text
from sqlalchemy.orm import Session

from arbiter.compression import CompressionError, decompress
from arbiter.store import schema
from arbiter.store.database import Database
from arbiter.store.records import FINISHED, AttemptOutcome, SittingState, TournamentState
from arbiter.store.results import MAX_REPLAY_BYTES
from arbiter.store.tables import AttemptRow, ResultRow, SittingRow, TournamentRow

_REPLAYS_AT_ONCE = 20


def check(database: Database, progress: Callable[[int, int], None] = lambda done, of: None) -> list[str]:
    """Every fault that is found, in one line each; an empty list when all is well. Changes nothing.

    Args:
        database: what to look at; nothing else has to be known of it.
        progress: called with the number of replays that were read, and how many there are.

    Raises:
        StoreError: the database can't be used, is not ours, or was written by a later version.
    """
    with database.connection(writes=False) as connection:
        present, wanted = schema.revisions(connection, database.name)
    if present != wanted:
        return [f"the schema is at {present or 'nothing'} and should be at {wanted}; run: arbiter db upgrade"]
    with database.read() as session:
        found = [*_file(session)] if database.is_sqlite else []
        found += [line for what, wrong in _CONTRADICTIONS for line in _sittings(session, what, wrong)]
        found += _tournaments(session)
        found += _replays(session, progress)
    return found


def _file(session: Session) -> Iterator[str]:
    """What SQLite itself finds; PostgreSQL has no such question, and holds foreign keys always."""
    for (line,) in session.execute(text("PRAGMA integrity_check")):
        if line != "ok":
            yield f"the file is damaged: {line}; restore it from a backup"
    for table, row, parent, _ in session.execute(text("PRAGMA foreign_key_check")):
        yield f"row {row} of table {table} refers to a row of {parent} that is not there"


def _attempt(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists(select(AttemptRow.number).where(AttemptRow.sitting_id == SittingRow.id, *conditions))


_LAST = AttemptRow.number == SittingRow.attempts
_RUNNING = AttemptRow.outcome == AttemptOutcome.RUNNING
_HAS_RESULT = exists(select(ResultRow.sitting_id).where(ResultRow.sitting_id == SittingRow.id))
_STANDING = exists(
    select(ResultRow.sitting_id)
    .join(
        AttemptRow,
        and_(AttemptRow.sitting_id == ResultRow.sitting_id, AttemptRow.number == ResultRow.attempt_number),
    )
    .where(
        ResultRow.sitting_id == SittingRow.id,
        AttemptRow.outcome == AttemptOutcome.RECORDED,
        AttemptRow.digest == ResultRow.digest,
    )
)
_ATTEMPTS = select(func.count()).where(AttemptRow.sitting_id == SittingRow.id).scalar_subquery()

_CONTRADICTIONS: list[tuple[str, ColumnElement[bool]]] = [
    ("is recorded without a result", and_(SittingRow.state == SittingState.RECORDED, ~_HAS_RESULT)),
    ("has a result and is not recorded", and_(SittingRow.state != SittingState.RECORDED, _HAS_RESULT)),
    ("has a result that is not that of a recorded attempt", and_(_HAS_RESULT, ~_STANDING)),
    (
        "is leased without an attempt that runs",
        and_(SittingRow.state == SittingState.LEASED, ~_attempt(_LAST, _RUNNING)),
    ),
    (
        "has an attempt that runs without the lease",
        or_(
            and_(SittingRow.state != SittingState.LEASED, _attempt(_RUNNING)),
            _attempt(_RUNNING, AttemptRow.number != SittingRow.attempts),
        ),
    ),
    ("does not have the attempts that it counts", SittingRow.attempts != _ATTEMPTS),
]
"""What can't be true of a sitting."""


def _sittings(session: Session, what: str, wrong: ColumnElement[bool]) -> Iterator[str]:
    wanted = (
        select(SittingRow.tournament_id, SittingRow.match_number, SittingRow.number)
        .where(wrong)
        .order_by(SittingRow.tournament_id, SittingRow.match_number, SittingRow.number)
    )
    for tournament, match, number in session.execute(wanted):
        yield f"sitting {tournament}/{match}/{number} {what}"


def _tournaments(session: Session) -> Iterator[str]:
    open_sittings = exists(
        select(SittingRow.id).where(
            SittingRow.tournament_id == TournamentRow.id, SittingRow.state == SittingState.LEASED
        )
    )
    finished = TournamentRow.state.in_(sorted(FINISHED))
    wrong: Select[str, TournamentState] = select(TournamentRow.id, TournamentRow.state).where(
        or_(
            finished != TournamentRow.finished_at.is_not(None),
            (TournamentRow.state == TournamentState.FAILED) != TournamentRow.failure.is_not(None),
            and_(TournamentRow.state != TournamentState.RUNNING, open_sittings),
        )
    )
    for tournament, state in session.execute(wrong.order_by(TournamentRow.id)):
        yield f"tournament {tournament} is {state}, which its finishing time, failure or leases contradict"


def _replays(session: Session, progress: Callable[[int, int], None]) -> Iterator[str]:
    count = session.scalar(select(func.count()).select_from(ResultRow)) or 0
    rows = session.execute(
        select(SittingRow.tournament_id, SittingRow.match_number, SittingRow.number, ResultRow.digest, ResultRow.replay)
        .join(ResultRow, ResultRow.sitting_id == SittingRow.id)
        .order_by(SittingRow.tournament_id, SittingRow.match_number, SittingRow.number),
        execution_options={"yield_per": _REPLAYS_AT_ONCE},
    )
    for done, (tournament, match, number, digest, compressed) in enumerate(rows, 1):
        try:
            sound = sha256(decompress(compressed, MAX_REPLAY_BYTES)).hexdigest() == digest
        except CompressionError:
            sound = False
        if not sound:
            yield f"the replay of sitting {tournament}/{match}/{number} is not the one that was recorded"
        progress(done, count)
