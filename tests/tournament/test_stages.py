"""Formats whose later matches depend on results: the plan grows stage by stage, the same however it is disturbed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from arbiter.deals import commitment, derive_deal_seed
from arbiter.store import Match, Store, TournamentState
from arbiter.tournament import Desk, TournamentReport, TournamentSpec, parse_spec
from arbiter.tournament import report as results
from arbiter.tournament.planning import lots_of
from arbiter.tournament.replays import published_deals
from arbiter.tournament.stages import write_next_stage
from tests.tournament.stages import KNOCKOUT, SWISS, outcome, play_on, play_stage, text
from tests.tournament.support import ID, SEED, create, granted, report, spec_of


@pytest.fixture(scope="module", params=["swiss", "knockout"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A tournament that nothing disturbed."""
    with Store.open(tmp_path_factory.mktemp("whole") / "arbiter.db") as store:
        create(store, SWISS if request.param == "swiss" else KNOCKOUT)
        play_on(store)
        yield store


def spec_in(store: Store) -> TournamentSpec:
    spec = TournamentSpec.from_dict(store.tournament(ID).spec)
    return SWISS if spec.format.kind == "swiss" else KNOCKOUT


def test_the_plan_has_all_stages_in_the_end_and_a_deal_set_for_each_match(whole: Store) -> None:
    matches = whole.matches(ID)
    sizes = spec_in(whole).format.stage_sizes(9, 4)
    assert sizes is not None
    assert len(matches) == sum(sizes)
    seed = bytes.fromhex(SEED)
    assert [match.deal_seed for match in matches] == [derive_deal_seed(seed, index) for index in range(len(matches))]
    assert [match.commitment for match in matches] == [commitment(match.deal_seed) for match in matches]
    assert not write_next_stage(whole, ID), "asked again, nothing is added"
    assert len(whole.matches(ID)) == len(matches)


def test_disturbed_at_every_step_it_comes_to_the_same_last_digit(whole: Store, target: str) -> None:
    """Killed between any two sittings or stages, sittings in any order, and several who write the next stage."""
    chance = random.Random(3)
    with Store.open(target) as store:
        create(store, spec_in(whole))
    more = True
    while more:
        with Store.open(target) as store:
            while planned := store.planned(ID):
                grant = granted(Desk(store), str(chance.choice(planned)))
                report(Desk(store), grant, text(grant.plan))
        with Store.open(target) as store, Store.open(target) as other:
            more = write_next_stage(store, ID)
            assert write_next_stage(other, ID) is more
    with Store.open(target) as store:
        assert outcome(store) == outcome(whole)


@pytest.mark.parametrize("at", ["sittings", "commit"])
def test_a_stage_is_written_whole_or_not_at_all(at: str, target: str) -> None:
    """The process that writes it is killed in the middle of it."""
    with Store.open(target) as store:
        create(store, KNOCKOUT)
        play_stage(store, Desk(store))
        first = store.matches(ID)
    command = [sys.executable, "-m", "tests.tournament.stage_writer", target, ID, at]
    assert subprocess.run(command, check=False).returncode == 9
    with Store.open(target) as store:
        assert store.matches(ID) == first
        assert store.planned(ID) == []
        assert write_next_stage(store, ID)
        assert len(store.matches(ID)) == len(first) + 1
        assert len(store.planned(ID)) == 4


def test_a_desk_that_has_seen_the_plan_before_plays_its_later_stages(store: Store, desk: Desk) -> None:
    create(store, SWISS)
    play_stage(store, desk)
    assert write_next_stage(store, ID)
    play_stage(store, desk)
    assert store.progress(ID).recorded == 16


def test_commitments_are_there_before_a_sitting_can_be_leased_and_seeds_wait_for_the_end(
    store: Store, desk: Desk
) -> None:
    create(store, SWISS)
    play_stage(store, desk)
    assert store.progress(ID).done
    assert published_deals(store, ID).seed is None, "all is played that is planned so far"
    write_next_stage(store, ID)
    public = published_deals(store, ID)
    assert [deal_set.deal_seed is None for deal_set in public.deal_sets] == [False, False, True, True]
    assert all(deal_set.commitment for deal_set in public.deal_sets)
    assert public.seed is None, "from it the deals of later stages follow"


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.CANCELLED])
def test_what_the_host_stopped_does_not_grow(store: Store, desk: Desk, state: TournamentState) -> None:
    create(store, SWISS)
    play_stage(store, desk)
    store.set_state(ID, state, now=store.tournament(ID).created_at)
    assert write_next_stage(store, ID), "there is more to play"
    assert len(store.matches(ID)) == 2


