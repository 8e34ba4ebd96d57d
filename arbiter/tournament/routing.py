"""What the sittings of a tournament need of a worker, and how urgent they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from arbiter.match.routes import Priority, Route, route_for
from arbiter.store import SittingKey, Store, Tournament
from arbiter.tournament.formats import Ladder
from arbiter.tournament.spec import TournamentSpec


@dataclass(frozen=True, slots=True)
class _Known:
    priority: Priority
    routes: list[Route]
    """By match; a plan may have grown since."""


class Routing:
    """Reads a plan once and again when it has grown.

    Args:
        store: where plans are.
        special: runtimes that not every machine has.
    """

    def __init__(self, store: Store, special: Sequence[str]) -> None:
        self._store: Final = store
        self._special: Final = frozenset(special)
        self._known: Final[dict[str, _Known]] = {}

    def of(self, tournament: Tournament, key: SittingKey) -> tuple[Route, Priority]:
        """The route and the priority of a sitting."""
        known = self._known.get(tournament.id)
        if known is None or key.match >= len(known.routes):
            known = self._known[tournament.id] = self._read(tournament)
        return known.routes[key.match], known.priority

    def know(self, tournament: Tournament) -> None:
        """Read a tournament's plan, for `seen`."""
        self._known[tournament.id] = self._read(tournament)

    def seen(self) -> list[Route]:
        """Every route that any sitting so far has had."""
        return sorted({route for known in list(self._known.values()) for route in known.routes})

    def _read(self, tournament: Tournament) -> _Known:
        spec = TournamentSpec.from_dict(tournament.spec)
        runtimes = [str(entrant.manifest.get("runtime")) for entrant in self._store.entrants(tournament.id)]
        routes = [
            route_for(spec.cpus, self._special & {runtimes[entrant] for entrant in match.entrants})
            for match in self._store.matches(tournament.id)
        ]
        return _Known(_priority(spec), routes)


def _priority(spec: TournamentSpec) -> Priority:
    if spec.gate is not None:
        return Priority.GATE
    return Priority.LADDER if isinstance(spec.format, Ladder) else Priority.TOURNAMENT
