"""What results say: standings from complete matches alone, whatever the order in which they came; and replays."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arbiter.engine import rule_set
from arbiter.links import FaultCode
from arbiter.match import Fault, pack_replay
from arbiter.sdk import Card, CardView
from arbiter.store import (
    Entrant,
    HandTally,
    Recorded,
    SeatResult,
    SittingKey,
    SittingResult,
    Store,
    TournamentState,
    UnknownSitting,
)
from arbiter.store import Fault as StoredFault
from arbiter.tournament import Desk, TournamentReport, TournamentSpec, parse_spec, plan_tournament, released_replay
from arbiter.tournament import report as results
from arbiter.tournament.evidence import board_scores, forfeited, version_keys
from arbiter.tournament.replays import NotReleased
from arbiter.tournament.report import EntrantRow
from arbiter.tournament.spec import Side, lowest_wins
from tests.tournament.support import (
    ID,
    START,
    Lowest,
    Revoker,
    create,
    granted,
    packed_of,
    play_all,
    played,
    report,
    spec_of,
)


class Highest(Lowest):
    """Plays high."""

    def choose_card(self, view: CardView) -> Card:
        return max(view.legal, key=lambda card: card.rank)


NEWCOMER = Entrant(0, "newcomer", f"{9:064x}", {})


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The replays of a tournament of five, in schedule order."""
    found = {}
    with Store.open(tmp_path_factory.mktemp("first") / "arbiter.db") as store:
        create(store, spec_of(5))
        desk = Desk(store)
        for key in store.planned(ID):
            grant = granted(desk, str(key))
            found[str(key)] = packed_of(played(grant.plan))
            report(desk, grant, found[str(key)])
    return found


def recorded_in(order: list[str], folder: Path, texts: dict[str, bytes]) -> TournamentReport:
    with Store.open(folder / "arbiter.db") as store:
        create(store, spec_of(5))
        desk = Desk(store)
        for key in order:
            report(desk, granted(desk, key), texts[key])
        return results(store, ID)


def test_the_order_in_which_sittings_end_changes_no_digit(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, bytes]
) -> None:
    """Ratings that depend on the order of completion: galaxyproject/galaxy#142."""
    said = set()
    for order in (list(texts), list(reversed(texts)), sorted(texts, key=lambda key: key[::-1])):
        found = recorded_in(order, tmp_path_factory.mktemp("order"), texts)
        said.add(json.dumps(found.to_dict()))
    assert len(said) == 1


def test_standings_are_the_sums_of_the_recorded_seats(store: Store, desk: Desk) -> None:
    create(store, spec_of(5))
    play_all(store, desk)
    points: dict[int, list[int]] = defaultdict(list)
    for _, _, seat in store.seat_results(ID):
        points[seat.entrant].append(seat.points)
    found = results(store, ID)
    for row in found.rows:
        mine = points[row.standing.entrant]
        assert row.standing.hands == len(mine) == 4 * 4 * 2
        assert row.standing.points is not None
        assert row.standing.points.value == pytest.approx(sum(mine) / len(mine))
        assert row.name == f"bot{row.standing.entrant}"
    ranked = [row.standing.points.value for row in found.rows if row.standing.points is not None]
    assert ranked == sorted(ranked)
    assert found.lowest_wins
    assert len(found.pairings) == 5 * 4


def test_a_match_counts_with_its_last_sitting(store: Store, desk: Desk) -> None:
    create(store)
    keys = store.planned(ID)
    for key in keys[:-1]:
        report(desk, granted(desk, str(key)))
    early = results(store, ID)
    assert early.progress.recorded == 3
    assert early.progress.matches_complete == 0
    assert [row.standing.points for row in early.rows] == [None] * 4
    assert json.loads(json.dumps(early.to_dict()))["standings"][0]["points_per_hand"] is None
    report(desk, granted(desk, str(keys[-1])))
    assert {(row.standing.boards, row.standing.hands) for row in results(store, ID).rows} == {(2, 8)}


def test_faults_stand_beside_the_bot_that_committed_them(store: Store, desk: Desk) -> None:
    create(store, spec_of(match={"boards": 2, "fault_limit": 0}))
    for key in store.planned(ID):
        grant = granted(desk, str(key))
        bots = [Revoker() if bot.entrant == 2 else Lowest() for bot in grant.plan.bots]
        report(desk, grant, packed_of(played(grant.plan, bots)))
    faults = {row.name: sum(row.faults.values()) for row in results(store, ID).rows}
    assert faults["bot2"] >= 4
    assert sum(faults.values()) == faults["bot2"]
    assert faults["bot2"] <= results(store, ID).progress.faults, "the list and the counts agree"


