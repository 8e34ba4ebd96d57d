"""Records what a worker reports of a sitting: once, whatever is repeated, late or contradictory."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from hashlib import sha256

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from arbiter.store.errors import InvalidResult
from arbiter.store.leasing import attempt_of, locked, no_such_sitting
from arbiter.store.records import LARGEST, AttemptOutcome, SittingKey, SittingState
from arbiter.store.result_records import BotLog, Fault, HandTally, Recorded, SeatResult, SittingResult
from arbiter.store.tables import (
    AlarmRow,
    AttemptRow,
    BotLogRow,
    FaultRow,
    HandTallyRow,
    MatchEntrantRow,
    MatchRow,
    ResultRow,
    SeatResultRow,
    SittingRow,
)


def check(key: SittingKey, result: SittingResult) -> None:
    """Raise `InvalidResult` when a result contradicts itself; needs no database."""
    if sha256(result.replay).hexdigest() != result.digest:
        raise InvalidResult(f"the result of sitting {key} has a digest that is not its replay's; report it unchanged")
    if len({(each.board, each.seat) for each in result.results}) != len(result.results):
        raise InvalidResult(f"the result of sitting {key} names a seat of a board twice; it must name each once")
    for log in result.logs:
        if log.answers is not None and not 0 <= log.answers <= LARGEST:
            raise InvalidResult(f"the result of sitting {key} has {log.answers} answers of one bot; at most 2^31 - 1")


def record(
    session: Session, key: SittingKey, number: int, result: SittingResult, compressed_replay: bytes, now: datetime
) -> Recorded:
    """Take the result of attempt `number`; the first attempt that gets here stands, late or not.

    Raises `UnknownSitting` for a sitting or attempt that does not exist and `InvalidResult` for entrants or boards that
    are not the match's.
    """
    sitting = locked(session, key)
    if sitting is None:
        raise no_such_sitting(key)
    attempt = attempt_of(session, sitting, key, number)
    if attempt.digest is not None and attempt.digest != result.digest:
        _raise_alarm(session, attempt, result.digest, "reported twice, differently", now)
        return Recorded.CONFLICT
    standing = session.scalar(select(ResultRow.attempt_number).where(ResultRow.sitting_id == sitting.id))
    if standing == number:
        return Recorded.REPEATED
    attempt.digest = result.digest
    if standing is not None:
        attempt.outcome = AttemptOutcome.SUPERSEDED
        return Recorded.SUPERSEDED
    _check_match(session, key, result)
    _close_running(session, sitting)
    attempt.outcome = AttemptOutcome.RECORDED
    sitting.state = SittingState.RECORDED
    session.flush()
    _insert(session, sitting.id, number, result, compressed_replay, now)
    return Recorded.RECORDED


def refuse(session: Session, key: SittingKey, number: int, digest: str, reason: str, now: datetime) -> None:
    """Keep an alarm for a report of attempt `number` that is not taken: the first of each attempt, so that a faulty
    worker does not fill the database. Raises `UnknownSitting`."""
    sitting = locked(session, key)
    if sitting is None:
        raise no_such_sitting(key)
    attempt = attempt_of(session, sitting, key, number)
    earlier = select(AlarmRow.digest).where(
        AlarmRow.sitting_id == sitting.id, AlarmRow.attempt_number == number, AlarmRow.first_digest == ""
    )
    if session.scalar(earlier) is None:
        _raise_alarm(session, attempt, digest, reason, now, first_digest="")


def _raise_alarm(
    session: Session, attempt: AttemptRow, digest: str, reason: str, now: datetime, first_digest: str | None = None
) -> None:
    if session.get(AlarmRow, (attempt.sitting_id, attempt.number, digest)) is None:
        session.add(
            AlarmRow(
                sitting_id=attempt.sitting_id,
                attempt_number=attempt.number,
                digest=digest,
                first_digest=attempt.digest if first_digest is None else first_digest,
                raised_at=now,
                reason=reason,
            )
        )


def _close_running(session: Session, sitting: SittingRow) -> None:
    """End whichever attempt holds the lease: nothing will take it back once the sitting is recorded."""
    session.execute(
        update(AttemptRow)
        .where(AttemptRow.sitting_id == sitting.id, AttemptRow.outcome == AttemptOutcome.RUNNING)
        .values(outcome=AttemptOutcome.SUPERSEDED)
    )


def _check_match(session: Session, key: SittingKey, result: SittingResult) -> None:
    boards = session.scalar(
        select(MatchRow.boards).where(MatchRow.tournament_id == key.tournament, MatchRow.number == key.match)
    )
    entrants = set(
        session.scalars(
            select(MatchEntrantRow.entrant_number).where(
                MatchEntrantRow.tournament_id == key.tournament, MatchEntrantRow.match_number == key.match
            )
        )
    )
    named = {each.entrant for part in (result.results, result.faults, result.logs) for each in part}
    if not named <= entrants:
        raise InvalidResult(
            f"the result of sitting {key} names entrants {sorted(named - entrants)}; its match has {sorted(entrants)}"
        )
    outside = {each.board for each in result.results} - set(range(1, (boards or 0) + 1))
    if outside:
        raise InvalidResult(f"the result of sitting {key} names boards {sorted(outside)}; its match has 1 to {boards}")
    hands = Counter({(each.board, each.seat): each.hands for each in result.results})
    tallied = Counter[tuple[int, int]]()
    for each in result.tallies:
        tallied[each.board, each.seat] += each.hands
    if tallied != hands:
        raise InvalidResult(f"the result of sitting {key} has tallies of other hands than its seats played")


def _insert(
    session: Session, sitting_id: int, number: int, result: SittingResult, compressed_replay: bytes, now: datetime
) -> None:
    of = {"sitting_id": sitting_id}
    session.execute(
        insert(ResultRow),
        [
            of
            | {
                "attempt_number": number,
                "recorded_at": now,
                "digest": result.digest,
                "hands": result.hands,
                "seconds": result.seconds,
                "replay": compressed_replay,
            }
        ],
    )
    if result.results:
        session.execute(insert(SeatResultRow), [of | _fields(each) for each in result.results])
    if result.tallies:
        session.execute(insert(HandTallyRow), [of | _fields(each) for each in result.tallies])
    if result.faults:
        session.execute(
            insert(FaultRow), [of | {"number": place} | _fields(each) for place, each in enumerate(result.faults)]
        )
    if result.logs:
        session.execute(
            insert(BotLogRow), [of | {"number": place} | _fields(each) for place, each in enumerate(result.logs)]
        )


def _fields(value: SeatResult | HandTally | Fault | BotLog) -> dict[str, object]:
    """The value's fields, called as the columns are; `dataclasses.asdict` would copy deeply, for nothing."""
    return {name: getattr(value, name) for name in type(value).__slots__}
