"""What a sitting is: everything that decides its course, but for the bots' own doing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from arbiter.deals import ROTATIONS, Seatings
from arbiter.engine import RuleSet
from arbiter.errors import UsageError
from arbiter.match.clock import Clock


class MatchFormat(StrEnum):
    """What one board of a match is."""

    HANDS = "hands"
    """One hand."""
    GAME = "game"
    """A whole game, to the rule set's end."""


class FaultPolicy(StrEnum):
    """What a fault costs, a revoke apart, which costs what the rule set says."""

    STAND_IN = "stand_in"
    """The stand-in plays a legal card for the bot, and plays on for it after too many faults."""
    PENALTY = "penalty"
    """The hand ends: its whole positive total goes to the bot, 0 to the others."""
    FORFEIT_MATCH = "forfeit_match"
    """As with the stand-in; after too many faults in a match every hand of it counts as the worst for the bot."""


@dataclass(frozen=True, slots=True)
class SeatedBot:
    """One bot of a sitting."""

    entrant: int
    """Its entrant's index in the tournament."""
    name: str
    digest: str
    """SHA-256 of its fixed version, in hexadecimal digits."""
    bot_seed: bytes = field(repr=False)
    """Seed for its own randomness, 16 bytes."""
    clock: Clock = field(default_factory=Clock)
    """What it is allowed."""


class PlanError(UsageError):
    """A sitting that can't be played as it is planned; says which part of the plan it is."""


@dataclass(frozen=True, slots=True)
class SittingPlan:
    """One seating of one match over its deal set.

    Raises:
        PlanError: a number in it is out of its range.
    """

    sitting: str
    """Id, such as ``demo-1a2b/3/0``."""
    rules: RuleSet
    format: MatchFormat
    boards: int
    """Number of boards; they are numbered from 1."""
    deal_seed: bytes = field(repr=False)
    """Seed of the deal set. Never reaches a bot."""
    seating: int
    """Which of the match's seatings this is, from 0."""
    bots: tuple[SeatedBot, ...]
    """In the match's order of entrants; a place in this list is what seatings speak of."""
    seatings: Seatings = ROTATIONS
    """In which arrangements each board of the match is played."""
    open_tables: int = 256
    """How many tables may be open at once at the most."""
    fault_limit: int = 3
    """With more faults than this in a sitting a bot is out, and the stand-in plays on for it."""
    fault_policy: FaultPolicy = FaultPolicy.STAND_IN
    early_end: bool = False
    """Whether a hand ends as soon as every card with points is taken; the score is the same."""

    def __post_init__(self) -> None:
        seats, clocks = self.rules.players, [bot.clock for bot in self.bots]
        sittings = self.seatings.sittings(self.rules)
        for wrong, part in (
            (len(self.bots) != seats, f"{len(self.bots)} bots for {seats} seats"),
            (self.boards < 1, f"boards = {self.boards}; at least 1 is needed"),
            (not 0 <= self.seating < sittings, f"seating = {self.seating}; there are 0 to {sittings - 1}"),
            (self.open_tables < 1, f"open_tables = {self.open_tables}; at least 1 is needed"),
            (self.fault_limit < 0, f"fault_limit = {self.fault_limit}; 0 is the least"),
            (
                any(min(clock.start_up, clock.hard_stop) <= 0 for clock in clocks),
                "start_up and hard_stop have to be above 0 seconds",
            ),
            (
                any(min(clock.bank, clock.increment, clock.margin) < 0 for clock in clocks),
                "bank, increment and margin can't be below 0 seconds",
            ),
        ):
            if wrong:
                raise PlanError(f"sitting {self.sitting}: {part}")
