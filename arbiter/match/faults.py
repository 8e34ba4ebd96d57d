"""What a bot did wrong, as it is recorded."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.links import FaultCode


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one bot."""

    entrant: int
    """Its entrant's index in the tournament."""
    code: FaultCode
    detail: str
    """What was seen and what would have been right, in one line."""
    board: int | None = None
    """Number of the board, where the fault belongs to one."""
    hand: int | None = None
    """Number of the hand at that board."""
    seat: int | None = None
    trick: int | None = None
    """Number of the trick, from 1; None in the pass."""
    lost: bool = False
    """Whether the bot was lost by it and the stand-in played on."""
