"""The store: every question to the database and every change of it, one transaction each."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from arbiter.compression import compress
from arbiter.store import leading, leasing, plans, recording, results, schema
from arbiter.store.accounts import Accounts
from arbiter.store.builds import Builds
from arbiter.store.database import Database
from arbiter.store.entries import Entries
from arbiter.store.gates import Gates
from arbiter.store.records import (
    Attempt,
    AttemptFacts,
    Entrant,
    Leadership,
    Lease,
    LeaseRefusal,
    Match,
    SittingKey,
    SittingState,
    Tournament,
    TournamentState,
    check_aware,
)
from arbiter.store.requests import Request, Requests
from arbiter.store.result_records import (
    Alarm,
    BoardTotal,
    BotLog,
    EntrantTally,
    Fault,
    Progress,
    Recorded,
    SeatResult,
    SittingResult,
    ThinkingTime,
)
from arbiter.store.tables import IdentityRow
from arbiter.store.versions import Versions

MAX_ATTEMPTS = 3
"""How often a sitting may be given back for infrastructure failures before the host has to look."""

MAX_LOST = 5
"""How often a sitting may lose its lease before the host has to look: something in it may end its workers."""


class Store:
    """The plan and the results of all tournaments.

    Safe for many threads, and for several processes on one database. Each method is one transaction; after an exception
    nothing of it has happened. Methods that take a tournament's id raise `UnknownTournament` when there is none of that
    id; any method raises `StoreError` when the database fails. Times must be timezone-aware.
    """

    def __init__(self, database: Database, leadership: Leadership | None = None) -> None:
        """Use a database whose schema is up to date; `open` and `led_by` are the usual ways."""
        self._database = database
        self._leadership = leadership
        self.accounts = Accounts(database)
        """Tokens and the audit log."""
        self.versions = Versions(database)
        """Submitted bots."""
        self.builds = Builds(database)
        """What was built of them."""
        self.requests = Requests(database)
        """Requests that were done."""
        self.gates = Gates(database)
        """Gates as they are made."""
        self.entries = Entries(database)
        """Who has entered drafts."""

    @classmethod
    def open(cls, target: str | os.PathLike[str]) -> Self:
        """Open a database URL or the path of an SQLite file, created when missing, and bring its schema up to date.

        Raises `UsageError` for a target that names no lasting database, and `StoreError` for one that can't be opened,
        is not ours, or was written by a later version.
        """
        database = Database(target)
        try:
            schema.upgrade(database)
        except BaseException:
            database.close()
            raise
        return cls(database)

    def ping(self) -> None:
        """Return when the database answers; raises `StoreError`."""
        with self._database.read() as session:
            session.execute(select(1))

    def identity(self) -> str:
        """An id by which this database is told from all others: 32 hexadecimal digits, drawn when first asked for.

        A copy has that of what it was copied from.
        """
        with self._database.read() as session:
            known: str | None = session.scalar(select(IdentityRow.id))
        if known is not None:
            return known
        with self._database.write() as session:
            self._database.take_turns(session, "identity")
            known = session.scalar(select(IdentityRow.id))  # another process may have been quicker
            if known is None:
                known = secrets.token_hex(16)
                session.add(IdentityRow(id=known))
            return known

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    @contextmanager
    def together(self) -> Iterator[Store]:
        """A store whose questions and changes are one transaction: all of it is committed at the end, or nothing on any
        exception.

        Others who write wait meanwhile, so nothing slow belongs inside, nor a change by way of another store.
        """
        with self._write() as session:
            yield Store(self._database.joining(session))

    @contextmanager
    def once(self, request: Request, now: datetime) -> Iterator[Store | None]:
        """The same for what a request asks for; None when it was done before. That it was done is remembered in that
        transaction, so whoever sees the change knows the request again.

        Raises `NameTaken` when its id was another's, and `UsageError` when it has another form.
        """
        with self.together() as part:
            if part.requests.begin(request):
                yield part
                part.requests.note(request, now)  # last, for what it names was looked at by then
            else:
                yield None

    @contextmanager
    def _write(self) -> Iterator[Session]:
        with self._database.write() as session:
            if self._leadership is not None:
                leading.require(session, self._leadership)
            yield session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the lead ------------------------------------------------------------------------------------------------------

    def lead(self, matter: str, holder: str, now: datetime, duration: timedelta) -> Leadership:
        """Let `holder` lead in a matter until `now` + `duration`, in a new term, unless somebody else does.

        Returns the leadership that counts then, `holder`'s or the other's. Who has led under the same name before leads
        no more.
        """
        check_aware(now)
        with self._database.write() as session:
            self._database.take_turns(session, f"lead {matter}")
            return leading.lead(session, matter, holder, now, duration)

    def leader(self, matter: str) -> Leadership | None:
        """Who led in a matter last, even when that has expired; None when nobody ever did."""
        with self._database.read() as session:
            return leading.leader(session, matter)

    def keep_lead(self, leadership: Leadership, now: datetime, duration: timedelta) -> Leadership | None:
        """Let a leadership end at `now` + `duration`; None when somebody has taken the lead since."""
        check_aware(now)
        with self._database.write() as session:
            return leading.keep(session, leadership, now, duration)

    def resign(self, leadership: Leadership, now: datetime) -> None:
        """Let somebody else take the lead at once."""
        check_aware(now)
        with self._database.write() as session:
            leading.resign(session, leadership, now)

    def led_by(self, leadership: Leadership) -> Store:
        """This store, whose every change raises `LeadershipLost` once somebody else has taken the lead."""
        return Store(self._database, leadership)

    # -- plans ---------------------------------------------------------------------------------------------------------

    def create_tournament(
        self,
        tournament: Tournament,
        entrants: Sequence[Entrant],
        matches: Sequence[Match],
        sittings_per_match: int,
    ) -> None:
        """Write a whole plan with every sitting planned; raises `InvalidPlan`, also when the id is taken."""
        check_aware(tournament.created_at)
        with self._write() as session:
            self._database.take_turns(session, f"tournament {tournament.id}")
            plans.create(session, tournament, entrants, matches, sittings_per_match)

    def extend_tournament(self, tournament: str, matches: Sequence[Match], sittings_per_match: int) -> bool:
        """Add matches to the end of a running tournament's plan, with every sitting planned, all of them or nothing.

        Repeating it changes nothing: False when matches of these numbers are there already, or when the tournament is
        not running. Raises `InvalidPlan` when the matches don't continue the plan.
        """
        with self._write() as session:
            return plans.extend(session, tournament, matches, sittings_per_match)

    def enter(self, tournament: str, entrant: Entrant, *, leaving: Collection[int] = ()) -> Entrant:
        """Let an entrant come to a tournament while it runs, as a ladder's do, and others leave; returns it as it is.

        Its index is given out here. One of that name that is there already stays as it is, and one that has left comes
        back. Raises `InvalidPlan` when one of that name has other files.
        """
        with self._database.write() as session:
            return plans.enter(session, tournament, entrant, leaving)

    def leave(self, tournament: str, index: int) -> None:
        """Let an entrant leave: matches that are planned are played, no others follow. Raises `InvalidPlan`."""
        with self._database.write() as session:
            plans.leave(session, tournament, index)

    def tournament(self, tournament: str) -> Tournament:
        """The tournament with this id."""
        with self._database.read() as session:
            return plans.get(session, tournament)

    def find_tournament(self, prefix: str) -> Tournament:
        """The tournament with this id, or else the only one whose id begins so.

        Raises `UnknownTournament`, which names the ids to choose from.
        """
        with self._database.read() as session:
            return plans.find(session, prefix)

    def find_sitting(self, text: str) -> SittingKey:
        """The sitting ``TOURNAMENT/MATCH/SITTING``, whose tournament may be told by how its id begins.

        Raises `UnknownTournament`, or `UsageError` for another form. Whether there is such a sitting is not looked at.
        """
        prefix, _, rest = text.partition("/")
        return SittingKey.parse(f"{self.find_tournament(prefix).id}/{rest}")

    def tournaments(self) -> list[Tournament]:
        """All tournaments, newest first."""
        with self._database.read() as session:
            return plans.all_tournaments(session)

    def entrants(self, tournament: str) -> list[Entrant]:
        """A tournament's entrants by index."""
        with self._database.read() as session:
            return plans.entrants_of(session, tournament)

    def matches(self, tournament: str) -> list[Match]:
        """A tournament's matches in schedule order."""
        with self._database.read() as session:
            return plans.matches_of(session, tournament)

    def set_state(
        self,
        tournament: str,
        state: TournamentState,
        *,
        now: datetime,
        failure: str | None = None,
        only_from: TournamentState | None = None,
    ) -> Tournament:
        """Move a tournament on in its life and return it as it then is.

        All leases are taken back when it stops to be ``running``, held against nobody; failed sittings are planned anew
        with all their tries when it begins to be. `failure`, the reason, is given exactly for state ``failed``. Raises
        `TransitionRefused` for a change that `TRANSITIONS` does not have, staying in the same state included, and when
        it is in another state than `only_from`, where that is given.
        """
        check_aware(now)
        with self._write() as session:
            moved = plans.set_state(session, tournament, state, failure, now, only_from)
            if state is TournamentState.RUNNING:
                leasing.retry_failed(session, tournament)
            else:
                leasing.recall(session, tournament, f"its tournament is {state}")
            return moved

    # -- leases --------------------------------------------------------------------------------------------------------

    def lease(self, key: SittingKey, worker: str, now: datetime, duration: timedelta) -> Lease | LeaseRefusal:
        """Give a planned sitting of a running tournament to a worker until `now` + `duration`, or say why not.

        A worker that asks for a sitting it holds itself gets a new attempt, and its former one is lost. A lease past
        its end still refuses others until `expire_leases` takes it back.
        """
        check_aware(now)
        with self._write() as session:
            return leasing.lease(session, key, worker, now, duration)

    def renew(self, key: SittingKey, attempt: int, now: datetime, duration: timedelta) -> bool:
        """Let an attempt's lease end at `now` + `duration`; False when that attempt no longer holds it."""
        check_aware(now)
        with self._write() as session:
            return leasing.renew(session, key, attempt, now, duration)

    def holds(self, key: SittingKey, attempt: int) -> bool:
        """Whether an attempt holds its sitting's lease; only reads, so it is cheap to ask often."""
        with self._database.read() as session:
            return leasing.holds(session, key, attempt)

    def expire_leases(self, tournament: str, now: datetime, *, max_lost: int | None = None) -> list[SittingKey]:
        """Take back the leases that end at or before `now`; returns their sittings in schedule order.

        They are planned again, or failed when this was the lease number `max_lost` that a sitting lost. With None it
        is not held against a sitting: its worker is known to have been ended by the host.
        """
        check_aware(now)
        with self._write() as session:
            return leasing.expire(session, tournament, now, max_lost)

    def release(
        self,
        key: SittingKey,
        attempt: int,
        note: str,
        *,
        starved_entrant: int | None = None,
        counted: bool = True,
        max_attempts: int = MAX_ATTEMPTS,
    ) -> SittingState:
        """Give a sitting back for an infrastructure failure, `note` being what failed; returns the sitting's state.

        The sitting is planned again, or failed when this was failure number `max_attempts`. An attempt that no longer
        holds the lease changes nothing, so a repeated report counts once. `starved_entrant` is whose time was up on a
        starved machine, where that is what failed. A worker that is stopped gives its sitting back uncounted. Raises
        `UnknownSitting`.
        """
        with self._write() as session:
            return leasing.release(session, key, attempt, note, max_attempts if counted else None, starved_entrant)

    def retry_failed(self, tournament: str) -> list[SittingKey]:
        """Plan failed sittings anew with all their tries; returns them in schedule order."""
        with self._write() as session:
            return leasing.retry_failed(session, tournament)

    def planned(self, tournament: str, limit: int | None = None) -> list[SittingKey]:
        """The sittings that wait for a worker, in schedule order, the first `limit` of them."""
        with self._database.read() as session:
            return leasing.in_state(session, tournament, SittingState.PLANNED, limit)

    def failed(self, tournament: str) -> list[SittingKey]:
        """The sittings that the host must look at, in schedule order."""
        with self._database.read() as session:
            return leasing.in_state(session, tournament, SittingState.FAILED, None)

    def deal_set_recorded(self, tournament: str, match: int) -> bool:
        """Whether every sitting over a match's deal set is recorded, of all matches that share it.

        Raises `UnknownSitting` when there is no such match.
        """
        with self._database.read() as session:
            return leasing.deal_set_recorded(session, tournament, match)

    def leases(self, tournament: str) -> list[Lease]:
        """The leases that are held, in schedule order."""
        with self._database.read() as session:
            return leasing.leases(session, tournament)

    def attempts(self, key: SittingKey) -> list[Attempt]:
        """All attempts at a sitting, oldest first; raises `UnknownSitting`."""
        with self._database.read() as session:
            return leasing.attempts(session, key)

    # -- results -------------------------------------------------------------------------------------------------------

    def record(self, key: SittingKey, attempt: int, result: SittingResult, now: datetime) -> Recorded:
        """Take what a worker reports of a sitting, all of it or nothing.

        The first attempt reported stands, even when its lease had expired meanwhile and whatever state the tournament
        is in. Raises `UnknownSitting` for a sitting or attempt that does not exist, and `InvalidResult` when the digest
        is not the replay's, a seat of a board is named twice, or entrants or boards are not the match's.
        """
        check_aware(now)
        recording.check(key, result)
        compressed = compress(result.replay)
        with self._write() as session:
            return recording.record(session, key, attempt, result, compressed, now)

    def refuse(self, key: SittingKey, attempt: int, digest: str, reason: str, now: datetime) -> None:
        """Keep an alarm for a report that is not taken because of `reason`; `digest` is of what was reported.

        One is kept of each attempt. Raises `UnknownSitting` for a sitting or attempt that does not exist.
        """
        check_aware(now)
        with self._write() as session:
            recording.refuse(session, key, attempt, digest, reason, now)

    def recorded_since(self, moment: datetime) -> tuple[int, int]:
        """How many sittings of all tournaments were recorded since a moment, and their hands."""
        check_aware(moment)
        with self._database.read() as session:
            return results.recorded_since(session, moment)

    def voids(self, tournament: str) -> dict[int, int]:
        """Number of attempts that were voided because an entrant's time was up on a starved machine, by entrant."""
        with self._database.read() as session:
            return results.voids(session, tournament)

    def progress(self, tournament: str) -> Progress:
        """How far a tournament is; its hands, time and faults are those of complete matches."""
        with self._database.read() as session:
            return results.progress(session, tournament)

    def match_times(self, tournament: str) -> dict[int, datetime]:
        """When the last sitting of each complete match was recorded, by match; see `board_totals`."""
        with self._database.read() as session:
            return results.match_times(session, tournament)

    def match_progress(self, tournament: str, *, first_match: int = 0) -> dict[int, tuple[int, int]]:
        """Sittings recorded and in all of each match from `first_match` on, in schedule order."""
        with self._database.read() as session:
            return results.match_progress(session, tournament, first_match)

    def seat_results(self, tournament: str) -> list[tuple[int, int, SeatResult]]:
        """(match, sitting, result) in schedule order: by match, board, sitting, seat."""
        with self._database.read() as session:
            return results.seat_results(session, tournament)

    def board_totals(self, tournament: str, *, first_match: int = 0) -> list[BoardTotal]:
        """What entrants made of the boards of complete matches from `first_match` on, by match, board and entrant.

        A match is complete when every sitting over its deal set is recorded, those of other matches included.
        """
        with self._database.read() as session:
            return results.board_totals(session, tournament, first_match)

    def entrant_tallies(self, tournament: str) -> list[EntrantTally]:
        """The hands of complete matches by match, board, entrant, seat and pass direction."""
        with self._database.read() as session:
            return results.entrant_tallies(session, tournament)

    def thinking_times(self, tournament: str) -> dict[int, ThinkingTime]:
        """Thinking time by entrant, over the sittings of complete matches that tell it."""
        with self._database.read() as session:
            return results.thinking_times(session, tournament)

    def fault_counts(self, tournament: str) -> dict[int, dict[str, int]]:
        """Number of faults in complete matches by entrant and code, those with none left out."""
        with self._database.read() as session:
            return results.fault_counts(session, tournament)

    def faults(self, tournament: str) -> list[tuple[SittingKey, Fault]]:
        """The faults of complete matches in schedule order, those of one sitting as they happened."""
        with self._database.read() as session:
            return results.faults(session, tournament)

    def alarms(self, tournament: str) -> list[Alarm]:
        """All reports that can't be right, in schedule order."""
        with self._database.read() as session:
            return results.alarms(session, tournament)

    def attempt_facts(self, tournament: str) -> list[AttemptFacts]:
        """What tells sound workers from faulty ones, of all attempts, in schedule order."""
        with self._database.read() as session:
            return results.attempt_facts(session, tournament)

    def replay(self, key: SittingKey) -> bytes:
        """The replay of a recorded sitting; raises `UnknownSitting`."""
        with self._database.read() as session:
            return results.replay(session, key)

    def logs(self, key: SittingKey) -> tuple[BotLog, ...]:
        """The bot logs of a recorded sitting; raises `UnknownSitting`."""
        with self._database.read() as session:
            return results.logs(session, key)
