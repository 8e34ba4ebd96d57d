"""Counting what a schedule promises, apart from the code that makes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations


def meetings_of_pairs(entrants: int, matches: Sequence[tuple[int, ...]]) -> list[int]:
    """Return for each pair of entrants in how many matches both play."""
    together = Counter[tuple[int, int]]()
    for match in matches:
        together.update(combinations(match, 2))
    return [together[pair] for pair in combinations(range(entrants), 2)]


def matches_of_entrants(entrants: int, matches: Sequence[tuple[int, ...]]) -> list[int]:
    """Return for each entrant in how many matches it plays."""
    played = Counter(entrant for match in matches for entrant in match)
    return [played[entrant] for entrant in range(entrants)]


def widest_gap(entrants: int, matches: Sequence[tuple[int, ...]]) -> int:
    """Return the largest difference of two entrants' numbers of matches in any prefix of the list."""
    played = [0] * entrants
    widest = 0
    for match in matches:
        for entrant in match:
            played[entrant] += 1
        widest = max(widest, max(played) - min(played))
    return widest


def assert_balanced(entrants: int, seats: int, matches: Sequence[tuple[int, ...]], *, meetings: int) -> None:
    """Assert everything that a round-robin promises."""
    for match in matches:
        assert len(match) == seats
        assert list(match) == sorted(set(match))
        assert 0 <= match[0] <= match[-1] < entrants
    assert len(set(matches_of_entrants(entrants, matches))) == 1
    met = meetings_of_pairs(entrants, matches)
    assert min(met) >= meetings
    assert max(met) <= min(met) + 1