def test_swiss_standings_are_by_score_and_then_by_points(store: Store) -> None:
    create(store, SWISS)
    play_on(store)
    found = results(store, ID)
    points = points_of(store, store.matches(ID))
    scores = [Fraction(0)] * 9
    for match in store.matches(ID):
        for one, other in combinations(match.entrants, 2):
            a, b = points[match.index, one], points[match.index, other]
            scores[one] += Fraction(1 + (a < b) - (a > b), 2)
            scores[other] += Fraction(1 + (b < a) - (b > a), 2)
    played_in = Counter(entrant for match in store.matches(ID) for entrant in match.entrants)
    for entrant in range(9):
        scores[entrant] += Fraction(3, 2) * (4 - played_in[entrant])
    assert {row.standing.entrant: row.score for row in found.rows} == dict(enumerate(scores))
    keys = [(-scores[row.standing.entrant], row.standing.rank) for row in found.rows]
    assert keys == sorted(keys)
    assert [row.rank for row in found.rows] == [1 + sum(other < key for other in keys) for key in keys]
    assert found.stages == (4, 4)
    check_data(found)


def test_knockout_standings_are_by_stage_and_then_by_place_there(store: Store) -> None:
    create(store, KNOCKOUT)
    play_on(store)
    found = results(store, ID)
    matches = store.matches(ID)
    points = points_of(store, matches)
    final = matches[-1]
    assert [row.standing.entrant for row in found.rows[:4]] == sorted(
        final.entrants, key=lambda entrant: points[final.index, entrant]
    )
    assert [row.reached for row in found.rows[:4]] == [2] * 4
    assert all((row.reached or 0) < 2 for row in found.rows[4:])
    assert [row.rank for row in found.rows] == sorted(row.rank for row in found.rows)
    assert found.stages == (3, 3)
    check_data(found)


def points_of(store: Store, matches: list[Match]) -> dict[tuple[int, int], int]:
    """By match and entrant."""
    points = Counter({(match.index, entrant): 0 for match in matches for entrant in match.entrants})
    for match, _, seat in store.seat_results(ID):
        points[match, seat.entrant] += seat.points
    return points


def check_data(found: TournamentReport) -> None:
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["format"], data["stages"], data["stages_complete"]) == (
        found.spec.format.kind,
        *reversed(found.stages or ()),
    )
    for row, line in zip(found.rows, data["standings"], strict=True):
        assert line["rank"] == row.rank
        assert line["score"] == (None if row.score is None else float(row.score))
        assert line["stage_reached"] == (None if row.reached is None else row.reached + 1)


def test_standings_in_mid_stage_count_complete_stages_alone(store: Store, desk: Desk) -> None:
    create(store, SWISS)
    play_stage(store, desk)
    after_one = {row.name: row.score for row in results(store, ID).rows}
    write_next_stage(store, ID)
    play_stage(store, desk, lambda planned: planned[:5])
    found = results(store, ID)
    assert found.stages == (1, 4)
    assert (found.progress.matches, found.progress.matches_complete, found.matches_in_all) == (4, 3, 8)
    assert {row.name: row.score for row in found.rows} == after_one


def test_a_gauntlet_is_planned_at_once_and_ranked_by_points(store: Store) -> None:
    create(store, spec_of(6, boards=1, format="gauntlet", gauntlet={"champions": 2}))
    matches = store.matches(ID)
    assert len(matches) == 2 * 4
    assert all(sum(entrant < 2 for entrant in match.entrants) == 1 for match in matches)
    play_on(store)
    assert len(store.matches(ID)) == 8
    found = results(store, ID)
    assert found.stages is None
    assert [row.rank for row in found.rows] == [row.standing.rank for row in found.rows]
    assert (0, 1) not in found.pairings, "champions never meet"


def test_sides_of_two_play_as_one(store: Store) -> None:
    data = {
        "name": "cup",
        "deal_seed": SEED,
        "format": "swiss",
        "swiss": {"stages": 2},
        "rules": {"name": "partnership"},
        "match": {"boards": 1},
        "entrants": [{"bot": f"bot{number}", "side": f"side{number // 2}"} for number in range(10)],
    }
    create(store, parse_spec(data, Path("/bots")))
    play_on(store)
    matches = store.matches(ID)
    assert len(matches) == 4
    for match in matches:
        sides = [entrant // 2 for entrant in match.entrants]
        assert sides == [sides[0], sides[1]] * 2
    met = Counter(tuple(sorted({entrant // 2 for entrant in match.entrants})) for match in matches)
    assert set(met.values()) == {1}
    assert sorted(row.name for row in results(store, ID).rows) == [f"side{number}" for number in range(5)]


def test_lots_are_drawn_from_the_seed_or_follow_the_file() -> None:
    listed = spec_of(9, format="knockout", knockout={"seeding": "listed"})
    seed, other = bytes(32), bytes([1] * 32)
    assert lots_of(listed, 9, seed) == list(range(9))
    drawn = lots_of(SWISS, 9, seed)
    assert sorted(drawn) == list(range(9))
    assert drawn != lots_of(SWISS, 9, other)
    assert drawn == lots_of(KNOCKOUT, 9, seed)
