"""What a tournament's results say: standings, crosstable, ratings and faults, all functions of the recorded results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arbiter.engine import compile_rules
from arbiter.links import ENDING_FAULTS
from arbiter.match import FaultPolicy
from arbiter.rating import BoardScore, Pairing, Standing, crosstable, standings
from arbiter.rating.skill import Rating, ratings
from arbiter.store import Progress, Store, Tournament
from arbiter.tournament.spec import Side, TournamentSpec, lowest_wins


@dataclass(frozen=True, slots=True)
class EntrantRow:
    """One line of the standings: an entrant, or a side where sides play."""

    name: str
    standing: Standing
    rating: Rating
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
    forfeits = Counter(side for _, side in forfeited(store, tournament_id, sides))
    voided = store.voids(tournament_id)
    voids = [sum(voided.get(entrant, 0) for entrant in side.entrants) for side in sides]
    return TournamentReport(
        tournament=tournament,
        spec=spec,
        progress=store.progress(tournament_id),
        rows=tuple(
            EntrantRow(
                names[standing.entrant],
                standing,
                rated[standing.entrant],
                dict(faults[standing.entrant]),
                forfeits[standing.entrant],
                voids[standing.entrant],
            )
            for standing in standings(len(names), evidence, lowest_wins=lowest)
        ),
        pairings=crosstable(len(names), evidence, lowest_wins=lowest),
        names=names,
    )


def board_scores(store: Store, tournament_id: str, sides: Sequence[Side]) -> list[BoardScore]:
    """The evidence: each board of each complete match with all its seatings, by side.

    A side's points are those of all its partners, its hands are counted once. They are read off the totals, which extra
    hands between tied seats do not move. In a match that a side forfeited, each of its hands counts as the worst there
    is; the others' points stand.
    """
    rules = TournamentSpec.from_dict(store.tournament(tournament_id).spec).rules
    worst = compile_rules(rules).penalty_total if lowest_wins(rules) else 0
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    points: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    hands: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for match, _, result in store.seat_results(tournament_id, complete_only=True):
        side = side_of[result.entrant]
        points[match, result.board][side] += rules.sign * (result.total - rules.start)
        if result.entrant == sides[side].entrants[0]:
            hands[match, result.board][side] += result.hands
    out = forfeited(store, tournament_id, sides)
    for match, board in points if out else ():
        for side in points[match, board]:
            if (match, side) in out:
                points[match, board][side] = worst * hands[match, board][side]
    return [
        BoardScore(match, board, tuple(scores), next(iter(hands[match, board].values())), tuple(scores.values()))
        for (match, board), scores in points.items()
    ]


def forfeited(store: Store, tournament_id: str, sides: Sequence[Side]) -> frozenset[tuple[int, int]]:
    """(match, side) of every match that a side forfeited, where the tournament's policy is to forfeit.

    A match is forfeited by one fault that ends a bot, or by more faults of a bot in all its sittings than the limit.
    """
    spec = TournamentSpec.from_dict(store.tournament(tournament_id).spec)
    if spec.fault_policy is not FaultPolicy.FORFEIT_MATCH:
        return frozenset()
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    faults = Counter[tuple[int, int]]()
    out: set[tuple[int, int]] = set()
    for key, fault in store.faults(tournament_id):
        faults[key.match, fault.entrant] += 1
        if fault.code in ENDING_FAULTS or faults[key.match, fault.entrant] > spec.fault_limit:
            out.add((key.match, side_of[fault.entrant]))
    return frozenset(out)
