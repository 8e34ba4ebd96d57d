"""From the store's results to what ratings are made of: board scores of a tournament, table results of all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from arbiter.engine import RuleSet, compile_rules
from arbiter.match import FaultPolicy, MatchFormat
from arbiter.rating import BoardScore, Rating, TableResult, ladder
from arbiter.store import Store
from arbiter.tournament.naming import bot_name
from arbiter.tournament.spec import Side, TournamentSpec, lowest_wins


def board_scores(
    store: Store, tournament_id: str, spec: TournamentSpec, sides: Sequence[Side], *, first_match: int = 0
) -> list[BoardScore]:
    """The evidence: each board of each complete match with all its seatings, by side; from ``first_match`` on.

    A side's points are those of all its partners, its hands are counted once. They are read off the totals, which extra
    hands between tied seats do not move. In a match that a side forfeited, each of its hands counts as the whole
    positive total, or as 0 where the most points win, unless what the side came to is worse; the others' points stand.
    """
    rules = spec.rules
    worse = max if lowest_wins(rules) else min
    forfeit = compile_rules(rules).penalty_total if lowest_wins(rules) else 0
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    points: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    hands: dict[tuple[int, int], int] = {}
    for total in store.board_totals(tournament_id, first_match=first_match):
        board = total.match, total.board
        points[board][side_of[total.entrant]] += rules.sign * (total.total - rules.start * total.seatings)
        hands[board] = total.hands
    for match, side in forfeited(store, tournament_id, spec, sides):
        for board, scores in points.items():
            if board[0] == match and side in scores:
                scores[side] = worse(scores[side], forfeit * hands[board])
    return [
        BoardScore(match, board, tuple(scores), hands[match, board], tuple(scores.values()))
        for (match, board), scores in points.items()
    ]


def forfeited(
    store: Store, tournament_id: str, spec: TournamentSpec, sides: Sequence[Side]
) -> frozenset[tuple[int, int]]:
    """(match, side) of every match that a side forfeited, where the tournament's policy is to forfeit.

    A match is forfeited by one fault by which a bot was lost, or by more faults of a bot over its sittings than the
    limit.
    """
    if spec.fault_policy is not FaultPolicy.FORFEIT_MATCH:
        return frozenset()
    side_of = {entrant: number for number, side in enumerate(sides) for entrant in side.entrants}
    faults = Counter[tuple[int, int]]()
    out: set[tuple[int, int]] = set()
    for key, fault in store.faults(tournament_id):
        faults[key.match, fault.entrant] += 1
        if fault.lost or faults[key.match, fault.entrant] > spec.fault_limit:
            out.add((key.match, side_of[fault.entrant]))
    return frozenset(out)


def version_keys(store: Store, tournament_id: str, sides: Sequence[Side]) -> tuple[str, ...]:
    """What the ladder knows each side by: the digest of its bot version, or those of all partners."""
    digests = [entrant.digest for entrant in store.entrants(tournament_id)]
    return tuple("+".join(sorted(digests[entrant] for entrant in side.entrants)) for side in sides)


def ladder_ratings(
    store: Store, rules: RuleSet, match_format: MatchFormat, ranked: Collection[str] | None = None
) -> dict[str, Rating]:
    """The ladder of a rule set and match format, by version key: every rating that is shown anywhere comes from here.

    It is fitted to the complete matches of all tournaments under the same rules, whatever their state. A bot version is
    its files' digest: entered twice, or under two names, it is one. Its bot's name, which its other versions share, is
    the first in alphabetical order that it was entered under. With ``ranked`` those versions are ranked among one
    another and no others; the ratings are the same.
    """
    names: dict[str, str] = {}
    results: list[TableResult] = []
    for tournament in store.tournaments():
        other = TournamentSpec.from_dict(tournament.spec)
        if (other.rules, other.match_format) != (rules, match_format):
            continue
        sides = other.sides_of(store.entrants(tournament.id))
        keys = version_keys(store, tournament.id, sides)
        for key, side in zip(keys, sides, strict=True):
            name = bot_name(side.name)
            names[key] = min(names.get(key, name), name)
        results += (
            TableResult(tuple(keys[side] for side in score.entrants), score.points, score.hands)
            for score in board_scores(store, tournament.id, other, sides)
        )
    return ladder(names, results, lowest_wins=lowest_wins(rules), ranked=ranked)
