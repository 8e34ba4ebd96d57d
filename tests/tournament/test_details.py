"""What stands behind the standings: from recorded sittings, also from those that an earlier version recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from alembic import command

from arbiter.match import replay_of, write_replay
from arbiter.store import SittingKey, Store, schema
from arbiter.store.database import Database
from arbiter.tournament import Desk, details
from arbiter.tournament import report as results
from tests.tournament.support import ID, create, granted, play_all, played, report, spec_of


@pytest.mark.parametrize("match", [{"boards": 4}, {"boards": 1, "format": "game"}])
def test_seats_and_directions_come_to_the_points_of_the_standings(
    store: Store, desk: Desk, match: dict[str, object]
) -> None:
    create(store, spec_of(5, match=match))
    play_all(store, desk)
    rows = store.entrant_tallies(ID)
    found = details(store, ID).breakdown
    for row in results(store, ID).rows:
        mine = [tally for tally in rows if tally.entrant == row.standing.entrant]
        assert row.standing.points is not None
        assert sum(tally.hands for tally in mine) == row.standing.hands
        assert sum(tally.points for tally in mine) / row.standing.hands == pytest.approx(row.standing.points.value)
        for seat, of_seat in found.seats.items():
            there = [tally for tally in mine if tally.seat == seat]
            estimate = of_seat[row.standing.entrant]
            assert estimate is not None
            assert estimate.value == pytest.approx(
                sum(tally.points for tally in there) / sum(tally.hands for tally in there)
            )
    assert list(found.seats) == [0, 1, 2, 3]
    assert set(found.directions) == {"left", "right", "across", "none"}


def test_only_complete_matches_count_and_only_time_that_is_known(store: Store, desk: Desk) -> None:
    create(store)
    keys = store.planned(ID)
    for key in keys[:-1]:
        report(desk, granted(desk, str(key)))
    early = details(store, ID)
    assert early.breakdown.moons == (None,) * 4
    assert early.thinking == {}
    report(desk, granted(desk, str(keys[-1])))
    whole = json.loads(json.dumps(details(store, ID).to_list()))
    assert [entrant["name"] for entrant in whole] == ["bot0", "bot1", "bot2", "bot3"]
    assert {(entrant["thinking_seconds"], entrant["answers"]) for entrant in whole} == {(1.0, 104)}
    assert all(entrant["moons_per_hand"]["value"] >= 0 for entrant in whole)


def test_sittings_of_an_earlier_version_are_tallied_from_their_replays(tmp_path: Path) -> None:
    path = tmp_path / "arbiter.db"
    with Store.open(path) as store:
        create(store, spec_of(match={"boards": 1, "format": "game"}))
        desk = Desk(store)
        for key in store.planned(ID):
            grant = granted(desk, str(key))
            record = played(grant.plan)
            report(desk, grant, write_replay(replay_of(record.plan, record.hands, record.faults)))
        before = store.entrant_tallies(ID)
    database = Database(path)
    with database.connection(writes=True) as connection:
        command.downgrade(schema.alembic_config(connection), "0003")
    database.close()
    with Store.open(path) as store:
        assert store.entrant_tallies(ID) == before != []
        assert store.thinking_times(ID) == {}
        assert all(log.answers is None for log in store.logs(SittingKey(ID, 0, 0)))
