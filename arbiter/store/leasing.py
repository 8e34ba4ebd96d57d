"""Who plays which sitting: leases, their loss, and attempts.

An attempt has outcome ``running`` exactly while it holds the lease of its sitting, so none stays open for ever.
Every function that decides about one sitting first locks its row (`locked`), and before it the tournament's where the
tournament's state counts; SQLite has no row locks and needs none here, because its writing transactions are serial.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from arbiter.store import plans
from arbiter.store.errors import UnknownSitting
from arbiter.store.records import (
    LARGEST,
    Attempt,
    AttemptOutcome,
    Lease,
    LeaseRefusal,
    SittingKey,
    SittingState,
    TournamentState,
)
from arbiter.store.tables import AttemptRow, MatchRow, ResultRow, SittingRow, TournamentRow

_ALONE = 10
"""How many times as often as sittings may be given back one may be by a single worker, where others play."""


def locked(session: Session, key: SittingKey) -> SittingRow | None:
    """The sitting's row, locked to the end of the transaction; None when there is no such sitting."""
    return session.scalar(_select(key).with_for_update())


def existing(session: Session, key: SittingKey) -> SittingRow:
    """The sitting's row, to read from; raises `UnknownSitting`."""
    sitting = session.scalar(_select(key))
    if sitting is None:
        raise no_such_sitting(key)
    return sitting


def no_such_sitting(key: SittingKey) -> UnknownSitting:
    """The error for a key that names nothing."""
    return UnknownSitting(f"there is no sitting {key}; take keys from the plan")


def attempt_of(session: Session, sitting: SittingRow, key: SittingKey, number: int) -> AttemptRow:
    """The row of one attempt; raises `UnknownSitting`."""
    attempt = session.get(AttemptRow, (sitting.id, number)) if number <= LARGEST else None
    if attempt is None:
        raise UnknownSitting(f"there is no attempt {number} at sitting {key}; it had {sitting.attempts}")
    return attempt


def lease(session: Session, key: SittingKey, worker: str, now: datetime, duration: timedelta) -> Lease | LeaseRefusal:
    """Give the sitting to `worker` as a new attempt, or say why not."""
    # Shared with other leases, but not with whoever pauses or ends the tournament and takes back what is leased.
    state = session.scalar(
        select(TournamentRow.state).where(TournamentRow.id == key.tournament).with_for_update(read=True)
    )
    sitting = locked(session, key)
    if sitting is None:
        return LeaseRefusal.UNKNOWN
    if sitting.state is SittingState.RECORDED:
        return LeaseRefusal.RECORDED
    if sitting.state is SittingState.FAILED:
        return LeaseRefusal.FAILED
    if state is not TournamentState.RUNNING:
        return LeaseRefusal.NOT_RUNNING
    if sitting.state is SittingState.LEASED:
        holder = attempt_of(session, sitting, key, sitting.attempts)
        if holder.worker != worker:
            return LeaseRefusal.LEASED
        # A worker that asks for what it holds has lost its task: refusing would leave the sitting idle until the
        # lease expires (https://github.com/official-stockfish/fishtest/issues/1979).
        holder.outcome = AttemptOutcome.LOST
        holder.note = "its worker asked for the sitting anew"
        sitting.lost += 1
    elif sitting.infrastructure and _gave_back(session, sitting, worker):
        return LeaseRefusal.GAVE_BACK
    sitting.state = SittingState.LEASED
    sitting.attempts += 1
    session.add(
        AttemptRow(
            sitting_id=sitting.id,
            number=sitting.attempts,
            worker=worker,
            leased_at=now,
            expires_at=now + duration,
            outcome=AttemptOutcome.RUNNING,
            note="",
        )
    )
    return Lease(key, sitting.attempts, worker, now + duration)


def renew(session: Session, key: SittingKey, attempt: int, now: datetime, duration: timedelta) -> bool:
    """Let the attempt's lease end `duration` after `now`; False when it no longer holds it."""
    sitting = locked(session, key)
    if sitting is None or sitting.state is not SittingState.LEASED or sitting.attempts != attempt:
        return False
    attempt_of(session, sitting, key, attempt).expires_at = now + duration
    return True


