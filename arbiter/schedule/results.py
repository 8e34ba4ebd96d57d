"""What schedules look back on: matches with their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from arbiter.schedule.errors import ScheduleError

Key = TypeVar("Key", int, str)


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match that was played to its end.

    Attributes:
        entrants: indexes of those who met; sides of two in partnership count as one.
        merits: by position in ``entrants``: how well each did, the higher the better, such as points per hand with
            their sign turned where few are good. Exact, so that equal ones are equal.

    Raises:
        ScheduleError: an entrant twice, or another number of merits than of entrants.
    """

    entrants: tuple[int, ...]
    merits: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Refuse what can't be a result."""
        if len(set(self.entrants)) < len(self.entrants) or len(self.merits) != len(self.entrants):
            raise ScheduleError(f"a match of {self.entrants} with {len(self.merits)} merits: give different ones each")

    def merit(self, entrant: int) -> Fraction:
        """How well an entrant of the match did."""
        return self.merits[self.entrants.index(entrant)]


Stage = Sequence[MatchResult]
"""Matches that were planned together; their order says nothing."""


def check_lots(entrants: int, lots: Sequence[int]) -> None:
    """Raise :class:`ScheduleError` unless each entrant has a lot of its own, 0 to ``entrants`` - 1."""
    if sorted(lots) != list(range(entrants)):
        raise ScheduleError(f"lots {list(lots)}: each of {entrants} entrants needs one of its own, counted from 0")


def check_stages(entrants: int, seats: int, matches: int, played: Sequence[Stage]) -> None:
    """Raise :class:`ScheduleError` unless every stage has ``matches`` matches in which nobody plays twice."""
    for number, stage in enumerate(played, 1):
        seated = [entrant for result in stage for entrant in result.entrants]
        full = len(stage) == matches and all(len(result.entrants) == seats for result in stage)
        if not full or len(set(seated)) < len(seated) or not set(seated) <= set(range(entrants)):
            raise ScheduleError(
                f"stage {number} is not one of {matches} matches of {seats} different entrants from 0 to {entrants - 1}"
            )


def meetings(matches: Iterable[Sequence[Key]]) -> Counter[tuple[Key, Key]]:
    """How often two entrants met, under (lower, higher)."""
    return Counter(pair for match in matches for pair in combinations(sorted(match), 2))
