"""The continuous ladder: which bot versions meet next.

Every question that is decided here has a bound, so that no wish starves another: new versions come first, but for a few
matches only; then the match is chosen that tells most, but nobody gets far ahead in matches, no pair in meetings, and
nobody waits for long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from arbiter.schedule.errors import ScheduleError
from arbiter.schedule.places import even_places
from arbiter.schedule.results import meetings

PLACEMENT: Final = 8
"""First matches of a new version, which go before everything else and are not held against it afterwards."""

SPREAD: Final = 4
"""Matches by which a version may be ahead of the one with fewest."""

PAIR_SPREAD: Final = 3
"""Meetings by which a pair may be ahead of the one with fewest."""

PATIENCE: Final = 2
"""Times that everyone else could have been seated before a version that waits goes before those that tell more."""


@dataclass(frozen=True, slots=True)
class Contender:
    """An active bot version, or a side of several.

    Attributes:
        key: what it is known by, such as its digest.
        owner: whose it is; two of one owner never meet.
        rating: points per hand by which it is better than the mean.
        error: standard error of the rating, above 0 also where it has no results.
        matches: how many matches were planned for it in all, before and since.
    """

    key: str
    owner: str
    rating: float
    error: float
    matches: int


def ladder_match(
    contenders: Sequence[Contender], seats: int, recent: Sequence[Sequence[str]], *, noise: float
) -> tuple[str, ...]:
    """Return the keys of those who meet next, in the order of the match's places.

    One contender leads: of those with fewer than :data:`PLACEMENT` matches the one with fewest; else who has waited
    longest, if that is too long; else who has fewest matches, if others are :data:`SPREAD` ahead; else whose error is
    largest. The other seats are filled one by one. A candidate should not get beyond :data:`SPREAD` matches, nor with
    anyone at the table beyond :data:`PAIR_SPREAD` meetings, more than the least. Of those who don't, first come any who
    have waited too long. Then, in every other match of the leader, the one nearest to it in rating, so that equals
    and above all the best do meet; and in the rest the one with whom the match reduces the summed variance of ratings
    most, see :func:`gain`.

    So among those active since the set last changed, matches differ by :data:`SPREAD` and by one more now and then,
    matches of placement apart, unless one owner has more versions than tables have room for. The meetings of pairs who
    may meet differ by :data:`PAIR_SPREAD` and up to two more at tables of up to six, five more at larger ones, where
    each match has many pairs. The tests hold these figures.

    Args:
        contenders: who is active, in any order.
        seats: contenders in a match, at least 2.
        recent: the keys of the matches planned since the set of contenders last changed, oldest first.
        noise: variance of the points per hand of one match, in the unit of ratings squared.

    Raises:
        ScheduleError: a number out of its range, a key twice, or fewer owners than seats.
    """
    field = _Field(contenders, seats, recent)
    if noise <= 0 or any(one.error <= 0 for one in contenders):
        raise ScheduleError(f"noise {noise} and all errors of ratings must be above 0")
    leader = field.leader()
    table = [leader]
    near = field.planned[leader.key] % 2 == 1

    def worth(candidate: Contender) -> float:
        if near:
            return abs(candidate.rating - leader.rating)
        return -gain([one.error**2 for one in (*table, candidate)], noise)

    while len(table) < seats:
        table.append(field.best(table, worth))
    return even_places([one.key for one in table], recent)


def gain(variances: Sequence[float], noise: float) -> float:
    """Return by how much one match is expected to reduce the sum of its players' variances.

    Ratings r_i with independent variances v_i; a match shows each player's points less the table's mean, with noise of
    variance s^2 in the points. The posterior covariance is the inverse of diag(1 / v_i) + (I - J / k) / s^2, whose
    trace follows from the Sherman-Morrison formula. It is the additive model of :mod:`arbiter.rating.ladder`, in which
    it makes no difference to what a match tells how far apart its players are.

    Args:
        variances: v_i of the k players.
        noise: s^2.
    """
    share = 1 / (noise * len(variances))
    alone = [variance * noise / (noise + variance) for variance in variances]
    left = sum(alone) + share * sum(value**2 for value in alone) / (1 - share * sum(alone))
    return sum(variances) - left


class _Field:
    """The contenders and what they have had since their set last changed."""

    def __init__(self, contenders: Sequence[Contender], seats: int, recent: Sequence[Sequence[str]]) -> None:
        self.contenders: Final = sorted(contenders, key=lambda one: one.key)
        keys = {one.key for one in contenders}
        if len(keys) < len(contenders):
            raise ScheduleError("a key stands twice among the contenders; each needs one of its own")
        if seats < 2:
            raise ScheduleError(f"a match of {seats} seats: there must be at least 2")
        owners = len({one.owner for one in contenders})
        if owners < seats:
            raise ScheduleError(
                f"contenders of {owners} owners can't fill a match of {seats} seats: two of one owner never meet, so "
                f"{seats} owners are needed"
            )
        stranger = next((key for match in recent for key in match if key not in keys), None)
        if stranger is not None:
            raise ScheduleError(f"recent: {stranger!r} is no contender; give the matches since the set last changed")
        self.planned: Final = Counter(key for match in recent for key in match)
        """Matches since then."""
        self._counted = {one.key: self._count(one) for one in contenders}
        last = {key: number for number, match in enumerate(recent, 1) for key in match}
        self._waited = {key: len(recent) - last.get(key, 0) for key in keys}
        self._too_long = PATIENCE * -(-len(contenders) // seats)
        self._met = meetings(recent)
        self._least = min(self._counted.values())
        self._least_met = min(
            self._met[one.key, other.key] for one, other in combinations(self.contenders, 2) if one.owner != other.owner
        )

    def _count(self, one: Contender) -> int:
        """Matches since then, apart from those of placement."""
        before = one.matches - self.planned[one.key]
        return max(0, self.planned[one.key] - max(0, PLACEMENT - before))

    def leader(self) -> Contender:
        """Who leads the next match."""
        new = [one for one in self.contenders if one.matches < PLACEMENT]
        if new:
            return min(new, key=lambda one: (one.matches, one.key))
        longest = max(self.contenders, key=lambda one: self._waited[one.key])
        if self._waited[longest.key] >= self._too_long:
            return longest
        if max(self._counted.values()) - self._least >= SPREAD:
            return min(self.contenders, key=lambda one: (self._counted[one.key], -self._waited[one.key], one.key))
        return max(self.contenders, key=lambda one: (one.error, self._waited[one.key]))

    def best(self, table: Sequence[Contender], worth: Callable[[Contender], float]) -> Contender:
        """Who takes the next seat at a table; ``worth`` is least for the best."""
        owners = {one.owner for one in table}

        def rank(candidate: Contender) -> tuple[int, int, bool, float, int, int, str]:
            key = candidate.key
            met = [self._met[min(key, one.key), max(key, one.key)] for one in table]
            return (
                max(0, self._counted[key] + 1 - self._least - SPREAD),
                sum(max(0, times + 1 - self._least_met - PAIR_SPREAD) for times in met),
                self._waited[key] < self._too_long,
                worth(candidate),
                sum(met),
                -self._waited[key],
                key,
            )

        return min((one for one in self.contenders if one.owner not in owners), key=rank)