def expire(session: Session, tournament: str, now: datetime, max_lost: int | None) -> list[SittingKey]:
    """Take back all leases that end at or before `now`; the sittings in schedule order.

    A sitting that has lost `max_lost` leases fails, for it may be what ends its workers. With None nothing is counted.
    """
    plans.get(session, tournament)
    wanted = _held(tournament).where(AttemptRow.expires_at <= now)
    # What somebody else decides about just now can be looked at again next time.
    seen = session.execute(wanted.with_for_update(of=SittingRow, skip_locked=True)).all()
    # Asked again now that they are locked: until then a lease could be renewed, which leaves its sitting's row alone.
    mine = SittingRow.id.in_([sitting.id for sitting, _ in seen])
    due = session.execute(wanted.where(mine).execution_options(populate_existing=True)).all() if seen else []
    for sitting, attempt in due:
        sitting.state = SittingState.PLANNED
        attempt.outcome = AttemptOutcome.LOST
        attempt.note = "its lease expired"
        if max_lost is None:
            continue
        sitting.lost += 1
        if sitting.lost >= max_lost:
            sitting.state = SittingState.FAILED
            attempt.note = f"its lease expired, the last of {sitting.lost} that were lost: does it end its workers?"
    return [_key(sitting) for sitting, _ in due]


def holds(session: Session, key: SittingKey, attempt: int) -> bool:
    """Whether the attempt holds the lease of the sitting."""
    sitting = session.scalar(_select(key))
    return sitting is not None and sitting.state is SittingState.LEASED and sitting.attempts == attempt


def recall(session: Session, tournament: str, note: str) -> None:
    """Take back all leases, held against nobody: the sittings are planned again, and their workers hear of it when they
    next renew. The tournament's row must be locked, so that nothing is leased meanwhile."""
    locks = _of(tournament, SittingState.LEASED).with_for_update()
    ids = [sitting.id for sitting in session.scalars(locks)]
    # Asked anew, for an attempt that was read before its sitting was locked may be another by now.
    held = _held(tournament).where(SittingRow.id.in_(ids)).execution_options(populate_existing=True)
    for sitting, attempt in session.execute(held) if ids else ():
        sitting.state = SittingState.PLANNED
        attempt.outcome = AttemptOutcome.RECALLED
        attempt.note = note


def release(
    session: Session, key: SittingKey, attempt: int, note: str, max_attempts: int | None, starved_entrant: int | None
) -> SittingState:
    """End an attempt that holds its lease as an infrastructure failure; returns the sitting's state after it.

    With None for `max_attempts` it is none, and nothing is counted.

    Changes nothing when the attempt holds no lease; raises `UnknownSitting`.
    """
    sitting = locked(session, key)
    if sitting is None:
        raise no_such_sitting(key)
    row = attempt_of(session, sitting, key, attempt)
    if row.outcome is not AttemptOutcome.RUNNING:
        return sitting.state
    row.outcome = AttemptOutcome.RECALLED if max_attempts is None else AttemptOutcome.INFRASTRUCTURE
    row.note = note
    row.starved_entrant = starved_entrant
    sitting.state = SittingState.PLANNED
    if max_attempts is not None:
        sitting.infrastructure += 1
        if sitting.infrastructure >= max_attempts and not _blames_one(session, sitting, row.worker, max_attempts):
            sitting.state = SittingState.FAILED
    return sitting.state


def _gave_back(session: Session, sitting: SittingRow, worker: str) -> bool:
    """Whether a free sitting was given back by this worker last, and another is at work that may take it."""
    last = session.get_one(AttemptRow, (sitting.id, sitting.attempts))
    if last.outcome is not AttemptOutcome.INFRASTRUCTURE or last.worker != worker:
        return False
    others = _held(sitting.tournament_id).where(AttemptRow.worker != worker).limit(1)
    return session.execute(others).first() is not None


