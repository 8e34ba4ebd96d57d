"""From one stage of a tournament to the next: what was played, and the matches that follow from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from arbiter.deals import sides_per_match
from arbiter.rating import BoardScore
from arbiter.schedule import MatchResult, Stage
from arbiter.store import Match, Store
from arbiter.tournament.evidence import board_scores
from arbiter.tournament.planning import lots_of, plan_matches
from arbiter.tournament.spec import Side, TournamentSpec, lowest_wins


def write_next_stage(store: Store, tournament_id: str) -> bool:
    """Add the next stage to the plan of a running tournament all of whose matches are complete.

    What is written follows from the recorded results and the tournament's seed alone, and it is written in one
    transaction. So after a crash at any moment the stage is there or is made again, the same to the last digit; and of
    several callers one writes it.

    Returns:
        Whether there is more to play; False after the last stage.
    """
    tournament = store.tournament(tournament_id)
    spec = TournamentSpec.from_dict(tournament.spec)
    sides = spec.sides_of(store.entrants(tournament_id))
    seats = sides_per_match(spec.rules)
    sizes = spec.format.stage_sizes(len(sides), seats)
    matches = store.matches(tournament_id)
    if sizes is None:
        return False
    played = played_stages(spec, sides, matches, board_scores(store, tournament_id, spec, sides))
    if sum(map(len, played)) < len(matches):
        return True  # another caller has written a stage meanwhile
    if len(matches) == sum(sizes):
        return False
    groups = spec.format.next_stage(len(sides), seats, played, lots_of(spec, len(sides), tournament.deal_seed))
    following = plan_matches(spec, sides, tournament.deal_seed, groups, first=len(matches))
    store.extend_tournament(tournament_id, following, spec.seatings.sittings(spec.rules))
    return True


def played_stages(
    spec: TournamentSpec, sides: Sequence[Side], matches: Sequence[Match], evidence: Iterable[BoardScore]
) -> list[Stage]:
    """The complete stages of a tournament whose stages depend on results; none of one that is planned at once.

    A side's merit in a match is its points per hand, with their sign turned where few are good.

    Args:
        matches: all that are planned, in schedule order.
        evidence: the board scores of the complete ones, by side.
    """
    sizes = spec.format.stage_sizes(len(sides), sides_per_match(spec.rules))
    if sizes is None:
        return []
    merits = _merits(evidence, lowest=lowest_wins(spec.rules))
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    stages: list[Stage] = []
    first = 0
    for size in sizes:
        of_stage = matches[first : first + size]
        if len(of_stage) < size or not all(match.index in merits for match in of_stage):
            break
        results = []
        for match in of_stage:
            # The places of partners repeat the order of the sides.
            group = tuple(side_of[entrant] for entrant in match.entrants[: sides_per_match(spec.rules)])
            results.append(MatchResult(group, tuple(merits[match.index][side] for side in group)))
        stages.append(results)
        first += size
    return stages


def _merits(evidence: Iterable[BoardScore], *, lowest: bool) -> dict[int, dict[int, Fraction]]:
    """By match and side."""
    points: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    hands: dict[int, int] = defaultdict(int)
    for score in evidence:
        hands[score.match] += score.hands
        for side, scored in zip(score.entrants, score.points, strict=True):
            points[score.match][side] += scored
    sign = -1 if lowest else 1
    return {
        match: {side: Fraction(sign * scored, hands[match]) for side, scored in of_match.items()}
        for match, of_match in points.items()
    }
