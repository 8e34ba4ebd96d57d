"""Reads what was recorded. Whatever has an order comes in schedule order, never in the order of arrival."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from arbiter.compression import decompress
from arbiter.store import plans
from arbiter.store.errors import UnknownSitting
from arbiter.store.leasing import existing
from arbiter.store.records import AttemptFacts, AttemptOutcome, SittingKey, SittingState
from arbiter.store.result_records import (
    Alarm,
    BoardTotal,
    BotLog,
    EntrantTally,
    Fault,
    Progress,
    SeatResult,
    ThinkingTime,
)
from arbiter.store.tables import (
    AlarmRow,
    AttemptRow,
    BotLogRow,
    FaultRow,
    HandTallyRow,
    MatchRow,
    ResultRow,
    SeatResultRow,
    SittingRow,
)

MAX_REPLAY_BYTES = 1 << 30
"""More than any replay that was ever taken, decompressed."""


def progress(session: Session, tournament: str) -> Progress:
    """How far the tournament is; hands, time and faults are those of complete matches. Raises `UnknownTournament`."""
    plans.get(session, tournament)
    counts = session.execute(
        select(SittingRow.state, func.count()).where(SittingRow.tournament_id == tournament).group_by(SittingRow.state)
    )
    sittings = dict.fromkeys(SittingState, 0)
    sittings.update((state, count) for state, count in counts)
    hands, seconds = session.execute(
        select(func.coalesce(func.sum(ResultRow.hands), 0), func.coalesce(func.sum(ResultRow.seconds), 0.0))
        .join(SittingRow, SittingRow.id == ResultRow.sitting_id)
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
    ).one()
    faults = session.scalar(
        select(func.count())
        .select_from(FaultRow)
        .join(SittingRow, SittingRow.id == FaultRow.sitting_id)
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
    )
    matches = session.scalar(select(func.count()).select_from(MatchRow).where(MatchRow.tournament_id == tournament))
    incomplete = session.scalar(
        select(func.count(SittingRow.match_number.distinct())).where(
            SittingRow.tournament_id == tournament, SittingRow.state != SittingState.RECORDED
        )
    )
    return Progress(
        sittings=sittings,
        matches=matches or 0,
        matches_complete=(matches or 0) - (incomplete or 0),
        hands=int(hands),
        seconds=float(seconds),
        faults=faults or 0,
    )


def seat_results(session: Session, tournament: str) -> list[tuple[int, int, SeatResult]]:
    """(match, sitting, result), ordered by match, board, sitting, seat; raises `UnknownTournament`."""
    plans.get(session, tournament)
    wanted = (
        select(
            SittingRow.match_number,
            SittingRow.number,
            SeatResultRow.board,
            SeatResultRow.seat,
            SeatResultRow.entrant,
            SeatResultRow.hands,
            SeatResultRow.points,
            SeatResultRow.total,
        )
        .join(SeatResultRow, SeatResultRow.sitting_id == SittingRow.id)
        .where(SittingRow.tournament_id == tournament)
        .order_by(SittingRow.match_number, SeatResultRow.board, SittingRow.number, SeatResultRow.seat)
    )
    return [(match, sitting, SeatResult(*result)) for match, sitting, *result in session.execute(wanted)]


def board_totals(session: Session, tournament: str, first_match: int) -> list[BoardTotal]:
    """Of matches over whose deal set every sitting is recorded, from `first_match` on, by match, board, entrant; raises
    `UnknownTournament`."""
    plans.get(session, tournament)
    where = (SittingRow.match_number, SeatResultRow.board, SeatResultRow.entrant)
    rows = session.execute(
        select(*where, func.count(), func.sum(SeatResultRow.hands), func.sum(SeatResultRow.total))
        .join(SeatResultRow, SeatResultRow.sitting_id == SittingRow.id)
        .where(SittingRow.tournament_id == tournament, SittingRow.match_number >= first_match, _complete(tournament))
        .group_by(*where)
        .order_by(*where)
    )
    return [
        BoardTotal(match, board, entrant, seatings, int(hands), int(total))
        for match, board, entrant, seatings, hands, total in rows
    ]


def entrant_tallies(session: Session, tournament: str) -> list[EntrantTally]:
    """Of matches whose every sitting is recorded, in the order of the fields; raises `UnknownTournament`."""
    plans.get(session, tournament)
    where = (
        SittingRow.match_number,
        SeatResultRow.board,
        SeatResultRow.entrant,
        SeatResultRow.seat,
        HandTallyRow.direction,
    )
    rows = session.execute(
        select(*where, *(func.sum(amount) for amount in (HandTallyRow.hands, HandTallyRow.points, HandTallyRow.moons)))
        .join(SeatResultRow, SeatResultRow.sitting_id == SittingRow.id)
        .join(
            HandTallyRow,
            and_(
                HandTallyRow.sitting_id == SeatResultRow.sitting_id,
                HandTallyRow.board == SeatResultRow.board,
                HandTallyRow.seat == SeatResultRow.seat,
            ),
        )
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
        .group_by(*where)
    )
    # Ordered here, because a database may order words by the rules of some language.
    return [EntrantTally(*row[:5], *(int(amount) for amount in row[5:])) for row in sorted(map(tuple, rows))]


def thinking_times(session: Session, tournament: str) -> dict[int, ThinkingTime]:
    """By entrant, over the sittings of complete matches that tell; raises `UnknownTournament`."""
    plans.get(session, tournament)
    rows = session.execute(
        select(BotLogRow.entrant, func.sum(BotLogRow.thinking_seconds), func.sum(BotLogRow.answers))
        .join(SittingRow, SittingRow.id == BotLogRow.sitting_id)
        .where(SittingRow.tournament_id == tournament, BotLogRow.thinking_seconds.is_not(None), _complete(tournament))
        .group_by(BotLogRow.entrant)
        .order_by(BotLogRow.entrant)
    )
    return {entrant: ThinkingTime(float(seconds or 0), int(answers or 0)) for entrant, seconds, answers in rows}


def match_times(session: Session, tournament: str) -> dict[int, datetime]:
    """When the last sitting of each complete match was recorded; raises `UnknownTournament`."""
    plans.get(session, tournament)
    rows = session.execute(
        select(SittingRow.match_number, func.max(ResultRow.recorded_at))
        .join(ResultRow, ResultRow.sitting_id == SittingRow.id)
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
        .group_by(SittingRow.match_number)
        .order_by(SittingRow.match_number)
    )
    return dict(iter(rows))


def match_progress(session: Session, tournament: str, first_match: int) -> dict[int, tuple[int, int]]:
    """Sittings recorded and in all by match; raises `UnknownTournament`."""
    plans.get(session, tournament)
    rows = session.execute(
        select(
            SittingRow.match_number,
            func.sum(case((SittingRow.state == SittingState.RECORDED, 1), else_=0)),
            func.count(),
        )
        .where(SittingRow.tournament_id == tournament, SittingRow.match_number >= first_match)
        .group_by(SittingRow.match_number)
        .order_by(SittingRow.match_number)
    )
    return {match: (int(recorded or 0), count) for match, recorded, count in rows}


def _complete(tournament: str) -> ColumnElement[bool]:
    """Whether every sitting over the deal set of a sitting's match is recorded, those of other matches included."""
    incomplete = (
        select(MatchRow.commitment)
        .join(
            SittingRow,
            (SittingRow.tournament_id == MatchRow.tournament_id) & (SittingRow.match_number == MatchRow.number),
        )
        .where(MatchRow.tournament_id == tournament, SittingRow.state != SittingState.RECORDED)
    )
    complete = select(MatchRow.number).where(
        MatchRow.tournament_id == tournament, MatchRow.commitment.not_in(incomplete)
    )
    return SittingRow.match_number.in_(complete)