def _blames_one(session: Session, sitting: SittingRow, worker: str, max_attempts: int) -> bool:
    """Whether it is one worker alone that can't play a sitting, of several that play: one machine that is out of order
    must not end a tournament (https://github.com/official-stockfish/fishtest/issues/100). For a while, at the least."""
    if sitting.infrastructure >= _ALONE * max_attempts:
        return False
    session.flush()
    failed = (
        select(AttemptRow.worker)
        .where(AttemptRow.sitting_id == sitting.id, AttemptRow.outcome == AttemptOutcome.INFRASTRUCTURE)
        .order_by(AttemptRow.number.desc())
        .limit(sitting.infrastructure)
    )
    if set(session.scalars(failed)) != {worker}:
        return False
    others = (
        select(AttemptRow.number)
        .join(SittingRow, SittingRow.id == AttemptRow.sitting_id)
        .where(
            SittingRow.tournament_id == sitting.tournament_id,
            AttemptRow.worker != worker,
            AttemptRow.outcome.in_([AttemptOutcome.RUNNING, AttemptOutcome.RECORDED]),
        )
        .limit(1)
    )
    return session.scalar(others) is not None


def retry_failed(session: Session, tournament: str) -> list[SittingKey]:
    """Plan all failed sittings anew, what they failed by forgotten; the sittings in schedule order."""
    plans.get(session, tournament)
    failed = session.scalars(_of(tournament, SittingState.FAILED).with_for_update()).all()
    for sitting in failed:
        sitting.state = SittingState.PLANNED
        sitting.infrastructure = 0
        sitting.lost = 0
    return [_key(sitting) for sitting in failed]


def in_state(session: Session, tournament: str, state: SittingState, limit: int | None) -> list[SittingKey]:
    """The sittings in a state, in schedule order, the first `limit` of them."""
    plans.get(session, tournament)
    return [_key(sitting) for sitting in session.scalars(_of(tournament, state).limit(limit))]


def deal_set_recorded(session: Session, tournament: str, match: int) -> bool:
    """Whether every sitting over a match's deal set is recorded, those of other matches over it included; raises
    `UnknownSitting` when there is no such match."""
    commitment = (
        select(MatchRow.commitment)
        .where(MatchRow.tournament_id == tournament, MatchRow.number == match)
        .scalar_subquery()
    )
    states = session.scalars(
        select(SittingRow.state)
        .join(
            MatchRow,
            (MatchRow.tournament_id == SittingRow.tournament_id) & (MatchRow.number == SittingRow.match_number),
        )
        .where(SittingRow.tournament_id == tournament, MatchRow.commitment == commitment)
    ).all()
    if not states:
        raise UnknownSitting(f"tournament {tournament} has no match {match}")
    return all(state is SittingState.RECORDED for state in states)


def leases(session: Session, tournament: str) -> list[Lease]:
    """The leases that are held, in schedule order."""
    plans.get(session, tournament)
    held = session.execute(_held(tournament))
    return [Lease(_key(sitting), attempt.number, attempt.worker, attempt.expires_at) for sitting, attempt in held]


def attempts(session: Session, key: SittingKey) -> list[Attempt]:
    """All attempts at a sitting, oldest first; raises `UnknownSitting`."""
    sitting = existing(session, key)
    standing = session.scalar(select(ResultRow.digest).where(ResultRow.sitting_id == sitting.id))
    rows = session.scalars(select(AttemptRow).where(AttemptRow.sitting_id == sitting.id).order_by(AttemptRow.number))
    return [
        Attempt(
            number=row.number,
            worker=row.worker,
            leased_at=row.leased_at,
            outcome=row.outcome,
            note=row.note,
            digest=row.digest,
            starved_entrant=row.starved_entrant,
            agrees=None if row.digest is None else row.digest == standing,
        )
        for row in rows
    ]


def _select(key: SittingKey) -> Select[SittingRow]:
    return select(SittingRow).where(
        SittingRow.tournament_id == key.tournament,
        SittingRow.match_number == key.match,
        SittingRow.number == key.sitting,
    )


def _of(tournament: str, state: SittingState) -> Select[SittingRow]:
    return (
        select(SittingRow)
        .where(SittingRow.tournament_id == tournament, SittingRow.state == state)
        .order_by(SittingRow.match_number, SittingRow.number)
    )


def _held(tournament: str) -> Select[SittingRow, AttemptRow]:
    """The leased sittings, each with the attempt that holds it."""
    return (
        _of(tournament, SittingState.LEASED)
        .join(AttemptRow, (AttemptRow.sitting_id == SittingRow.id) & (AttemptRow.number == SittingRow.attempts))
        .add_columns(AttemptRow)
    )


def _key(sitting: SittingRow) -> SittingKey:
    return SittingKey(sitting.tournament_id, sitting.match_number, sitting.number)
