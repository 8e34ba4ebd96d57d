"""What is kept of a hand: enough to play it again and to see who failed in it."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.engine import Moon, PassDirection, Trick
from arbiter.match.faults import Fault


@dataclass(frozen=True, slots=True)
class HandRecord:
    """One finished hand."""

    board: int
    number: int
    """Number of the hand at its board, from 1."""
    places: tuple[int, ...]
    """By seat: place of who sat there in the sitting's list of bots."""
    dealer: int
    direction: PassDirection
    dealt: tuple[int, ...]
    """By seat: cards dealt, as masks."""
    kitty: int
    passed: tuple[tuple[int, ...], ...] | None
    """By seat: card indexes passed."""
    tricks: tuple[Trick, ...]
    """Finished tricks."""
    unfinished: tuple[int, ...]
    """Card indexes of the trick that an offence cut short, the leader's first."""
    offenders: tuple[int, ...]
    """Seats whose revoke or fault ended the hand."""
    chosen_moon: Moon | None
    """What the shooter of a moon chose, where it had a choice."""
    moon: int | None
    """Seat that shot the moon."""
    points: tuple[int, ...]
    """By seat: points of the hand, moon and all."""
    totals: tuple[int, ...]
    """By seat: totals after the hand."""
    absent: tuple[int, ...]
    """Seats whose bot was out before the hand began; the stand-in made all their decisions."""
    missed: tuple[tuple[int, int], ...]
    """(seat, decision) in ascending order: what a bot that was there at the hand's start owed and did not give, or not
    legally. Decision 0 is the pass, then the number of the trick, and one more for the choice about a moon. The
    stand-in made it, or the hand ended by it."""
    faults: tuple[Fault, ...]

    @property
    def stand_ins(self) -> tuple[int, ...]:
        """Seats for which the stand-in decided at least once."""
        last = len(self.tricks) + 1
        decided = {seat for seat, decision in self.missed if not (seat in self.offenders and decision == last)}
        return tuple(sorted(decided.union(self.absent)))