def fault_counts(session: Session, tournament: str) -> dict[int, dict[str, int]]:
    """Number of faults in complete matches by entrant and code, entrants without one left out; raises
    `UnknownTournament`."""
    plans.get(session, tournament)
    counts: dict[int, dict[str, int]] = {}
    rows = session.execute(
        select(FaultRow.entrant, FaultRow.code, func.count())
        .join(SittingRow, SittingRow.id == FaultRow.sitting_id)
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
        .group_by(FaultRow.entrant, FaultRow.code)
    )
    for entrant, code, count in sorted((row[0], row[1], row[2]) for row in rows):
        counts.setdefault(entrant, {})[code] = count
    return counts


def recorded_since(session: Session, moment: datetime) -> tuple[int, int]:
    """Number of results that were recorded since a moment, and of their hands."""
    wanted = select(func.count(), func.coalesce(func.sum(ResultRow.hands), 0)).where(ResultRow.recorded_at >= moment)
    sittings, hands = session.execute(wanted).one()
    return sittings, hands


def voids(session: Session, tournament: str) -> dict[int, int]:
    """Voided attempts by the entrant whose time was up, those with none left out; raises `UnknownTournament`.

    Those of matches under way are among them: a sitting that is void time after time never completes its match.
    """
    plans.get(session, tournament)
    counts = session.execute(
        select(AttemptRow.starved_entrant, func.count())
        .join(SittingRow, SittingRow.id == AttemptRow.sitting_id)
        .where(SittingRow.tournament_id == tournament, AttemptRow.starved_entrant.is_not(None))
        .group_by(AttemptRow.starved_entrant)
        .order_by(AttemptRow.starved_entrant)
    )
    return {entrant: count for entrant, count in counts if entrant is not None}


