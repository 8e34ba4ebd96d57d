"""What the sittings of a tournament need of a worker."""

from __future__ import annotations

from arbiter.match.routes import Priority, Route
from arbiter.store import Entrant, Store
from arbiter.tournament import plan_tournament
from arbiter.tournament.routing import Routing
from tests.tournament.support import ID, START, spec_of

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
