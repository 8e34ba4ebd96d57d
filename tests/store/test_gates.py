"""Gates where several are made at once, on each kind of database."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from arbiter.store import Entrant, InvalidPlan, Quota, QuotaExceeded, Store, TournamentState
from tests.store.support import ENTRANTS, START, create, matches, tournament

THREADS = 16
DAY = timedelta(days=1)


def make(store: Store, name: str, quota: Quota, *, owner: str = "ada", at: timedelta = timedelta(0)) -> None:
    gate = tournament(name, TournamentState.RUNNING, START + at)
    gate = replace(gate, spec={**gate.spec, "gate": {"alpha": 0.05}})
    store.gates.create(gate, sides(owner), matches(), 1, owner=owner, quota=quota)


def sides(owner: str) -> list[Entrant]:
    return [Entrant(number, f"Bot {number}", f"digest-{number}", {"owner": owner}) for number in range(ENTRANTS)]


@pytest.mark.parametrize("quota", [Quota(gates_at_once=4), Quota(gates_at_once=99, gates_per_day=4)])
def test_no_more_than_a_quota_is_made_of_many_at_once(store: Store, quota: Quota) -> None:
    together = Barrier(THREADS)

    def one(number: int) -> str:
        together.wait()
        try:
            make(store, f"gate-{number}", quota)
        except QuotaExceeded:
            return "refused"
        return "made"

    with ThreadPoolExecutor(THREADS) as pool:
        assert Counter(pool.map(one, range(THREADS))) == {"made": 4, "refused": THREADS - 4}
    assert len(store.tournaments()) == 4


def test_one_id_makes_one_gate(store: Store) -> None:
    make(store, "gate-1", Quota(gates_at_once=1))
    with pytest.raises(InvalidPlan, match="there is a tournament 'gate-1' already"):  # and not that there is no room
        make(store, "gate-1", Quota(gates_at_once=1))


def test_what_counts(store: Store) -> None:
    quota = Quota(gates_at_once=2, gates_per_day=3)
    create(store, "cup")  # no gate, and nobody's
    store.create_tournament(tournament("open", TournamentState.DRAFT), sides("ada"), matches(), 1)  # no gate either
    make(store, "gate-1", quota)
    make(store, "gate-2", quota)
    make(store, "gate-3", quota, owner="bob")
    store.set_state("gate-2", TournamentState.PAUSED, now=START)  # which is not over
    with pytest.raises(QuotaExceeded, match="ada has 2 gates under way, which is all that is allowed; wait, or cancel"):
        store.gates.check("ada", quota, START + 2 * DAY)
    for name in ("gate-1", "gate-2"):
        store.set_state(name, TournamentState.CANCELLED, now=START)
    make(store, "gate-4", quota, at=timedelta(hours=1))
    store.set_state("gate-4", TournamentState.CANCELLED, now=START)
    with pytest.raises(QuotaExceeded, match="ada has had 3 gates within a day, which is all that is allowed; wait"):
        store.gates.check("ada", quota, START + DAY - timedelta(seconds=1))
    store.gates.check("ada", quota, START + DAY)
    store.gates.check("bob", quota, START)
