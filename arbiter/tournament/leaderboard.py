"""What a ladder shows: the leaderboard, the history of a bot's rating, and what is played next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from arbiter.engine import RuleSet
from arbiter.errors import UsageError
from arbiter.match import MatchFormat
from arbiter.rating import Rating, TableResult, ladder
from arbiter.rating.ladder import INTERVAL
from arbiter.store import Entrant, Store, Tournament
from arbiter.tournament.evidence import board_scores, ladder_ratings, version_keys
from arbiter.tournament.ladder import LadderPlan, find_ladder, owner_of
from arbiter.tournament.naming import bot_name, read_version_name
from arbiter.tournament.spec import TournamentSpec, lowest_wins

MOST_POINTS: Final = 40
"""Points of a history: where there were more matches, some are left out."""

FEWEST_POINTS: Final = 8

MOST_BOARDS: Final = 1_000_000
"""Boards in all the fits of a history together, down to the fewest points: a fit reads some 200,000 a second."""

FAR_AHEAD: Final = 64
"""Matches that are looked ahead for a bot of which none is planned."""


@dataclass(frozen=True, slots=True)
class Place:
    """A version's place on a ladder.

    Attributes:
        entrant: the version.
        owner: who owns it.
        active: whether it plays on.
        rating: its rating, with a rank among those that play on.
        matches: complete matches of this ladder.
    """

    entrant: Entrant
    owner: str
    active: bool
    rating: Rating
    matches: int

    @property
    def interval(self) -> tuple[float, float]:
        """The rating's 95 % interval."""
        return interval_of(self.rating)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A ladder as it stands."""

    tournament: Tournament
    rules_name: str
    places: tuple[Place, ...]
    """Those that play on, ranked among one another, best first; then provisional ones; then those that left."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A rating as it was.

    Attributes:
        time: when the last match that counted was complete.
        matches: matches of the version by then, in all tournaments.
        rating: the rating of all results by then.
    """

    time: datetime
    matches: int
    rating: Rating


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A match that comes.

    Attributes:
        match: its number; None while it is not planned.
        names: who meets.
        recorded: sittings recorded.
        sittings: sittings in all.
    """

    match: int | None
    names: tuple[str, ...]
    recorded: int
    sittings: int


def interval_of(rating: Rating) -> tuple[float, float]:
    """The 95 % interval of a rating."""
    half = INTERVAL * rating.standard_error
    return rating.value - half, rating.value + half


def leaderboard(store: Store, ladder_id: str = "") -> Leaderboard:
    """The leaderboard of a ladder, the newest one by default."""
    plan = LadderPlan.read(store, ladder_id)
    on = {entrant.digest for entrant in plan.active}
    ratings = ladder_ratings(store, plan.spec.rules, plan.spec.match_format, on)
    complete = store.match_times(plan.tournament.id)
    counts = Counter(index for match in plan.matches if match.index in complete for index in match.entrants)
    active = {entrant.index for entrant in plan.active}
    places = []
    for entrant in plan.entrants:
        rating, plays = ratings[entrant.digest], entrant.index in active
        if not plays:  # its files may play on under another name
            rating = replace(rating, rank=None, ranks=None)
        places.append(Place(entrant, owner_of(entrant), plays, rating, counts[entrant.index]))
    order = {key: number for number, key in enumerate(ratings)}
    places.sort(key=lambda place: (not place.active, order[place.entrant.digest], place.entrant.index))
    return Leaderboard(plan.tournament, plan.spec.rules_name, tuple(places))


def find_entrant(entrants: Iterable[Entrant], named: str) -> Entrant:
    """The entrant of a ladder that ``mybot@3`` names, or for ``mybot`` the version that was entered last.

    Raises:
        UsageError: there is none.
    """
    name, number = read_version_name(named)
    found = [
        entrant
        for entrant in entrants
        if (entrant.name == named if number is not None else bot_name(entrant.name) == name)
    ]
    if not found:
        raise UsageError(f"{named} is not on this ladder; enter it with: arbiter ladder enter {named}")
    return max(found, key=lambda entrant: (entrant.gone is None, entrant.joined, entrant.index))


