"""Balanced designs: groups of entrants in which all pairs meet equally often, within one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import comb

from arbiter.schedule.difference_family import coverage, develop, least_blocks, search
from arbiter.schedule.errors import ScheduleError, UnbalancedError
from arbiter.schedule.known_families import known_family

SIZES = 6
"""How many numbers of base blocks are tried, from the least on: each block adds as many matches as entrants."""

STEPS = (400, 1200, 3600, 10800)
"""Steps of an attempt, by round: few are often enough, and a hopeless number of blocks must not hold up the others."""

RESIDUES = 50
"""A family of more residues than this gets more steps in proportion."""


def complete_design(entrants: int, seats: int) -> list[tuple[int, ...]]:
    """Return all groups of ``seats`` entrants, in lexicographic order."""
    return list(combinations(range(entrants), seats))


def balanced_design(entrants: int, seats: int, meetings: int) -> list[tuple[int, ...]]:
    """Return groups in which every pair of entrants meets at least ``meetings`` times, and equally often within one.

    The groups are the cyclic development of a difference family (see ``arbiter.schedule.difference_family``), or the
    complete design where no smaller family is found.

    Args:
        entrants: number of entrants, at least ``seats``.
        seats: entrants in a group, at least 2.
        meetings: at most as many as a complete design gives, ``comb(entrants - 2, seats - 2)``.

    Raises:
        ScheduleError: none was found, and the complete design is no way out because it is too large.
    """
    known = known_family(entrants, seats)
    if known is not None and min(coverage(entrants, known)[1:]) >= meetings:
        return develop(entrants, known)
    everything = comb(entrants, seats)
    sizes = _sizes(entrants, seats, meetings)
    for attempt, steps in enumerate(STEPS):
        for blocks in sizes[: 2 * attempt + 2]:  # few blocks are worth an effort before many are
            if blocks * entrants >= everything:
                break
            effort = steps * max(1, blocks * seats // RESIDUES)
            family = search(entrants, seats, blocks, steps=effort, attempt=attempt)
            if family is not None:
                return develop(entrants, family)
    if everything <= sizes[-1] * entrants:
        return complete_design(entrants, seats)
    raise ScheduleError(
        f"no balanced design found for {entrants} entrants in matches of {seats} seats with {meetings} meetings or "
        "more of each pair; one entrant more or less, or another number of meetings, may have one"
    )


def _sizes(entrants: int, seats: int, meetings: int) -> range:
    """Return the numbers of base blocks to try: from the least on, in strides that together loosen the search.

    With the least number nearly all differences must be covered exactly ``meetings`` times, which is hard; with half
    of them covered once more, the search is at its easiest.
    """
    least = least_blocks(entrants, seats, meetings)
    half_more = (entrants - 1) // (2 * seats * (seats - 1))
    stride = max(1, -(-half_more // (SIZES - 1)))
    return range(least, least + SIZES * stride, stride)


def check_balance(entrants: int, matches: Sequence[tuple[int, ...]], *, meetings: int) -> None:
    """Check what a balanced design promises.

    Raises:
        UnbalancedError: an entrant twice in a match, unequal numbers of matches, or pairs whose meetings differ by
            more than one or are fewer than ``meetings``.
    """
    for match in matches:
        if len(set(match)) < len(match):
            raise UnbalancedError(f"match {match} holds an entrant twice; a match needs different entrants")
    played = Counter(entrant for match in matches for entrant in match)
    counts = {played[entrant] for entrant in range(entrants)}
    if len(counts) > 1:
        raise UnbalancedError(f"entrants play {min(counts)} to {max(counts)} matches; all should play equally many")
    met = Counter(pair for match in matches for pair in combinations(sorted(match), 2))
    often = {met[pair] for pair in combinations(range(entrants), 2)}
    if max(often) > min(often) + 1 or min(often) < meetings:
        raise UnbalancedError(
            f"pairs meet {min(often)} to {max(often)} times; they should meet {meetings} times or more, equally often "
            "within one"
        )
