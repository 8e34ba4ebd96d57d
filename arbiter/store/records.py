"""The values that go into the store and come out of it: plans, sittings and attempts, who leads. Results are beside.

All are immutable and know nothing of the database. They count from zero, except for attempts and boards, which count
from one. All times are timezone-aware and come back in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from arbiter.errors import UsageError


class TournamentState(StrEnum):
    """Where a tournament is in its life; see `TRANSITIONS` for the ways between."""

    DRAFT = "draft"  #: being put together; nothing is played
    SCHEDULED = "scheduled"  #: complete and fixed, waiting for its start
    RUNNING = "running"  #: its sittings are leased out
    PAUSED = "paused"  #: nothing is played; what was being played waits to be played again
    COMPLETED = "completed"  #: every sitting is recorded, or as many as a gate's verdict took; final
    CANCELLED = "cancelled"  #: ended early by the host; final
    FAILED = "failed"  #: can't go on without the host, who may set it running again


TRANSITIONS: Mapping[TournamentState, frozenset[TournamentState]] = {
    TournamentState.DRAFT: frozenset({TournamentState.SCHEDULED, TournamentState.CANCELLED, TournamentState.FAILED}),
    TournamentState.SCHEDULED: frozenset({TournamentState.RUNNING, TournamentState.CANCELLED, TournamentState.FAILED}),
    TournamentState.RUNNING: frozenset(
        {TournamentState.PAUSED, TournamentState.COMPLETED, TournamentState.CANCELLED, TournamentState.FAILED}
    ),
    TournamentState.PAUSED: frozenset({TournamentState.RUNNING, TournamentState.CANCELLED, TournamentState.FAILED}),
    TournamentState.FAILED: frozenset({TournamentState.RUNNING, TournamentState.CANCELLED}),
    TournamentState.COMPLETED: frozenset(),
    TournamentState.CANCELLED: frozenset(),
}
"""The states that each state can change to."""

FINISHED: frozenset[TournamentState] = frozenset(
    {TournamentState.COMPLETED, TournamentState.CANCELLED, TournamentState.FAILED}
)
"""The states in which a tournament has a finishing time."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """One event: what was asked for, and how far it is.

    Attributes:
        id: Unique name in addresses and commands, e.g. ``demo-1a2b``; no slash and no space.
        name: What people read.
        state: Where it is in its life.
        spec: The normalised tournament file, JSON values only.
        deal_seed: Secret until the last sitting is recorded; never part of the `repr`.
        created_at: When it was made.
        finished_at: When it reached a state in `FINISHED`, else None.
        failure: Why it failed; given exactly in state ``failed``.
    """

    id: str
    name: str
    state: TournamentState
    spec: dict[str, object]
    deal_seed: bytes = field(repr=False)
    created_at: datetime
    finished_at: datetime | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Entrant:
    """One bot version in a tournament.

    Attributes:
        index: Its number in the tournament, from 0.
        name: What people read.
        digest: The content address of its files.
        manifest: What its author declared, JSON values only.
        joined: How many matches were planned when it came; 0 but in a ladder.
        gone: How many were planned when it left; None while it is there.
    """

    index: int
    name: str
    digest: str
    manifest: dict[str, object]
    joined: int = 0
    gone: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A group of entrants over one deal set.

    Attributes:
        index: Its place in the schedule, from 0.
        entrants: Indexes of the entrants, in schedule order.
        deal_seed: Secret of its deal set; never part of the `repr`.
        commitment: The published hash of the deal seed.
        boards: How many boards the deal set has.
    """

    index: int
    entrants: tuple[int, ...]
    deal_seed: bytes = field(repr=False)
    commitment: str
    boards: int


LARGEST = 2**31 - 1
"""The largest number that is kept of anything; whoever names a larger one names nothing that there is."""

