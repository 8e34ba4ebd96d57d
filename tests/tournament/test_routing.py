"""What the sittings of a tournament need of a worker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from arbiter.match.routes import Priority, Route
from arbiter.store import Entrant, SittingKey, Store
from arbiter.tournament import plan_tournament
from arbiter.tournament.gate_request import gate_spec
from arbiter.tournament.routing import Routing
from tests.tournament import gates
from tests.tournament.support import ID, START, spec_of
from tests.tournament.test_ladder import LADDER, ladder_spec

RUNTIMES = ("python", "java", "python", "node", "python")


def test_a_sitting_needs_every_special_runtime_of_its_bots_and_no_other(store: Store) -> None:
    spec = spec_of(5, match={"boards": 1, "cpus": 2})
    entrants = [
        Entrant(index, f"bot{index}", f"{index:064x}", {"runtime": runtime}) for index, runtime in enumerate(RUNTIMES)
    ]
    tournament, matches = plan_tournament(ID, spec, entrants, START)
    store.create_tournament(tournament, entrants, matches, 4)
    routing = Routing(store, ["java", "node", "perl"])
    routes = {match.entrants: set[tuple[Route, Priority]]() for match in matches}
    for key in store.planned(ID):
        routes[matches[key.match].entrants].add(routing.of(tournament, key))
    for group, found in routes.items():
        needed = tuple(sorted({RUNTIMES[entrant] for entrant in group} - {"python"}))
        assert found == {(Route(2, needed), Priority.TOURNAMENT)}
    assert routing.seen() == [Route(2, ("java",)), Route(2, ("java", "node")), Route(2, ("node",))]


def test_a_pipeline_waits_for_nobody_and_a_ladder_takes_what_is_left(store: Store, tmp_path: Path) -> None:
    spec = gate_spec(gates.request_of(gates.make_bots(tmp_path, "new", "old", "x", "y", "z")))
    gates.create(store, spec, 1)
    ladder, _ = plan_tournament(LADDER, ladder_spec(), [], START)
    entrants = [Entrant(index, f"bot{index}", f"{index:064x}", {}) for index in range(4)]
    plan = store.matches(gates.GATE)
    store.create_tournament(ladder, entrants, [replace(plan[0], entrants=(0, 1, 2, 3))], 1)
    found = {}
    for tournament in store.tournaments():
        found[tournament.id] = Routing(store, []).of(tournament, SittingKey(tournament.id, 0, 0))
    assert found == {gates.GATE: (Route(), Priority.GATE), LADDER: (Route(), Priority.LADDER)}
