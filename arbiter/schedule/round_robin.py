"""The round-robin: everyone meets everyone equally often."""

from __future__ import annotations

from math import comb

from arbiter.schedule.design import balanced_design, check_balance, complete_design
from arbiter.schedule.errors import ScheduleError
from arbiter.schedule.order import spread

MAX_COMPLETE = 70
"""Up to this many matches, all groups of entrants are played: eight entrants at tables of four."""


def round_robin(entrants: int, seats: int, *, meetings: int | None = None) -> list[tuple[int, ...]]:
    """Return the matches of a round-robin.

    Without ``meetings``: all groups of ``seats`` entrants where there are at most ``MAX_COMPLETE`` of them, else a
    balanced design in which every pair meets at least once. With ``meetings``: the smallest design found in which
    every pair meets at least so often; all groups once, or several times, where no smaller one will do.

    Always, every pair of entrants meets equally often within one, every entrant plays equally many matches, and no
    match holds an entrant twice. Who sits where in a match is not decided here.

    Args:
        entrants: number of entrants, at least ``seats``.
        seats: entrants in a match, at least 2.
        meetings: wanted least number of matches in which each pair of entrants meets, at least 1.

    Returns:
        Each match as a sorted tuple of entrants' indexes from 0. The list depends on nothing but the arguments, and
        is ordered so that in each of its prefixes the entrants have played about equally many matches.

    Raises:
        ScheduleError: a number out of its range, or no balanced design found.
        UnbalancedError: a design that does not keep the promise; never seen, always checked.
    """
    if seats < 2:
        raise ScheduleError(f"a match of {seats} seats: there must be at least 2")
    if entrants < seats:
        raise ScheduleError(f"{entrants} entrants can't fill a match of {seats} seats: at least {seats} are needed")
    if meetings is not None and meetings < 1:
        raise ScheduleError(f"meetings = {meetings}: each pair must meet at least once")
    if meetings is None and comb(entrants, seats) <= MAX_COMPLETE:
        return spread(entrants, complete_design(entrants, seats))
    wanted = meetings or 1
    copies, rest = divmod(wanted, comb(entrants - 2, seats - 2))
    matches = spread(entrants, complete_design(entrants, seats)) * copies if copies else []
    if rest:
        matches += spread(entrants, balanced_design(entrants, seats, rest))
    check_balance(entrants, matches, meetings=wanted)
    return matches