def test_json_names_everything_and_rounds_nothing(store: Store, desk: Desk) -> None:
    create(store, spec_of(match={"boards": 20}))
    for key in store.planned(ID):
        grant = granted(desk, str(key))
        bots = [Highest() if bot.entrant == 2 else Lowest() for bot in grant.plan.bots]
        report(desk, grant, packed_of(played(grant.plan, bots)))
    store.set_state(ID, TournamentState.FAILED, now=store.tournament(ID).created_at, failure="because")
    found = results(store, ID)
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["tournament"], data["state"], data["failure"]) == (ID, "failed", "because")
    assert data["sittings"] == {"planned": 0, "leased": 0, "recorded": 4, "failed": 0}
    for row, line in zip(found.rows, data["standings"], strict=True):
        assert row.standing.points is not None
        assert row.standing.points.half_width is not None
        low, high = line["interval"]
        assert row.standing.points.half_width > 0
        assert line["points_per_hand"] == row.standing.points.value
        assert high - low == pytest.approx(2 * row.standing.points.half_width)
        assert (line["rating"], line["rating_rank"]) == (row.rating.value, row.rating.rank)
        assert line["ranks"] == list(row.standing.ranks or ())
    pairs = {(row["name"], row["opponent"]): row["difference"] for row in data["crosstable"]}
    assert all(pairs[one, other] == -pairs[other, one] for one, other in pairs)
    assert "deal_seed" not in json.dumps(data)


def play_another(store: Store, tournament_id: str, spec: TournamentSpec, entrants: list[Entrant]) -> None:
    """A tournament beside the first, in which entrant 0 plays badly."""
    tournament, matches = plan_tournament(tournament_id, spec, entrants, START)
    store.create_tournament(tournament, entrants, matches, spec.rules.players)
    store.set_state(tournament_id, TournamentState.RUNNING, now=START)
    desk = Desk(store)
    for key in store.planned(tournament_id):
        grant = granted(desk, str(key))
        bots = [Highest() if bot.entrant == 0 else Lowest() for bot in grant.plan.bots]
        report(desk, grant, packed_of(played(grant.plan, bots)))


def test_every_tournament_shows_the_same_rating_of_a_version(store: Store, desk: Desk) -> None:
    """aichallenge#180. A version is its files: under another name it is the same one, with all its results."""
    create(store)
    play_all(store, desk)
    alone = results(store, ID)
    versions = [Entrant(0, "alias", f"{2:064x}", {}), *store.entrants(ID)[:2]]
    versions = [replace(version, index=index) for index, version in enumerate([*versions, NEWCOMER])]
    play_another(store, "next-1a2b", spec_of(boards=4, seed="77" * 32), versions)
    first, second = ({row.name: row for row in results(store, tournament).rows} for tournament in (ID, "next-1a2b"))
    for name in ("bot0", "bot1"):
        assert first[name].rating == second[name].rating
        assert first[name].rating.hands == 8 + 16
    assert first["bot2"].rating == second["alias"].rating
    assert first["bot2"].rating.value < first["bot3"].rating.value
    assert first["bot3"].rating != next(row.rating for row in alone.rows if row.name == "bot3")
    assert first["bot3"].standing == next(row.standing for row in alone.rows if row.name == "bot3")


def test_every_rule_set_and_match_format_has_a_ladder_of_its_own(store: Store, desk: Desk) -> None:
    create(store)
    play_all(store, desk)
    before = results(store, ID)
    play_another(store, "other-1a2b", spec_of(rules={"name": "spot"}), store.entrants(ID))
    play_another(store, "games-1a2b", spec_of(match={"boards": 1, "format": "game"}), store.entrants(ID))
    assert results(store, ID).rows == before.rows
    for tournament in ("other-1a2b", "games-1a2b"):
        ratings = {row.name: row.rating.value for row in results(store, tournament).rows}
        assert min(ratings, key=lambda name: ratings[name]) == "bot0"


def test_the_rule_set_says_which_way_points_count() -> None:
    assert lowest_wins(rule_set("black_lady"))


def test_a_replay_is_shown_after_the_last_sitting_of_its_match(store: Store, desk: Desk) -> None:
    """A deal that another bot has still to play must not be seen."""
    create(store, spec_of(5))
    keys = store.planned(ID)
    for key in keys[:3]:
        report(desk, granted(desk, str(key)))
        with pytest.raises(NotReleased, match=f"match {ID}/0 is still being played; its replays are shown after its"):
            released_replay(store, key)
    report(desk, granted(desk, str(keys[3])))
    assert [released_replay(store, key).sitting for key in keys[:4]] == [str(key) for key in keys[:4]]
    assert pack_replay(released_replay(store, keys[0])) == store.replay(keys[0])
    with pytest.raises(NotReleased):
        released_replay(store, keys[4])


