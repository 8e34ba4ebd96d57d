"""Who leads, and that nobody else's writes get through."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event

import pytest
from sqlalchemy import text

from arbiter.errors import InfrastructureError, UsageError
from arbiter.store import Database, Leadership, LeadershipLost, SittingKey, Store, TournamentState, leading
from tests.store.support import START, TERM, after, create, entrants, everything, leased, matches, result, tournament

MATTER = "tournament/demo-1a2b"
KEY = SittingKey("demo-1a2b", 0, 0)


def lead(store: Store, holder: str, seconds: float = 0) -> Leadership:
    return store.lead(MATTER, holder, after(seconds), TERM)


def test_the_first_who_asks_leads_until_the_lead_expires(store: Store) -> None:
    assert store.leader(MATTER) is None
    first = lead(store, "a")
    assert first == Leadership(MATTER, "a", 1, START + TERM) == store.leader(MATTER)
    assert lead(store, "b", 29.9) == first
    assert lead(store, "b", 30) == Leadership(MATTER, "b", 2, after(60))
    assert lead(store, "a", 59) == Leadership(MATTER, "b", 2, after(60))


def test_a_lead_that_is_renewed_goes_on_and_one_that_was_taken_does_not(store: Store) -> None:
    first = lead(store, "a")
    assert store.keep_lead(first, after(20), TERM) == Leadership(MATTER, "a", 1, after(50))
    assert lead(store, "b", 45).holder == "a"
    assert store.keep_lead(first, after(100), TERM) is not None, "nobody wanted it meanwhile"
    second = lead(store, "b", 200)
    assert second.term == 2
    assert store.keep_lead(first, after(201), TERM) is None
    assert lead(store, "a", 201) == second


def test_who_comes_again_under_the_same_name_leads_at_once_in_a_new_term(store: Store) -> None:
    """As a worker that claims what it holds: fishtest#1979."""
    former = lead(store, "a")
    assert lead(store, "a", 1).term == 2
    assert store.keep_lead(former, after(2), TERM) is None


def test_who_resigns_lets_others_lead_at_once_and_who_lost_it_takes_nothing_away(store: Store) -> None:
    first = lead(store, "a")
    store.resign(first, after(1))
    second = lead(store, "b", 1)
    assert (second.holder, second.term) == ("b", 2)
    store.resign(first, after(2))
    assert lead(store, "c", 2) == second


def test_matters_have_leaders_of_their_own(store: Store) -> None:
    lead(store, "a")
    assert store.lead("ladder/black_lady", "b", START, TERM) == Leadership("ladder/black_lady", "b", 1, START + TERM)


def test_of_many_that_ask_at_once_one_leads(store: Store) -> None:
    together = Barrier(8)

    def ask(number: int) -> Leadership:
        together.wait()
        return lead(store, f"p{number}")

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(ask, range(8)))
    assert len(found) == 1
    assert found.pop().term == 1


CHANGES: list[Callable[[Store], object]] = [
    lambda store: store.create_tournament(tournament("new"), entrants(), matches(), 2),
    lambda store: store.extend_tournament("demo-1a2b", matches(3)[2:], 2),
    lambda store: store.set_state("demo-1a2b", TournamentState.PAUSED, now=START),
    lambda store: store.lease(SittingKey("demo-1a2b", 0, 1), "w2", START, TERM),
    lambda store: store.renew(KEY, 1, after(1), TERM),
    lambda store: store.expire_leases("demo-1a2b", after(100)),
    lambda store: store.release(KEY, 1, "starved"),
    lambda store: store.record(KEY, 1, result(KEY), START),
    lambda store: store.retry_failed("demo-1a2b"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_leader_writes_is_refused_once_another_leads(
    store: Store, target: str, change: Callable[[Store], object]
) -> None:
    create(store)
    leased(store, KEY)
    first = store.led_by(lead(store, "a"))
    lead(store, "b", 30)
    before = everything(target)
    with pytest.raises(
        LeadershipLost, match=r"^a does not lead tournament/demo-1a2b any more, b does; nothing is writ"
    ):
        change(first)
    assert everything(target) == before
    change(store.led_by(lead(store, "b", 31)))
    assert issubclass(LeadershipLost, InfrastructureError)


def test_nobody_takes_the_lead_while_the_leader_writes(store: Store, target: str) -> None:
    """Its lead has expired; but what it began to write is committed before another term begins, or not at all."""
    create(store)
    led = lead(store, "a")
    database = Database(target)
    taking = Event()

    def take() -> Leadership:
        taking.set()
        return lead(store, "b", 1000)

    with ThreadPoolExecutor(1) as pool:
        with database.write() as session:
            leading.require(session, led)
            other = pool.submit(take)
            taking.wait()
            session.execute(text("UPDATE tournament SET name = 'written in term 1'"))
            assert not other.done()
        assert other.result().term == 2
    database.close()
    assert store.tournament("demo-1a2b").name == "written in term 1"


def test_a_lead_is_kept_by_times_with_a_zone(store: Store) -> None:
    with pytest.raises(UsageError, match="no timezone"):
        store.lead(MATTER, "a", START.replace(tzinfo=None), timedelta(1))
