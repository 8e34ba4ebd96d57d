"""What a tournament's results say: standings, crosstable, ratings and faults, all functions of the recorded results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from arbiter.deals import sides_per_match
from arbiter.rating import Estimate, Pairing, Rating, Standing, crosstable, standings
from arbiter.store import Progress, Store, Tournament
from arbiter.tournament.evidence import board_scores, forfeited, ladder_ratings, version_keys
from arbiter.tournament.planning import lots_of
from arbiter.tournament.ranking import rank_sides
from arbiter.tournament.spec import TournamentSpec, lowest_wins
from arbiter.tournament.stages import played_stages


@dataclass(frozen=True, slots=True)
class EntrantRow:
    """One line of the standings: an entrant, or a side where sides play."""

    name: str
    rank: int
    """By the rule of the tournament's format, see :func:`arbiter.tournament.ranking.rank_sides`."""
    score: Fraction | None
    """In a Swiss tournament; else None."""
    reached: int | None
    """In a knockout, number of the last stage that it reached, from 0; else None."""
    standing: Standing
    """What its boards say; the ranks in it are those by points per hand."""
    rating: Rating
    """On the ladder of all recorded results, not of this tournament alone."""
    faults: dict[str, int]
    """Number of faults by code."""
    forfeits: int
    """Matches that it forfeited."""
    voids: int
    """Attempts at sittings that were voided because its time was up on a starved machine."""


@dataclass(frozen=True, slots=True)
class TournamentReport:
    """Everything that a table of results shows. Only complete matches count."""

    tournament: Tournament
    spec: TournamentSpec
    progress: Progress
    stages: tuple[int, int] | None
    """Stages complete and in all; None where everything is planned at once."""
    matches_in_all: int
    """Matches when every stage is planned."""
    rows: tuple[EntrantRow, ...]
    """Best first."""
    pairings: dict[tuple[int, int], Pairing]
    """By (side, opponent)."""
    names: tuple[str, ...]
    """By number of the side; without sides, by entrant's index."""

    @property
    def lowest_wins(self) -> bool:
        """Whether fewer points are better."""
        return lowest_wins(self.spec.rules)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``: numbers unrounded, entrants by name."""
        progress = self.progress
        return {
            "tournament": self.tournament.id,
            "name": self.tournament.name,
            "state": self.tournament.state.value,
            "failure": self.tournament.failure,
            "rules": self.spec.rules_name,
            "format": self.spec.format.kind,
            "stages": self.stages and self.stages[1],
            "stages_complete": self.stages and self.stages[0],
            "sittings": {state.value: count for state, count in progress.sittings.items()},
            "matches": progress.matches,
            "matches_in_all": self.matches_in_all,
            "matches_complete": progress.matches_complete,
            "hands": progress.hands,
            "standings": [
                {
                    "rank": row.rank,
                    "score": None if row.score is None else float(row.score),
                    "stage_reached": None if row.reached is None else row.reached + 1,
                    "ranks": None if row.standing.ranks is None else list(row.standing.ranks),
                    "name": row.name,
                    "hands": row.standing.hands,
                    "boards": row.standing.boards,
                    "points_per_hand": row.standing.points and row.standing.points.value,
                    "standard_error": row.standing.points and row.standing.points.standard_error,
                    "interval": _interval(row.standing.points),
                    "mean_place": row.standing.place and row.standing.place.value,
                    "mean_place_standard_error": row.standing.place and row.standing.place.standard_error,
                    "mean_place_interval": _interval(row.standing.place),
                    "rating": row.rating.value,
                    "rating_standard_error": row.rating.standard_error,
                    "rating_rank": row.rating.rank,
                    "rating_hands": row.rating.hands,
                    "faults": row.faults,
                    "forfeits": row.forfeits,
                    "voids": row.voids,
                }
                for row in self.rows
            ],
            "crosstable": [
                {
                    "name": self.names[one],
                    "opponent": self.names[other],
                    "boards": pairing.boards,
                    "difference": pairing.difference.value,
                    "standard_error": pairing.difference.standard_error,
                    "interval": _interval(pairing.difference),
                    "superiority": pairing.superiority,
                }
                for (one, other), pairing in sorted(self.pairings.items())
            ],
        }


def report(store: Store, tournament_id: str) -> TournamentReport:
    """Read a tournament's results as they stand."""
    tournament = store.tournament(tournament_id)
    spec = TournamentSpec.from_dict(tournament.spec)
    sides = spec.sides_of(store.entrants(tournament_id))
    names = tuple(side.name for side in sides)
    evidence = board_scores(store, tournament_id, spec, sides)
    lowest = lowest_wins(spec.rules)
    rated = ladder_ratings(store, spec.rules, spec.match_format)
    ratings = [rated[key] for key in version_keys(store, tournament_id, sides)]
    counts = store.fault_counts(tournament_id)
    faults = [sum((Counter(counts.get(entrant, {})) for entrant in side.entrants), Counter()) for side in sides]
    forfeits = Counter(side for _, side in forfeited(store, tournament_id, spec, sides))
    voided = store.voids(tournament_id)
    voids = [sum(voided.get(entrant, 0) for entrant in side.entrants) for side in sides]
    seats = sides_per_match(spec.rules)
    progress = store.progress(tournament_id)
    sizes = spec.format.stage_sizes(len(sides), seats)
    played = played_stages(spec, sides, store.matches(tournament_id), evidence)
    ranked = rank_sides(
        spec.format,
        seats,
        played,
        lots_of(spec, len(sides), tournament.deal_seed),
        standings(len(names), evidence, lowest_wins=lowest),
    )
    return TournamentReport(
        tournament=tournament,
        spec=spec,
        progress=progress,
        stages=None if sizes is None else (len(played), len(sizes)),
        matches_in_all=progress.matches if sizes is None else sum(sizes),
        rows=tuple(
            EntrantRow(
                name=names[each.standing.entrant],
                rank=each.rank,
                score=each.score,
                reached=each.reached,
                standing=each.standing,
                rating=ratings[each.standing.entrant],
                faults=dict(faults[each.standing.entrant]),
                forfeits=forfeits[each.standing.entrant],
                voids=voids[each.standing.entrant],
            )
            for each in ranked
        ),
        pairings=crosstable(len(names), evidence, lowest_wins=lowest),
        names=names,
    )


def _interval(estimate: Estimate | None) -> list[float] | None:
    """The ends of the 95 % interval, as far as there is one."""
    half = None if estimate is None else estimate.half_width
    return None if estimate is None or half is None else [estimate.value - half, estimate.value + half]