def faults(session: Session, tournament: str) -> list[tuple[SittingKey, Fault]]:
    """The faults of complete matches in schedule order, those of a sitting as they happened; raises
    `UnknownTournament`."""
    plans.get(session, tournament)
    rows = session.execute(
        select(SittingRow.match_number, SittingRow.number, FaultRow)
        .join(FaultRow, FaultRow.sitting_id == SittingRow.id)
        .where(SittingRow.tournament_id == tournament, _complete(tournament))
        .order_by(SittingRow.match_number, SittingRow.number, FaultRow.number)
    )
    return [
        (
            SittingKey(tournament, match, sitting),
            Fault(row.entrant, row.board, row.hand, row.seat, row.trick, row.code, row.detail, row.lost),
        )
        for match, sitting, row in rows
    ]


def alarms(session: Session, tournament: str) -> list[Alarm]:
    """All alarms in schedule order, those of an attempt as they were raised; raises `UnknownTournament`."""
    plans.get(session, tournament)
    rows = session.execute(
        select(SittingRow.match_number, SittingRow.number, AlarmRow)
        .join(AlarmRow, AlarmRow.sitting_id == SittingRow.id)
        .where(SittingRow.tournament_id == tournament)
        .order_by(
            SittingRow.match_number, SittingRow.number, AlarmRow.attempt_number, AlarmRow.raised_at, AlarmRow.digest
        )
    )
    return [
        Alarm(
            SittingKey(tournament, match, sitting),
            row.attempt_number,
            row.first_digest,
            row.digest,
            row.raised_at,
            row.reason,
        )
        for match, sitting, row in rows
    ]


def attempt_facts(session: Session, tournament: str) -> list[AttemptFacts]:
    """All attempts in schedule order, those of a sitting by number; raises `UnknownTournament`."""
    plans.get(session, tournament)
    of_tournament = SittingRow.tournament_id == tournament
    faults = {
        row[0]: row[1]
        for row in session.execute(
            select(FaultRow.sitting_id, func.count())
            .join(SittingRow, SittingRow.id == FaultRow.sitting_id)
            .where(of_tournament)
            .group_by(FaultRow.sitting_id)
        )
    }
    times: dict[int, list[tuple[int, float, int]]] = {}
    for sitting, entrant, seconds, answers in session.execute(
        select(BotLogRow.sitting_id, BotLogRow.entrant, BotLogRow.thinking_seconds, BotLogRow.answers)
        .join(SittingRow, SittingRow.id == BotLogRow.sitting_id)
        .where(of_tournament, BotLogRow.thinking_seconds.is_not(None), BotLogRow.answers.is_not(None))
        .order_by(BotLogRow.sitting_id, BotLogRow.number)
    ):
        times.setdefault(sitting, []).append((entrant, seconds or 0.0, answers or 0))
    rows = session.execute(
        select(SittingRow.id, SittingRow.match_number, SittingRow.number, AttemptRow)
        .join(AttemptRow, AttemptRow.sitting_id == SittingRow.id)
        .where(of_tournament)
        .order_by(SittingRow.match_number, SittingRow.number, AttemptRow.number)
    )
    return [
        AttemptFacts(
            SittingKey(tournament, match, number),
            attempt.number,
            attempt.worker,
            attempt.outcome,
            faults.get(sitting, 0) if attempt.outcome is AttemptOutcome.RECORDED else 0,
            tuple(times.get(sitting, ())) if attempt.outcome is AttemptOutcome.RECORDED else (),
        )
        for sitting, match, number, attempt in rows
    ]


def replay(session: Session, key: SittingKey) -> bytes:
    """The standing result's replay; raises `UnknownSitting`, also when nothing is recorded yet."""
    sitting = existing(session, key)
    compressed = session.scalar(select(ResultRow.replay).where(ResultRow.sitting_id == sitting.id))
    if compressed is None:
        raise _not_recorded(sitting, key)
    return decompress(compressed, MAX_REPLAY_BYTES)


def logs(session: Session, key: SittingKey) -> tuple[BotLog, ...]:
    """The standing result's bot logs as reported; raises `UnknownSitting`, also when nothing is recorded yet."""
    sitting = existing(session, key)
    if sitting.state is not SittingState.RECORDED:
        raise _not_recorded(sitting, key)
    rows = session.scalars(select(BotLogRow).where(BotLogRow.sitting_id == sitting.id).order_by(BotLogRow.number))
    return tuple(BotLog(row.entrant, row.ending, row.log, row.thinking_seconds, row.answers) for row in rows)


def _not_recorded(sitting: SittingRow, key: SittingKey) -> UnknownSitting:
    return UnknownSitting(f"sitting {key} has no result yet; it is {sitting.state}")
