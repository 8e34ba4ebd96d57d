"""The knockout with groups of n: the best of each group go on, until one group is left, the final.

With m entrants left, a stage has m // n groups, and m mod n entrants have a bye. Where fewer than n would be left for
the final, the best of those who lost in this stage go on as well, so that every table is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from arbiter.schedule.errors import ScheduleError
from arbiter.schedule.results import Stage, check_lots


@dataclass(frozen=True, slots=True)
class KnockoutRecord:
    """How far an entrant got.

    Attributes:
        reached: number of the last stage that it reached, from 0, by a bye too.
        place: its place in the group there, 0 is best, equals share it; None while that is not played.
        merit: its merit there; None while that is not played.
    """

    reached: int
    place: int | None
    merit: Fraction | None


def knockout_sizes(entrants: int, seats: int, advance: int) -> list[int]:
    """Return the number of groups of each stage, the last of which is the final.

    Args:
        entrants: number of entrants, at least ``seats``.
        seats: entrants in a group, at least 2.
        advance: how many of a group go on, 1 to ``seats`` - 1.

    Raises:
        ScheduleError: a number out of its range.
    """
    if seats < 2 or entrants < seats:
        raise ScheduleError(f"{entrants} entrants can't fill a match of {seats} seats: at least {seats} are needed")
    if not 1 <= advance < seats:
        raise ScheduleError(f"advance = {advance}: of a group of {seats}, 1 to {seats - 1} can go on")
    sizes = []
    while entrants > seats:
        groups, byes = divmod(entrants, seats)
        sizes.append(groups)
        entrants = max(seats, groups * advance + byes)
    return [*sizes, 1]


def knockout_stage(
    entrants: int, seats: int, advance: int, played: Sequence[Stage], lots: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the matches of the stage that follows those ``played``; none after the final.

    Seeds are by lot at first, and later by place in the last group, then by the seeds before; a bye counts as a first
    place. Byes go to those with the fewest so far, best seeds first. The others are dealt to the groups in serpentine:
    1, 2, 3, 3, 2, 1, so that winners of groups meet late.

    Of a group, those of the highest merit go on; equals are parted by the better seed.

    Args:
        entrants: number of entrants.
        seats: entrants in a group.
        advance: how many of a group go on.
        played: the stages so far, the matches of each in any order.
        lots: by entrant, its place in the draw of lots or in a list of seeds.

    Returns:
        The groups in order of their best seeds, each with its best seed first.

    Raises:
        ScheduleError: a number out of its range, or stages that are none of this knockout.
    """
    stages = list(_replay(entrants, seats, advance, played, lots))
    return [] if len(played) == len(knockout_sizes(entrants, seats, advance)) else stages[-1].groups


def knockout_records(
    entrants: int, seats: int, advance: int, played: Sequence[Stage], lots: Sequence[int]
) -> list[KnockoutRecord]:
    """Return how far each entrant got; arguments and errors as of :func:`knockout_stage`."""
    records = [KnockoutRecord(0, None, None)] * entrants
    for number, stage in enumerate(_replay(entrants, seats, advance, played, lots)):
        for entrant in stage.seeds:
            records[entrant] = KnockoutRecord(number, None, None)
        for result in played[number] if number < len(played) else ():
            for entrant, merit in zip(result.entrants, result.merits, strict=True):
                better = sum(other > merit for other in result.merits)
                records[entrant] = KnockoutRecord(number, better, merit)
    return records


@dataclass(frozen=True, slots=True)
class _Stage:
    seeds: list[int]
    """Who is left, best seed first."""
    groups: list[tuple[int, ...]]


def _replay(entrants: int, seats: int, advance: int, played: Sequence[Stage], lots: Sequence[int]) -> Iterator[_Stage]:
    """The stages that were played, and the one that follows unless that was the final."""
    sizes = knockout_sizes(entrants, seats, advance)
    check_lots(entrants, lots)
    if len(played) > len(sizes):
        raise ScheduleError(f"{len(played)} stages were played; a knockout of {entrants} entrants has {len(sizes)}")
    seeds = sorted(range(entrants), key=lots.__getitem__)
    byes = [0] * entrants
    for number in range(len(sizes)):
        resting = set(sorted(seeds, key=lambda entrant: byes[entrant])[: len(seeds) % seats])
        for entrant in resting:
            byes[entrant] += 1
        groups = _serpentine([entrant for entrant in seeds if entrant not in resting], sizes[number])
        yield _Stage(seeds, groups)
        if number == len(played):
            return
        if sorted(sorted(group) for group in groups) != sorted(sorted(result.entrants) for result in played[number]):
            raise ScheduleError(f"stage {number + 1} has other groups than this knockout: {groups} were to be played")
        seeds = _survivors(seeds, played[number], seats, advance)


def _serpentine(seeds: Sequence[int], groups: int) -> list[tuple[int, ...]]:
    dealt: list[list[int]] = [[] for _ in range(groups)]
    for number, entrant in enumerate(seeds):
        lap, group = divmod(number, groups)
        dealt[group if lap % 2 == 0 else groups - 1 - group].append(entrant)
    return [tuple(group) for group in dealt]


def _survivors(seeds: Sequence[int], stage: Stage, seats: int, advance: int) -> list[int]:
    """Who goes on, best seed first."""
    seed = {entrant: number for number, entrant in enumerate(seeds)}
    place = dict.fromkeys(seeds, 0)
    merit: dict[int, Fraction] = {}
    for result in stage:
        merit |= zip(result.entrants, result.merits, strict=True)
        ranked = sorted(result.entrants, key=lambda entrant: (-merit[entrant], seed[entrant]))
        place |= {entrant: number for number, entrant in enumerate(ranked)}
    on = [entrant for entrant in seeds if place[entrant] < advance]
    out = [entrant for entrant in seeds if place[entrant] >= advance]
    out.sort(key=lambda entrant: (place[entrant], -merit[entrant], seed[entrant]))
    on += out[: max(0, seats - len(on))]
    return sorted(on, key=lambda entrant: (place[entrant], seed[entrant]))
