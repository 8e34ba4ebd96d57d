"""The gauntlet: champions against a field, never against one another."""

from __future__ import annotations

from arbiter.schedule.errors import ScheduleError
from arbiter.schedule.round_robin import round_robin


def gauntlet(entrants: int, seats: int, champions: int, *, meetings: int | None = None) -> list[tuple[int, ...]]:
    """Return the matches of a gauntlet: one champion and ``seats`` - 1 of the field in each.

    The field sits in the groups of a round-robin of its own with one seat less, and every champion meets every group.
    So all champions meet the same company, each meets everyone of the field equally often, and any two of the field
    meet equally often within one for each champion.

    Args:
        entrants: number of entrants; the champions come first.
        seats: entrants in a match, at least 2.
        champions: number of champions, at least 1.
        meetings: how often a champion should meet each of the field at least; None leaves it to the round-robin.

    Returns:
        Each match as a tuple of indexes, the champion first, then the field's in ascending order. Groups are ordered so
        that in each prefix the field has played about equally much.

    Raises:
        ScheduleError: a number out of its range, a field too small, or no balanced design found.
    """
    field = entrants - champions
    if seats < 2 or champions < 1:
        raise ScheduleError(f"a gauntlet of {champions} champions at {seats} seats: there must be 1 and 2 at least")
    if field < seats - 1:
        raise ScheduleError(
            f"{champions} of {entrants} entrants are champions, which leaves a field of {max(field, 0)}: "
            f"at {seats} seats at least {seats - 1} are needed"
        )
    if meetings is not None and meetings < 1:
        raise ScheduleError(f"meetings = {meetings}: each champion must meet each of the field at least once")
    groups = _groups(field, seats - 1, meetings)
    return [(champion, *(champions + member for member in group)) for group in groups for champion in range(champions)]


def _groups(field: int, size: int, times: int | None) -> list[tuple[int, ...]]:
    """Groups of the field in which each member is equally often, ``times`` at least."""
    if size == 1:
        return [(member,) for _ in range(times or 1) for member in range(field)]
    if size == field:
        return [tuple(range(field))] * (times or 1)
    if times is None:
        return round_robin(field, size)
    # A member that meets each of the others L times has L (field - 1) companions in all, size - 1 in each group.
    return round_robin(field, size, meetings=-(-times * (size - 1) // (field - 1)))
