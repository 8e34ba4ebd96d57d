"""Who is ahead, by the rule of each format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from arbiter.rating import Standing
from arbiter.schedule import Stage, knockout_records, swiss_scores
from arbiter.tournament.formats import Knockout, Swiss, TournamentFormat


@dataclass(frozen=True, slots=True)
class Ranked:
    """A side's place.

    Attributes:
        standing: what its boards say.
        rank: 1 is best; equals share a rank, and the next one counts them.
        score: in a Swiss tournament, the score after the last complete stage; else None.
        reached: in a knockout, the number of the last stage that it reached, from 0; else None.
    """

    standing: Standing
    rank: int
    score: Fraction | None = None
    reached: int | None = None


def rank_sides(
    chosen: TournamentFormat, seats: int, played: Sequence[Stage], lots: Sequence[int], table: Sequence[Standing]
) -> list[Ranked]:
    """Put the standings by points per hand into the order of a format, best first.

    Round-robin and gauntlet: points per hand. Swiss: score, then points per hand. Knockout: stage reached, then place
    in the group there, then points per hand in it.

    Args:
        chosen: the format.
        seats: sides at a table.
        played: complete stages.
        lots: by side, its place in the seeding.
        table: standings by points per hand, best first.
    """
    if isinstance(chosen, Swiss):
        scores = swiss_scores(len(table), seats, played)
        return _ranked(
            [((-scores[each.entrant], each.rank), Ranked(each, 0, score=scores[each.entrant])) for each in table]
        )
    if isinstance(chosen, Knockout):
        records = knockout_records(len(table), seats, chosen.advance, played, lots)
        found = []
        for each in table:
            record = records[each.entrant]
            there = (record.place or 0, -(record.merit or 0))
            found.append(((-record.reached, *there), Ranked(each, 0, reached=record.reached)))
        return _ranked(found)
    return [Ranked(each, each.rank) for each in table]


def _ranked(found: Sequence[tuple[tuple[Fraction | int, ...], Ranked]]) -> list[Ranked]:
    """In order of the keys, least first, with their ranks."""
    ordered = sorted(found, key=lambda pair: pair[0])
    keys = [key for key, _ in ordered]
    return [Ranked(ranked.standing, 1 + keys.index(key), ranked.score, ranked.reached) for key, ranked in ordered]
