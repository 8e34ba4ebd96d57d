"""What results say: standings from complete matches alone, whatever the order in which they came; and replays."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from arbiter.engine import rule_set
from arbiter.match import write_replay
from arbiter.store import SittingKey, Store, TournamentState, UnknownSitting
from arbiter.tournament import Desk, TournamentReport, released_replay
from arbiter.tournament import report as results
from arbiter.tournament.replays import NotReleased
from arbiter.tournament.spec import lowest_wins
from tests.tournament.support import ID, Lowest, Revoker, create, granted, play_all, played, report, spec_of, text_of


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The replays of a tournament of five, in schedule order."""
    found = {}
    with Store.open(tmp_path_factory.mktemp("first") / "arbiter.db") as store:
        create(store, spec_of(5))
        desk = Desk(store)
        for key in store.planned(ID):
            grant = granted(desk, str(key))
            found[str(key)] = text_of(played(grant.plan))
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
        assert row.standing.points_per_hand == pytest.approx(sum(mine) / len(mine))
        assert row.name == f"bot{row.standing.entrant}"
    ranked = [row.standing.points_per_hand for row in found.rows]
    assert ranked == sorted(value for value in ranked if value is not None)
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
    assert [row.standing.points_per_hand for row in early.rows] == [None] * 4
    assert json.loads(json.dumps(early.to_dict()))["standings"][0]["points_per_hand"] is None
    report(desk, granted(desk, str(keys[-1])))
    assert {(row.standing.boards, row.standing.hands) for row in results(store, ID).rows} == {(2, 8)}


def test_faults_stand_beside_the_bot_that_committed_them(store: Store, desk: Desk) -> None:
    create(store, spec_of(match={"boards": 2, "fault_limit": 0}))
    for key in store.planned(ID):
        grant = granted(desk, str(key))
        bots = [Revoker() if bot.entrant == 2 else Lowest() for bot in grant.plan.bots]
        report(desk, grant, text_of(played(grant.plan, bots)))
    faults = {row.name: sum(row.faults.values()) for row in results(store, ID).rows}
    assert faults["bot2"] >= 4
    assert sum(faults.values()) == faults["bot2"]
    assert faults["bot2"] <= results(store, ID).progress.faults, "the list and the counts agree"


def test_json_names_everything_and_rounds_nothing(store: Store, desk: Desk) -> None:
    create(store)
    play_all(store, desk)
    store.set_state(ID, TournamentState.FAILED, now=store.tournament(ID).created_at, failure="because")
    found = results(store, ID)
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["tournament"], data["state"], data["failure"]) == (ID, "failed", "because")
    assert data["sittings"] == {"planned": 0, "leased": 0, "recorded": 4, "failed": 0}
    assert [row["points_per_hand"] for row in data["standings"]] == [row.standing.points_per_hand for row in found.rows]
    assert [row["mu"] for row in data["standings"]] == [row.rating.mu for row in found.rows]
    pairs = {(row["name"], row["opponent"]): row["difference"] for row in data["crosstable"]}
    assert all(pairs[one, other] == -pairs[other, one] for one, other in pairs)
    assert "deal_seed" not in json.dumps(data)


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
    assert write_replay(released_replay(store, keys[0])) == store.replay(keys[0])
    with pytest.raises(NotReleased):
        released_replay(store, keys[4])


@pytest.mark.parametrize("sitting", [f"{ID}/9/0", f"{ID}/0/9"])
def test_there_is_no_replay_of_what_is_not_planned(store: Store, desk: Desk, sitting: str) -> None:
    create(store, spec_of(boards=1))
    play_all(store, desk)
    with pytest.raises(UnknownSitting):
        released_replay(store, SittingKey.parse(sitting))
