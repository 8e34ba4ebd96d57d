"""Whether what is recorded of a tournament is enough: a gate ends with its verdict, everything else with its plan."""

from __future__ import annotations

from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.store import Store, StoreError, Tournament
from arbiter.tournament.gate import GateJudge


class Judges:
    """The judges of all gates, each made once.

    Args:
        store: where the gates are.
    """

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._judges: Final[dict[str, GateJudge]] = {}

    def enough(self, tournament: Tournament) -> bool:
        """Whether the rest need not be played."""
        if not tournament.spec.get("gate"):
            return False
        judge = self._judges.get(tournament.id)
        if judge is None:
            judge = self._judges[tournament.id] = GateJudge.of(self._store, tournament.id)
        try:
            return judge.enough()
        except StoreError:
            raise
        except InfrastructureError:
            # A sitting of the next block can't be played: no verdict, and the tournament fails when nothing is left.
            return False
