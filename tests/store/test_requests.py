"""Requests with an id: each is done once, and remembered in the transaction that does it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta

import pytest

from arbiter.errors import UsageError
from arbiter.store import AuditEntry, NameTaken, Request, Store, TournamentState, TransitionRefused, UnknownTournament
from arbiter.store.requests import REMEMBERED
from tests.store.support import START, create

ID = "demo-1a2b"
RETIRE = Request("ada", "one", "RetireVersion", "ducker@1")
PAUSE = Request("host", "one", "tournament.pause", ID)


def pause(store: Store) -> bool:
    """Whether it was done now."""
    with store.once(PAUSE, START) as part:
        if part is not None:
            part.set_state(ID, TournamentState.PAUSED, now=START)
        return part is not None


def note(store: Store, action: str) -> None:
    store.accounts.note(AuditEntry(START, "a" * 12, "host", action, ID))


def noted(store: Store) -> list[str]:
    return [entry.action for entry in store.accounts.audit(9)]


def do(store: Store, request: Request) -> bool:
    """Whether it was done now."""
    with store.once(request, START) as part:
        return part is not None


def test_a_request_is_known_again(store: Store) -> None:
    assert not store.requests.done(RETIRE)
    assert do(store, RETIRE)
    assert not do(store, RETIRE)
    assert store.requests.done(RETIRE)
    assert not store.requests.done(Request("bob", "one", "RetireVersion", "ducker@1"))


def test_an_id_stands_for_one_request(store: Store) -> None:
    assert do(store, RETIRE)
    for other in (
        Request("ada", "one", "RetireVersion", "ducker@2"),
        Request("ada", "one", "ladder.leave", "ducker@1"),
    ):
        for ask in (store.requests.done, lambda request: do(store, request)):
            with pytest.raises(NameTaken, match="request id 'one' was used for RetireVersion ducker@1"):
                ask(other)


def test_no_id_is_never_known_and_others_have_a_form(store: Store) -> None:
    nameless = Request("ada", "", "RetireVersion", "ducker@1")
    assert do(store, nameless)
    assert do(store, nameless)
    assert not store.requests.done(nameless)
    for ask in (store.requests.done, lambda request: do(store, request)):
        with pytest.raises(UsageError, match="request_id 'a b': write 1 to 64 letters"):
            ask(Request("ada", "a b", "RetireVersion", "ducker@1"))


def test_what_is_refused_is_not_remembered(store: Store) -> None:
    with pytest.raises(UnknownTournament):
        pause(store)
    assert not store.requests.done(PAUSE)


def test_they_are_forgotten_in_the_end(store: Store) -> None:
    assert do(store, RETIRE)
    store.requests.forget(START + REMEMBERED)
    assert store.requests.done(RETIRE)
    store.requests.forget(START + REMEMBERED + timedelta(seconds=1))
    assert not store.requests.done(RETIRE)


def test_what_a_request_does_and_that_it_did_are_one_transaction(store: Store) -> None:
    create(store)
    with suppress(ZeroDivisionError), store.once(PAUSE, START) as part:
        assert part is not None
        part.set_state(ID, TournamentState.PAUSED, now=START)
        note(part, "tournament.pause")
        assert (part.tournament(ID).state, noted(part)) == (TournamentState.PAUSED, ["tournament.pause"])
        assert (store.tournament(ID).state, noted(store)) == (TournamentState.RUNNING, [])
        assert not store.requests.done(PAUSE)
        raise ZeroDivisionError
    assert (store.tournament(ID).state, noted(store)) == (TournamentState.RUNNING, [])
    assert pause(store)
    assert not pause(store)


def test_the_same_request_sent_twice_at_once_waits_for_what_becomes_of_the_first(store: Store) -> None:
    create(store)
    with ThreadPoolExecutor(1) as pool:
        with store.once(PAUSE, START) as part:
            assert part is not None
            part.set_state(ID, TournamentState.PAUSED, now=START)
            again = pool.submit(pause, store)
            with pytest.raises(TimeoutError):
                again.result(0.5)
        assert not again.result()


def test_a_part_that_fails_has_changed_nothing_and_the_rest_may_go_on(store: Store) -> None:
    create(store)
    with store.together() as part:
        note(part, "first")
        with pytest.raises(TransitionRefused):
            part.set_state(ID, TournamentState.SCHEDULED, now=START)
        with suppress(UsageError), part.together() as inner:
            note(inner, "second")
            inner.set_state(ID, TournamentState.PAUSED, now=START)
            inner.tournament("unknown")
        assert part.tournament(ID).state is TournamentState.RUNNING
        note(part, "third")
    assert noted(store) == ["third", "first"]
    assert store.tournament(ID).state is TournamentState.RUNNING


def test_a_part_sees_what_another_transaction_has_committed_meanwhile(store: Store, target: str) -> None:
    """As any transaction that writes does, whatever it has read before."""
    if not target.startswith("postgresql"):
        pytest.skip("in SQLite nobody else writes meanwhile")
    create(store)
    with store.together() as part:
        assert part.tournament(ID).state is TournamentState.RUNNING
        store.set_state(ID, TournamentState.PAUSED, now=START)
        assert part.tournament(ID).state is TournamentState.PAUSED
        with pytest.raises(TransitionRefused, match="from paused to paused"):
            part.set_state(ID, TournamentState.PAUSED, now=START)
