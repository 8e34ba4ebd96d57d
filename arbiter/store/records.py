"""The values that go into the store and come out of it.

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
class SeatResult:
    """What one seat made of one board.

    Attributes:
        board: Number of the board in its deal set, from 1.
        seat: The seat, from 0.
        entrant: Index of the entrant who sat there.
        hands: Hands played on the board.
        points: Points taken over those hands.
        total: The seat's score when the board ended, as the rule set keeps it.
    """

    board: int
    seat: int
    entrant: int
    hands: int
    points: int
    total: int


@dataclass(frozen=True, slots=True)
class HandTally:
    """The hands of one seat of one board under one pass direction.

    Attributes:
        board: Number of the board in its deal set, from 1.
        seat: The seat, from 0.
        direction: Where cards were passed, such as ``left``.
        hands: How many hands those were.
        points: Points taken in them.
        moons: In how many of them the seat shot the moon.
    """

    board: int
    seat: int
    direction: str
    hands: int
    points: int
    moons: int


@dataclass(frozen=True, slots=True)
class EntrantTally:
    """The hands of one entrant on one board in one seat under one pass direction, over all sittings.

    Attributes:
        match: The match's index.
        board: Number of the board in its deal set, from 1.
        entrant: Index of the entrant.
        seat: The seat, from 0.
        direction: Where cards were passed.
        hands: How many hands those were.
        points: Points taken in them.
        moons: In how many of them the entrant shot the moon.
    """

    match: int
    board: int
    entrant: int
    seat: int
    direction: str
    hands: int
    points: int
    moons: int


@dataclass(frozen=True, slots=True)
class ThinkingTime:
    """What an entrant's clocks were charged with in all recorded sittings that tell.

    Attributes:
        seconds: Thinking time.
        answers: Requests answered in it.
    """

    seconds: float
    answers: int


@dataclass(frozen=True, slots=True)
class BoardTotal:
    """What an entrant made of one board over all its seatings.

    Attributes:
        match: The match's index.
        board: Number of the board in its deal set, from 1.
        entrant: Index of the entrant.
        seatings: How often it played the board.
        hands: Hands played on it in all.
        total: Sum of its final scores, as the rule set keeps them.
    """

    match: int
    board: int
    entrant: int
    seatings: int
    hands: int
    total: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing a bot did wrong, with the place where it happened as far as there was one.

    Attributes:
        entrant: Index of the entrant.
        board: Board, from 1, or None outside of any.
        hand: Hand on that board, or None.
        seat: Seat, from 0, or None.
        trick: Trick of that hand, or None.
        code: The fault's name, such as ``ILLEGAL_PLAY``.
        detail: What a reader needs to understand it.
        lost: Whether the bot was lost by it and the stand-in played on.
    """

    entrant: int
    board: int | None
    hand: int | None
    seat: int | None
    trick: int | None
    code: str
    detail: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class BotLog:
    """How one bot process of a sitting ended and what it wrote on stderr.

    Attributes:
        entrant: Index of the entrant.
        ending: How the process ended.
        log: Its stderr as far as it was kept.
        thinking_seconds: What its clock was charged with; None when that was not reported.
        answers: Requests that it answered; None when that was not reported.
    """

    entrant: int
    ending: str
    log: str
    thinking_seconds: float | None = None
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class SittingResult:
    """All that a worker reports of one sitting.

    Attributes:
        results: One for each seat of each board.
        tallies: The same hands by pass direction.
        faults: In the order in which they happened.
        logs: One for each bot process.
        replay: The replay, packed and not compressed; what is in it is none of the store's business.
        digest: SHA-256 of these bytes in lower-case hexadecimal.
        hands: Hands played in all.
        seconds: How long the sitting took, in seconds.
    """

    results: tuple[SeatResult, ...]
    tallies: tuple[HandTally, ...]
    faults: tuple[Fault, ...]
    logs: tuple[BotLog, ...]
    replay: bytes = field(repr=False)
    digest: str
    hands: int
    seconds: float


class Recorded(StrEnum):
    """What became of a reported result."""

    RECORDED = "recorded"  #: it stands
    REPEATED = "repeated"  #: it stood already, reported by the same attempt; nothing changed
    SUPERSEDED = "superseded"  #: another attempt's stands; only this one's digest is kept
    CONFLICT = "conflict"  #: the attempt had reported something else before; an alarm is kept, nothing else changed


@dataclass(frozen=True, slots=True)
class Alarm:
    """A report that can't be right: a second, different one of one attempt, or one whose replay does not verify.

    Attributes:
        key: The sitting.
        attempt: The attempt's number.
        first_digest: What it had reported before; empty when it is this report itself that was refused.
        digest: What it reported then.
        raised_at: When.
        reason: What is wrong with it.
    """

    key: SittingKey
    attempt: int
    first_digest: str
    digest: str
    raised_at: datetime
    reason: str


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


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tournament is.

    Attributes:
        sittings: Number of sittings in each state, every state named.
        matches: Number of matches.
        matches_complete: Those with every sitting recorded.
        hands: Hands in the recorded sittings.
        seconds: Sum of the recorded sittings' durations: worker time, not clock time.
        faults: Faults in the recorded sittings.
    """

    sittings: Mapping[SittingState, int]
    matches: int
    matches_complete: int
    hands: int
    seconds: float
    faults: int

    @property
    def total(self) -> int:
        """Number of sittings in all."""
        return sum(self.sittings.values())

    @property
    def done(self) -> bool:
        """Whether every sitting is recorded."""
        return self.recorded == self.total

    @property
    def unfinished(self) -> int:
        """Number of sittings that are still to be played."""
        return self.sittings[SittingState.PLANNED] + self.sittings[SittingState.LEASED]

    @property
    def recorded(self) -> int:
        """Number of sittings whose result stands."""
        return self.sittings[SittingState.RECORDED]


def check_aware(moment: datetime) -> None:
    """Raise `UsageError` for a time without a timezone."""
    if moment.tzinfo is None:
        raise UsageError(f"the time {moment} has no timezone; use datetime.now(UTC)")