def history(store: Store, named: str, ladder_id: str = "") -> tuple[Tournament, Entrant, list[HistoryPoint]]:
    """What the rating of a version was after its matches, oldest first.

    Each point is a fit to everything that was complete at that moment, in all tournaments of the same rules, so that
    the last one is the rating that every page shows.

    Raises:
        UsageError: there is no such version on the ladder.
    """
    tournament = find_ladder(store, ladder_id)
    spec = TournamentSpec.from_dict(tournament.spec)
    entrant = find_entrant(store.entrants(tournament.id), named)
    played = _timeline(store, spec.rules, spec.match_format)
    names = {key: name for _, versions, _ in played for key, name in versions.items()}
    mine = [number for number, (_, versions, _) in enumerate(played) if entrant.digest in versions]
    points = []
    boards = sum(len(of_match) for _, _, of_match in played)
    most = max(FEWEST_POINTS, min(MOST_POINTS, MOST_BOARDS // max(boards, 1)))
    for place in _thinned(len(mine), most):
        # The last point counts what others have played since, as the leaderboard does.
        until = len(played) if place == len(mine) - 1 else mine[place] + 1
        results = [result for _, _, of_match in played[:until] for result in of_match]
        known = {key: names[key] for _, versions, _ in played[:until] for key in versions}
        rating = ladder(known, results, lowest_wins=lowest_wins(spec.rules))[entrant.digest]
        points.append(HistoryPoint(played[until - 1][0], place + 1, rating))
    return tournament, entrant, points


def upcoming(store: Store, named: str = "", ladder_id: str = "") -> tuple[Tournament, list[Upcoming]]:
    """The matches of a ladder that are being played or planned, in schedule order.

    For a version of which none is planned, the next one that the schedule would have for it by the ratings of now.

    Raises:
        UsageError: there is no such version on the ladder.
    """
    plan = LadderPlan.read(store, ladder_id)
    wanted = find_entrant(plan.entrants, named) if named else None
    name = {entrant.index: entrant.name for entrant in plan.entrants}
    progress = store.match_progress(plan.tournament.id)
    found = [
        Upcoming(match.index, tuple(name[index] for index in match.entrants), *progress[match.index])
        for match in plan.matches
        if progress[match.index][0] < progress[match.index][1] and (wanted is None or wanted.index in match.entrants)
    ]
    if wanted is not None and not found and wanted in plan.active and plan.playable:
        group = next((each for each in plan.next_groups(FAR_AHEAD) if wanted.index in each), None)
        if group is not None:
            sittings = plan.spec.seatings.sittings(plan.spec.rules)
            found.append(Upcoming(None, tuple(name[index] for index in group), 0, sittings))
    return plan.tournament, found


_Played = tuple[datetime, dict[str, str], list[TableResult]]
"""When a match was complete, its versions' names by key, and its boards."""


def _timeline(store: Store, rules: RuleSet, match_format: MatchFormat) -> list[_Played]:
    """All complete matches under the same rules, in the order in which they were complete."""
    found: list[tuple[datetime, str, int, dict[str, str], list[TableResult]]] = []
    for tournament in store.tournaments():
        spec = TournamentSpec.from_dict(tournament.spec)
        if (spec.rules, spec.match_format) != (rules, match_format):
            continue
        sides = spec.sides_of(store.entrants(tournament.id))
        keys = version_keys(store, tournament.id, sides)
        by_match: dict[int, list[TableResult]] = {}
        for score in board_scores(store, tournament.id, spec, sides):
            result = TableResult(tuple(keys[side] for side in score.entrants), score.points, score.hands)
            by_match.setdefault(score.match, []).append(result)
        names = {key: bot_name(side.name) for key, side in zip(keys, sides, strict=True)}
        times = store.match_times(tournament.id)
        for match, results in by_match.items():
            versions = {key: names[key] for key in results[0].players}
            found.append((times[match].astimezone(UTC), tournament.id, match, versions, results))
    found.sort(key=lambda each: each[:3])
    return [(time, versions, results) for time, _, _, versions, results in found]


def _thinned(count: int, most: int) -> Sequence[int]:
    """At most so many of the numbers below ``count``, evenly, the last among them."""
    if count <= most:
        return range(count)
    return sorted({round((number + 1) * count / most) - 1 for number in range(most)})
