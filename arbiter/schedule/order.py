"""Order matches so that every prefix of the list is fair: nobody is far ahead in matches played."""

from __future__ import annotations

from collections.abc import Sequence

LEAD_WEIGHT = 4
"""Weight of a lead relative to one that is a match shorter: the longest lead at a table decides, then their number."""


def spread(entrants: int, matches: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return ``matches`` in an order in which all entrants' numbers of matches grow together.

    Greedy: the entrant who has played least (the lowest index among equals) is served next, with that one of its
    remaining matches whose members have played least. So a running tournament can be read at any moment, without one
    entrant's result resting on far more evidence than another's.

    Args:
        entrants: number of entrants; the matches hold the indexes ``0 .. entrants - 1``.
        matches: groups of entrants, all of one size, each entrant in equally many of them.

    Returns:
        The same matches, each as often as given. The order depends on nothing but the arguments.
    """
    played = [0] * entrants
    waiting: list[dict[int, None]] = [{} for _ in range(entrants)]  # the numbers of an entrant's matches, in order
    for number, match in enumerate(matches):
        for entrant in match:
            waiting[entrant][number] = None
    ordered: list[tuple[int, ...]] = []
    while len(ordered) < len(matches):
        behind = min((entrant for entrant in range(entrants) if waiting[entrant]), key=played.__getitem__)
        burden = {
            number: sum(LEAD_WEIGHT ** (played[entrant] - played[behind]) for entrant in matches[number])
            for number in waiting[behind]
        }
        chosen = min(burden, key=burden.__getitem__)
        for entrant in matches[chosen]:
            played[entrant] += 1
            del waiting[entrant][chosen]
        ordered.append(matches[chosen])
    return ordered
