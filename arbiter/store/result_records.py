"""What workers report of sittings, and what is counted of it; as the values in `arbiter.store.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from arbiter.store.records import SittingKey, SittingState


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
