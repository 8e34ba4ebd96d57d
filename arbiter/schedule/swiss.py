"""The Swiss system at tables of n: equals in score meet, and nobody meets anyone again while that is avoidable.

It is that of chess, read for many players (FIDE Handbook C.04.1, basic rules for Swiss systems): at each table an
entrant scores a point for everyone whom it outdoes and half a point for everyone whom it equals. A bye scores what is
the mean of a table, as if all were equal: up to n - 1 entrants rest at a time, and if each scored a won table, as the
single one in chess does, they would pass half of those who played.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from arbiter.schedule.errors import ScheduleError
from arbiter.schedule.places import even_places
from arbiter.schedule.results import Stage, check_lots, check_stages, meetings
from arbiter.schedule.tables import Field, least_repeats


def swiss_scores(entrants: int, seats: int, played: Sequence[Stage]) -> list[Fraction]:
    """Return each entrant's score: over all tables, 1 for everyone outdone, 1/2 for everyone equalled; for a bye,
    half of ``seats`` - 1.

    Raises:
        ScheduleError: a stage that is none of this Swiss.
    """
    check_stages(entrants, seats, entrants // seats, played)
    scores = [Fraction(0)] * entrants
    for stage in played:
        resting = set(range(entrants))
        for result in stage:
            for mine, merit in zip(result.entrants, result.merits, strict=True):
                resting.discard(mine)
                outdone = sum(merit > other for other in result.merits)
                equalled = sum(merit == other for other in result.merits) - 1
                scores[mine] += outdone + Fraction(equalled, 2)
        for entrant in resting:
            scores[entrant] += Fraction(seats - 1, 2)
    return scores


def swiss_stage(entrants: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the matches of the stage that follows those ``played``.

    Entrants are ranked by score, then lot. What counts, in this order:

    1. The ``entrants`` mod ``seats`` byes go to those who have had fewest.
    2. The sum over all pairs at a table of how often they met before is least (see
       :func:`arbiter.schedule.tables.least_repeats` for what is proved).
    3. From the top down, each table is as near in rank as the others leave open, so that score groups stay together;
       byes fall to the lowest ranks.

    Args:
        entrants: number of entrants, at least ``seats``.
        seats: entrants in a match, at least 2.
        played: the stages so far, each of ``entrants // seats`` matches, in any order.
        lots: by entrant, its place in the draw of lots, which decides between equals.

    Returns:
        The matches, top table first; each as indexes in the order of the match's places, which are dealt out evenly.

    Raises:
        ScheduleError: a number out of its range, or a stage that is none of this Swiss.
    """
    if seats < 2 or entrants < seats:
        raise ScheduleError(f"{entrants} entrants can't fill a match of {seats} seats: at least {seats} are needed")
    check_lots(entrants, lots)
    scores = swiss_scores(entrants, seats, played)
    matches = [result.entrants for stage in played for result in stage]
    seated = [entrant for match in matches for entrant in match]
    byes = [len(played) - seated.count(entrant) for entrant in range(entrants)]
    ranking = sorted(range(entrants), key=lambda entrant: (-scores[entrant], lots[entrant]))
    met = meetings(matches)
    resting = entrants % seats
    # Who has had fewer byes than the last one to be given has to rest; who has had more has to play.
    limit = sorted(byes)[resting - 1] if resting else min(byes) - 1
    playing = [entrant for entrant in ranking if byes[entrant] >= limit]
    field = Field(
        meetings=tuple(tuple(met[min(a, b), max(a, b)] for b in playing) for a in playing),
        may_rest=tuple(byes[entrant] == limit for entrant in playing),
        seats=seats,
    )
    tables = [[playing[member] for member in table] for table in least_repeats(field)]
    return [even_places(table, matches) for table in tables]
