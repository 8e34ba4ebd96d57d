"""The matches of a continuous ladder: planned a few ahead, for as long as it runs.

A ladder is a tournament whose entrants come and go and whose plan has no end. What is planned next follows from the
ratings at that moment, which depend on what was recorded by then; once planned it stands in the database like any
other match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arbiter.deals import sides_per_match
from arbiter.rating import Rating
from arbiter.schedule import Contender, ladder_match
from arbiter.store import Entrant, Match, Store, Tournament, UnknownTournament, VersionState
from arbiter.tournament.evidence import ladder_ratings
from arbiter.tournament.formats import Groups, Ladder
from arbiter.tournament.naming import HOST_OWNER, bot_name
from arbiter.tournament.planning import plan_matches
from arbiter.tournament.spec import TournamentSpec


def is_ladder(tournament: Tournament) -> bool:
    """Whether a tournament is a ladder."""
    return isinstance(TournamentSpec.from_dict(tournament.spec).format, Ladder)


def find_ladder(store: Store, ladder: str = "") -> Tournament:
    """The ladder of this id, else the newest one; raises `UnknownTournament` when it is none or there is none."""
    if ladder:
        found = store.tournament(ladder)
        if not is_ladder(found):
            raise UnknownTournament(f"{ladder} is a tournament and no ladder")
        return found
    newest = next((tournament for tournament in store.tournaments() if is_ladder(tournament)), None)
    if newest is None:
        raise UnknownTournament(
            "there is no ladder yet; here: arbiter ladder run, at a service its host has to make one"
        )
    return newest


def extend_ladder(store: Store, ladder: str, ahead: int) -> bool:
    """Plan matches until so many sittings wait, as far as there are enough bots that may meet.

    Of several callers one plans; what another has planned meanwhile is left alone.

    Returns:
        Whether anything waits or is being played.
    """
    progress = store.progress(ladder)
    missing = ahead - progress.unfinished
    if missing <= 0:
        return True
    plan = LadderPlan.read(store, ladder)
    if not plan.playable:
        return progress.unfinished > 0
    spec, tournament = plan.spec, plan.tournament
    sittings = spec.seatings.sittings(spec.rules)
    groups = plan.next_groups(-(-missing // sittings))
    sides = spec.sides_of(plan.entrants)
    matches = plan_matches(spec, sides, tournament.deal_seed, groups, first=len(plan.matches))
    store.extend_tournament(ladder, matches, sittings)
    return True


@dataclass(frozen=True, slots=True)
class LadderPlan:
    """What a ladder has planned, and who is there."""

    tournament: Tournament
    spec: TournamentSpec
    entrants: list[Entrant]
    """All that ever came, by index."""
    active: tuple[Entrant, ...]
    """Those that play on."""
    matches: list[Match]
    store: Store

    @classmethod
    def read(cls, store: Store, ladder: str) -> LadderPlan:
        """A ladder's plan as it is; raises `UnknownTournament` when it is no ladder."""
        tournament = find_ladder(store, ladder)
        entrants = store.entrants(tournament.id)
        gone = taken_back(store)
        active = tuple(entrant for entrant in entrants if entrant.gone is None and entrant.name not in gone)
        spec = TournamentSpec.from_dict(tournament.spec)
        return cls(tournament, spec, entrants, active, store.matches(tournament.id), store)

    @property
    def seats(self) -> int:
        """Bots at a table."""
        return sides_per_match(self.spec.rules)

    @property
    def playable(self) -> bool:
        """Whether there are enough owners for a table, for two bots of one owner never meet."""
        return len({owner_of(entrant) for entrant in self.active}) >= self.seats

    def next_groups(self, count: int) -> Groups:
        """The next matches by the entrants' indexes, the same ratings for all of them."""
        ratings = ladder_ratings(self.store, self.spec.rules, self.spec.match_format)
        noise = max((rating.noise for rating in ratings.values()), default=0.0)
        planned = [match.entrants for match in self.matches]
        groups: Groups = []
        for _ in range(count):
            names = self._next(ratings, noise, [*planned, *groups])
            groups.append(names)
        return groups

    def _next(self, ratings: dict[str, Rating], noise: float, planned: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        by_key = {str(entrant.index): entrant.index for entrant in self.active}
        counts = Counter(index for match in planned for index in match)
        recent = [
            [str(index) for index in match]
            for match in planned[self._changed_at() :]
            if all(str(index) in by_key for index in match)
        ]
        sittings = self.spec.seatings.sittings(self.spec.rules)
        contenders = []
        for entrant in self.active:
            rating = ratings.get(entrant.digest)
            error = rating.standard_error if rating is not None and noise else 1.0
            contenders.append(
                Contender(
                    key=str(entrant.index),
                    owner=owner_of(entrant),
                    rating=rating.value if rating is not None else 0.0,
                    error=max(error, _LEAST),
                    matches=counts[entrant.index],
                )
            )
        # Before the first result only who is how new matters.
        per_match = noise / (self.spec.boards * sittings) or 1.0
        return tuple(by_key[key] for key in ladder_match(contenders, self.seats, recent, noise=per_match))

    def _changed_at(self) -> int:
        """How many matches were planned when somebody last came or left."""
        return max((max(entrant.joined, entrant.gone or 0) for entrant in self.entrants), default=0)


_LEAST = 1e-9
"""Least error of a rating, in points per hand: the schedule divides by it."""


def owner_of(entrant: Entrant) -> str:
    """Who owns an entrant of a ladder; bots of the machine's own host, who may let them meet, count each for itself."""
    owner = str(entrant.manifest.get("owner", HOST_OWNER))
    return bot_name(entrant.name) if owner == HOST_OWNER else owner


def taken_back(store: Store) -> set[str]:
    """Names of versions that are not active any more."""
    return {version.name for version in store.versions.versions() if version.state is VersionState.RETIRED}