@pytest.mark.parametrize("sitting", [f"{ID}/9/0", f"{ID}/0/9"])
def test_there_is_no_replay_of_what_is_not_planned(store: Store, desk: Desk, sitting: str) -> None:
    create(store, spec_of(boards=1))
    play_all(store, desk)
    with pytest.raises(UnknownSitting):
        released_replay(store, SittingKey.parse(sitting))


def points(row: EntrantRow) -> float:
    assert row.standing.points is not None
    return row.standing.points.value


def fault(entrant: int, code: str, *, lost: bool = False) -> StoredFault:
    """One that belongs to no hand."""
    return StoredFault(entrant, None, None, None, None, code, "gone", lost=lost)


class TestForfeits:
    """A bot that fails too often may lose the whole match; the others' points stand."""

    def report(
        self, store: Store, policy: str, fault_limit: int, cheats: int, rules: str = "black_lady"
    ) -> TournamentReport:
        match = {"boards": 2, "fault_policy": policy, "fault_limit": fault_limit}
        create(store, spec_of(match=match, rules={"name": rules}))
        desk = Desk(store)
        for number, key in enumerate(store.planned(ID)):
            grant = granted(desk, str(key))
            bots = [Revoker() if place == 1 and number < cheats else Lowest() for place in range(4)]
            report(desk, grant, packed_of(played(grant.plan, bots)))
        return results(store, ID)

    def partners(
        self, store: Store, limit: int, faults: Callable[[int, Sequence[int]], list[StoredFault]]
    ) -> tuple[TournamentSpec, tuple[Side, ...]]:
        """A match of two sides, of which the first takes all; faults by sitting and by who is of that side."""
        data = {"name": "cup", "rules": {"name": "partnership"}, "deal_seed": "00" * 32}
        match = {"boards": 2, "fault_policy": "forfeit_match", "fault_limit": limit}
        entrants = [{"bot": f"bot{number}", "side": "NE"[number % 2]} for number in range(4)]
        spec = parse_spec({**data, "match": match, "entrants": entrants}, Path("/bots"))
        create(store, spec)
        sides = spec.sides_of(store.entrants(ID))
        losers = sides[0].entrants
        self.record(store, lambda entrant: 26 * (entrant in losers), lambda key: faults(key.sitting, losers))
        return spec, sides

    def record(
        self, store: Store, paid: Callable[[int], int], faults: Callable[[SittingKey], list[StoredFault]]
    ) -> None:
        """Made-up results of two boards a sitting: points by entrant, faults by sitting."""
        desk = Desk(store)
        for key in store.planned(ID):
            grant = granted(desk, str(key))
            seated = [bot.entrant for bot in grant.plan.bots]
            seats = [SeatResult(b, s, e, 1, paid(e), paid(e)) for b in (1, 2) for s, e in enumerate(seated)]
            tallies = [HandTally(b, s, "left", 1, paid(e), 0) for b in (1, 2) for s, e in enumerate(seated)]
            text = str(key).encode()
            digest = hashlib.sha256(text).hexdigest()
            result = SittingResult(tuple(seats), tuple(tallies), tuple(faults(key)), (), text, digest, 2, 1.0)
            assert store.record(key, grant.lease.attempt, result, START) is Recorded.RECORDED

    def test_too_many_faults_in_a_match_forfeit_every_hand_of_it(self, store: Store) -> None:
        found = self.report(store, "forfeit_match", 3, cheats=1)
        out = next(row for row in found.rows if row.name == "bot1")
        assert out.forfeits == 1
        assert points(out) == 26.0
        assert out.standing.rank == 4
        others = {row.name: points(row) for row in found.rows if row.name != "bot1"}
        honest: dict[str, int] = defaultdict(int)
        for _, _, seat in store.seat_results(ID):
            honest[f"bot{seat.entrant}"] += seat.points
        assert others == {name: total / 8 for name, total in honest.items() if name != "bot1"}

    def test_where_the_most_points_win_a_forfeit_is_none_at_all(self, store: Store) -> None:
        found = self.report(store, "forfeit_match", 3, cheats=1, rules="reverse")
        out = next(row for row in found.rows if row.name == "bot1")
        assert (out.forfeits, points(out), out.standing.rank) == (1, 0.0, 4)
        assert sum(seat.points for _, _, seat in store.seat_results(ID) if seat.entrant == 1) > 0

    def test_a_bot_that_was_lost_forfeits_whatever_it_was_lost_by(self, store: Store) -> None:
        """Nonsense that leaves nothing to read ends a bot as a crash does; nonsense that does not is one fault."""
        create(store, spec_of(match={"boards": 2, "fault_policy": "forfeit_match", "fault_limit": 3}))
        desk = Desk(store)
        for number, key in enumerate(store.planned(ID)):
            grant = granted(desk, str(key))
            record = played(grant.plan)
            faults = [
                Fault(grant.plan.bots[place].entrant, FaultCode.PROTOCOL_ERROR, "?", lost=place == 1)
                for place in (1, 2)
            ]
            report(desk, grant, packed_of(replace(record, faults=tuple(faults)) if number == 0 else record))
        forfeits = {row.name: row.forfeits for row in results(store, ID).rows}
        assert forfeits == {"bot0": 0, "bot1": 1, "bot2": 0, "bot3": 0}

    def test_a_forfeit_is_never_better_than_what_was_scored(self, store: Store) -> None:
        """Both partners pay for the others' moon: twice the positive total, more than a forfeit costs."""
        spec, sides = self.partners(store, 3, lambda place, losers: [fault(losers[0], "CRASH", lost=True)])
        scores = board_scores(store, ID, spec, sides)
        assert [dict(zip(each.entrants, each.points, strict=True)) for each in scores] == [{0: 4 * 52, 1: 0}] * 2
        assert [row.forfeits for row in results(store, ID).rows] == [0, 1]

    @pytest.mark.parametrize(("first", "second", "forfeits"), [(3, 3, 0), (4, 0, 1), (0, 4, 1)])
    def test_the_limit_is_each_partner_s_own_and_may_be_reached(
        self, store: Store, first: int, second: int, forfeits: int
    ) -> None:
        """One fault a sitting of the four, or none."""

        def faults(sitting: int, losers: Sequence[int]) -> list[StoredFault]:
            counts = zip(losers, (first, second), strict=True)
            return [fault(entrant, "PROTOCOL_ERROR") for entrant, count in counts if sitting < count]

        spec, sides = self.partners(store, 3, faults)
        assert forfeited(store, ID, spec, sides) == {(0, 0)} if forfeits else not forfeited(store, ID, spec, sides)

    def test_a_forfeit_is_of_one_match_and_faults_of_others_do_not_count(self, store: Store) -> None:
        spec = spec_of(5, match={"boards": 2, "fault_policy": "forfeit_match", "fault_limit": 1})
        create(store, spec)
        groups = [match.entrants for match in store.matches(ID)]
        first, last = [number for number, group in enumerate(groups) if 1 in group][::3]

        def faults(key: SittingKey) -> list[StoredFault]:
            return [fault(1, "PROTOCOL_ERROR")] * (key.sitting < {first: 1, last: 2}.get(key.match, 0))

        self.record(store, lambda entrant: 5 + entrant, faults)
        sides = spec.sides_of(store.entrants(ID))
        assert forfeited(store, ID, spec, sides) == {(last, 1)}
        for score in board_scores(store, ID, spec, sides):
            for side, taken in zip(score.entrants, score.points, strict=True):
                assert taken == (4 * 26 if (score.match, side) == (last, 1) else 4 * (5 + side))

    def test_partners_are_one_version_of_a_side_whoever_is_named_first(self, store: Store) -> None:
        _, sides = self.partners(store, 3, lambda place, losers: [])
        turned = [replace(side, entrants=side.entrants[::-1]) for side in sides]
        keys = version_keys(store, ID, sides)
        assert len(set(keys)) == 2
        assert version_keys(store, ID, turned) == keys

    def test_as_many_as_are_allowed_forfeit_nothing(self, store: Store) -> None:
        found = self.report(store, "forfeit_match", 1000, cheats=4)
        assert [row.forfeits for row in found.rows] == [0] * 4
        assert all(points(row) < 26.0 for row in found.rows)

    def test_the_limit_is_the_match_s_over_all_its_sittings(self, store: Store) -> None:
        found = self.report(store, "forfeit_match", 30, cheats=4)
        assert all(
            sum(fault.entrant == 1 for key, fault in store.faults(ID) if key.sitting == n) <= 30 for n in range(4)
        )
        assert next(row for row in found.rows if row.name == "bot1").forfeits == 1

    def test_the_stand_in_s_points_count_under_the_usual_policy(self, store: Store) -> None:
        found = self.report(store, "stand_in", 3, cheats=4)
        assert [row.forfeits for row in found.rows] == [0] * 4
        assert points(next(row for row in found.rows if row.name == "bot1")) != 26.0
