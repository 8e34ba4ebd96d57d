"""Gates as they are made: within what their candidate's owner may have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from arbiter.store import plans
from arbiter.store.database import Database
from arbiter.store.quotas import Quota, check_gates
from arbiter.store.records import Entrant, Match, Tournament, check_aware


class Gates:
    """All gates; each is a tournament whose first entrant is the candidate. Every method is one transaction; raises
    `StoreError` when the database fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def check(self, owner: str, quota: Quota, now: datetime) -> None:
        """Return when a gate may be made for a candidate of this owner; raises `QuotaExceeded`."""
        check_aware(now)
        with self._database.read() as session:
            check_gates(session, owner, quota, now)

    def create(
        self,
        gate: Tournament,
        entrants: Sequence[Entrant],
        matches: Sequence[Match],
        sittings_per_match: int,
        *,
        owner: str,
        quota: Quota,
    ) -> None:
        """Write a whole plan, as `Store.create_tournament` does, for a candidate of this owner.

        Raises:
            InvalidPlan: its parts do not fit together, or the id is taken.
            QuotaExceeded: the owner has as many gates as may be.
        """
        check_aware(gate.created_at)
        with self._database.write() as session:
            # Two gates of one owner must not both find room for one, nor one request make two.
            self._database.take_turns(session, f"owner {owner}", f"tournament {gate.id}")
            plans.refuse_taken(session, gate.id)
            check_gates(session, owner, quota, gate.created_at)
            plans.create(session, gate, entrants, matches, sittings_per_match)