_SITTING_KEY = re.compile(r"([^/\s]+)/(0|[1-9][0-9]{0,8})/(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True, order=True)
class SittingKey:
    """The address of one sitting; keys of one tournament sort in schedule order.

    Attributes:
        tournament: The tournament's id.
        match: The match's index.
        sitting: The sitting's number in its match, from 0.
    """

    tournament: str
    match: int
    sitting: int

    def __str__(self) -> str:
        return f"{self.tournament}/{self.match}/{self.sitting}"

    @classmethod
    def parse(cls, text: str) -> SittingKey:
        """Read what `str` wrote; raises `UsageError` on anything else."""
        found = _SITTING_KEY.fullmatch(text)
        if found is None:
            raise UsageError(f"{text!r} does not name a sitting; write TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0")
        return cls(found[1], int(found[2]), int(found[3]))


class SittingState(StrEnum):
    """Where a sitting is."""

    PLANNED = "planned"  #: waiting for a worker
    LEASED = "leased"  #: a worker holds it until its lease expires
    RECORDED = "recorded"  #: its result stands; final
    FAILED = "failed"  #: given back or lost too often; the host must look


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's hold on a sitting.

    Attributes:
        key: The sitting.
        attempt: The number of this try at the sitting, from 1.
        worker: Who holds it.
        expires_at: From this moment on it may be taken back.
    """

    key: SittingKey
    attempt: int
    worker: str
    expires_at: datetime


class LeaseRefusal(StrEnum):
    """Why a worker gets no lease."""

    UNKNOWN = "unknown"  #: there is no such sitting
    RECORDED = "recorded"  #: its result stands already
    LEASED = "leased"  #: another worker holds it
    NOT_RUNNING = "not_running"  #: its tournament is not running
    FAILED = "failed"  #: the host has to look at it first
    GAVE_BACK = "gave_back"  #: this worker could not play it when it tried last, and another one is at work


class AttemptOutcome(StrEnum):
    """How a try at a sitting ended."""

    RUNNING = "running"  #: it holds the lease
    LOST = "lost"  #: its lease expired, or its worker asked for the sitting anew
    RECORDED = "recorded"  #: its result stands
    SUPERSEDED = "superseded"  #: the result of another attempt stands
    RECALLED = "recalled"  #: its tournament was paused or ended, or its worker stopped; held against nobody
    INFRASTRUCTURE = "infrastructure"  #: its worker gave it back: the machine failed, not a bot


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a sitting.

    Attributes:
        number: From 1 in its sitting.
        worker: Who made it.
        leased_at: When it began.
        outcome: How it ended.
        note: Why, where there is more to say; else empty.
        digest: Digest of the replay it reported, None when it reported none.
        starved_entrant: Whose time was up on a starved machine, where that voided it.
        agrees: Whether that digest equals the standing result's; None when it reported none.
    """

    number: int
    worker: str
    leased_at: datetime
    outcome: AttemptOutcome
    note: str
    digest: str | None
    starved_entrant: int | None
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What tells a sound worker from a faulty one.

    Attributes:
        key: The sitting.
        number: The attempt's number.
        worker: Who made it.
        outcome: How it ended.
        faults: Faults in its result, where that stands.
        times: (entrant, seconds, answers) of its bots, where its result stands and tells.
    """

    key: SittingKey
    number: int
    worker: str
    outcome: AttemptOutcome
    faults: int
    times: tuple[tuple[int, float, int], ...]


@dataclass(frozen=True, slots=True)
class Leadership:
    """The lead in a matter, as one process has it.

    Attributes:
        matter: What there is one leader of.
        holder: Who leads.
        term: Goes up each time that somebody takes the lead.
        expires_at: From this moment on somebody else may.
    """

    matter: str
    holder: str
    term: int
    expires_at: datetime


def check_aware(moment: datetime) -> None:
    """Raise `UsageError` for a time without a timezone."""
    if moment.tzinfo is None:
        raise UsageError(f"the time {moment} has no timezone; use datetime.now(UTC)")
