"""Divides a ranked field into tables with the fewest repeated meetings, neighbours in rank together.

To decide whether a field can be seated without repetition is a partition of a graph into cliques, which no quick method
solves in general; yet fields of tournaments are easy nearly always. So the search is exhaustive within a number of
steps, and where that does not do, exchanges improve what there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

STEPS: Final = 100_000
"""Members tried at a table before the search gives up."""

EXCHANGES: Final = 1_500
"""Exchanges tried where it has given up."""

REST: Final = 8
"""Exchanges for which a member stays where it was put, so that the next ones don't undo it."""


@dataclass(frozen=True, slots=True)
class Field:
    """Who is to be seated. Members are numbers from 0, best rank first.

    Attributes:
        meetings: ``meetings[a][b]``: how often a and b met before; symmetric.
        may_rest: by member, whether it may have a bye; there are as many byes as do not fill a table.
        seats: members at a table.
    """

    meetings: tuple[tuple[int, ...], ...]
    may_rest: tuple[bool, ...]
    seats: int

    @property
    def byes(self) -> int:
        """Number of members that rest."""
        return len(self.may_rest) % self.seats

    def repeats(self, table: Sequence[int]) -> int:
        """Sum over the pairs of a table of how often they met before."""
        return sum(self.meetings[a][b] for place, a in enumerate(table) for b in table[:place])


def least_repeats(field: Field) -> list[tuple[int, ...]]:
    """Return tables with the least sum of earlier meetings; who is at none has a bye.

    Of all such divisions it is the first in lexicographic order: the best member's table is the nearest in rank that is
    possible at all, then that of the best member left, and so on. The search deepens by the limit on the sum (as IDA*
    does: Korf, *Depth-first iterative-deepening*, Artificial Intelligence 27, 1985), so that its first find is least.

    Found and proved least within :data:`STEPS` steps, which do for any field of up to ten members, and for larger ones
    where some room is left: where everyone has met about half of the others, say. Beyond, tables by rank are improved
    by exchanges. Either way the result depends on nothing but ``field``.
    """
    limit, steps = 0, STEPS
    while True:
        search = _Search(field, limit, steps)
        found = search.run()
        if found is not None:
            return found
        steps = search.steps
        if steps <= 0:
            return _exchanged(field)
        assert search.least_over is not None
        limit = search.least_over


class _Search:
    """Depth first over decisions: the best member that is undecided leads a table, or rests; the others of a table
    follow in ascending order."""

    def __init__(self, field: Field, limit: int, steps: int) -> None:
        self._field: Final = field
        self._limit: Final = limit
        self.steps = steps
        """How many are left."""
        self.least_over: int | None = None
        """Least sum above the limit that was met with."""
        self._open: Final = [True] * len(field.may_rest)
        self._decisions: Final[list[tuple[int, bool, int]]] = []
        """Member, whether it plays, and the sum before."""
        self._table: list[int] = []
        self._tables: Final[list[list[int]]] = []
        self._sum = 0
        self._rests = field.byes
        self._must_play = field.may_rest.count(False)
        self._seats_left = len(field.may_rest) - field.byes

    def run(self) -> list[tuple[int, ...]] | None:
        """The first division within the limit; None when there is none, or no step is left."""
        after = -1
        while self._seats_left:
            if self._advance(after):
                after = -1
                continue
            undone = self._undo()
            if undone is None or self.steps <= 0:
                return None
            after = undone
        return [tuple(table) for table in self._tables]

    def _advance(self, after: int) -> bool:
        """Decide on the next member beyond ``after``, or the first where that is -1; False when there is none."""
        if not self._table or len(self._table) == self._field.seats:
            return after < 0 and (self._play(first := self._open.index(True), 0) or self._rest(first))
        rows = [self._field.meetings[member] for member in self._table]
        room = self._limit - self._sum
        for member in range(max(after, self._table[-1]) + 1, len(self._open)):
            if not self._open[member]:
                continue
            self.steps -= 1
            added = sum(row[member] for row in rows)
            if added > room:
                over = self._sum + added
                self.least_over = over if self.least_over is None else min(over, self.least_over)
            elif self._play(member, added):
                return True
        return False

    def _play(self, member: int, added: int) -> bool:
        must = not self._field.may_rest[member]
        if self._must_play - must > self._seats_left - 1:
            return False
        if not self._table or len(self._table) == self._field.seats:
            self._table = []
            self._tables.append(self._table)
        self._decisions.append((member, True, self._sum))
        self._open[member] = False
        self._table.append(member)
        self._sum += added
        self._must_play -= must
        self._seats_left -= 1
        return True

    def _rest(self, member: int) -> bool:
        if not self._rests or not self._field.may_rest[member]:
            return False
        self._rests -= 1
        self._open[member] = False
        self._decisions.append((member, False, self._sum))
        return True

    def _undo(self) -> int | None:
        """Take back decisions until there is another way; the member beyond which to go on, None when there is none."""
        while self._decisions:
            member, plays, before = self._decisions.pop()
            if not plays:
                self._rests += 1
                self._open[member] = True
                continue
            self._open[member] = True
            self._table.pop()
            self._sum = before
            self._must_play += not self._field.may_rest[member]
            self._seats_left += 1
            if self._table:
                return member
            self._tables.pop()
            self._table = self._tables[-1] if self._tables else []
            if self._rest(member):
                return -1
        return None


def _exchanged(field: Field) -> list[tuple[int, ...]]:
    """Tables by rank, bettered by exchanges: tabu search (Glover, *Future paths for integer programming*, Computers and
    Operations Research 13, 1986).

    Each step takes the member that met the most of its table before, of those not moved lately, and puts another one in
    its place: the one with which the sum becomes least, of equals the nearest in rank. The best division on the way
    counts.
    """
    members = range(len(field.may_rest))
    resting = [member for member in reversed(members) if field.may_rest[member]][: field.byes]
    seated = [member for member in members if member not in resting]
    groups = [seated[first : first + field.seats] for first in range(0, len(seated), field.seats)]
    tables = len(groups)
    groups.append(resting)
    least = total = sum(map(field.repeats, groups[:tables]))
    best = [tuple(sorted(group)) for group in groups[:tables]]
    free_from = [0] * len(members)

    def burden(member: int, table: int, without: int) -> int:
        row = field.meetings[member]
        return 0 if table == tables else sum(row[other] for other in groups[table] if other not in (member, without))

    for step in range(EXCHANGES):
        if not least:
            break
        place = {member: table for table, group in enumerate(groups) for member in group}
        free = [member for member in members if free_from[member] <= step]
        seated = [member for member in free if place[member] != tables]
        worst = max(seated, key=lambda member: (burden(member, place[member], member), -member))
        mine = place[worst]
        options = [
            (
                burden(other, mine, worst)
                - burden(other, theirs, other)
                + burden(worst, theirs, other)
                - burden(worst, mine, worst),
                abs(other - worst),
                other,
            )
            for other in free
            if (theirs := place[other]) != mine and (theirs != tables or field.may_rest[worst])
        ]
        if not options:
            break
        change, _, other = min(options)
        theirs = place[other]
        groups[mine][groups[mine].index(worst)] = other
        groups[theirs][groups[theirs].index(other)] = worst
        free_from[worst] = free_from[other] = step + 1 + min(REST, len(members) // 4)
        total += change
        if total < least:
            least = total
            best = [tuple(sorted(group)) for group in groups[:tables]]
    return sorted(best)
