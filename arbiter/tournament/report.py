"""What a tournament's results say: standings, crosstable, ratings and faults, all functions of the recorded results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arbiter.engine import RuleSet
from arbiter.engine.ruleset import Winner
from arbiter.rating import BoardScore, Pairing, Standing, crosstable, standings
from arbiter.rating.skill import Rating, ratings
from arbiter.store import Progress, Store, Tournament
from arbiter.tournament.spec import Side, TournamentSpec


@dataclass(frozen=True, slots=True)
class EntrantRow:
    """One line of the standings: an entrant, or a side where sides play."""

    name: str
    standing: Standing
    rating: Rating
    faults: dict[str, int]
    """Number of faults by code."""


@dataclass(frozen=True, slots=True)
class TournamentReport:
    """Everything that a table of results shows. Only complete matches count."""

    tournament: Tournament
    spec: TournamentSpec
    progress: Progress
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
            "sittings": {state.value: count for state, count in progress.sittings.items()},
            "matches": progress.matches,
            "matches_complete": progress.matches_complete,
            "hands": progress.hands,
            "standings": [
                {
                    "rank": row.standing.rank,
                    "name": row.name,
                    "hands": row.standing.hands,
                    "boards": row.standing.boards,
                    "points_per_hand": row.standing.points_per_hand,
                    "standard_error": row.standing.standard_error,
                    "mean_place": row.standing.mean_place,
                    "mu": row.rating.mu,
                    "sigma": row.rating.sigma,
                    "faults": row.faults,
                }
                for row in self.rows
            ],
            "crosstable": [
                {
                    "name": self.names[one],
                    "opponent": self.names[other],
                    "boards": pairing.boards,
                    "difference": pairing.difference,
                    "standard_error": pairing.standard_error,
                    "superiority": pairing.superiority,
                }
                for (one, other), pairing in sorted(self.pairings.items())
            ],
        }


def report(store: Store, tournament_id: str) -> TournamentReport:
    """Read a tournament's results as they stand."""
    tournament = store.tournament(tournament_id)
    spec = TournamentSpec.from_dict(tournament.spec)
    sides = spec.sides or tuple(Side(entrant.name, (entrant.index,)) for entrant in store.entrants(tournament_id))
    names = tuple(side.name for side in sides)
    evidence = board_scores(store, tournament_id, sides)
    lowest = lowest_wins(spec.rules)
    rated = {rating.entrant: rating for rating in ratings(len(names), evidence, lowest_wins=lowest)}
    counts = store.fault_counts(tournament_id)
    faults = [sum((Counter(counts.get(entrant, {})) for entrant in side.entrants), Counter()) for side in sides]
    return TournamentReport(
        tournament=tournament,
        spec=spec,
        progress=store.progress(tournament_id),
        rows=tuple(
            EntrantRow(names[standing.entrant], standing, rated[standing.entrant], dict(faults[standing.entrant]))
            for standing in standings(len(names), evidence, lowest_wins=lowest)
        ),
        pairings=crosstable(len(names), evidence, lowest_wins=lowest),
        names=names,
    )


def lowest_wins(rules: RuleSet) -> bool:
    """Whether fewer points in a hand are better: the winner's total, read with the sign that points move it by."""
    return (rules.winner is Winner.LOWEST) == (rules.sign == 1)


def board_scores(store: Store, tournament_id: str, sides: Sequence[Side]) -> list[BoardScore]:
    """The evidence: each board of each complete match with all its seatings, by side.

    A side's points are those of all its partners, its hands are counted once. They are read off the totals, which extra
    hands between tied seats do not move.
    """
    rules = TournamentSpec.from_dict(store.tournament(tournament_id).spec).rules
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    points: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    hands: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for match, _, result in store.seat_results(tournament_id, complete_only=True):
        side = side_of[result.entrant]
        points[match, result.board][side] += rules.sign * (result.total - rules.start)
        if result.entrant == sides[side].entrants[0]:
            hands[match, result.board][side] += result.hands
    return [
        BoardScore(match, board, tuple(scores), next(iter(hands[match, board].values())), tuple(scores.values()))
        for (match, board), scores in points.items()
    ]
