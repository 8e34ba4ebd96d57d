"""The order of a match's places, so that nobody always has the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def even_places(group: Sequence[Key], before: Iterable[Sequence[Key]]) -> tuple[Key, ...]:
    """Return ``group`` in an order in which its members' places, of the matches ``before`` and this one, are most even.

    Every seating rotates a match's places through all seats. Yet with few boards the place still decides who is whose
    neighbour, so it is dealt out evenly too: of all orders, one with the least sum over members and places of the
    squares of how often the member had the place. That is an assignment problem, solved exactly over subsets of
    members; there are at most 2048 of them at eleven seats.

    Args:
        group: members of the match, in an order that decides between equals.
        before: earlier matches in the order of their places.
    """
    had = Counter((member, place) for match in before for place, member in enumerate(match) if member in group)
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}  # by members placed: least cost, and who sits where
    for place in range(len(group)):
        following: dict[int, tuple[int, tuple[int, ...]]] = {}
        for placed, (cost, order) in best.items():
            for index, member in enumerate(group):
                if placed >> index & 1:
                    continue
                # One time more adds 2 c + 1 to the square of c.
                found = (cost + 2 * had[member, place] + 1, (*order, index))
                subset = placed | 1 << index
                if subset not in following or found < following[subset]:
                    following[subset] = found
        best = following
    _, order = best[(1 << len(group)) - 1]
    return tuple(group[index] for index in order)
