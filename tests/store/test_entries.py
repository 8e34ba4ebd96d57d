"""Drafts that are closed while others submit, enter and retire."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from arbiter.store import (
    Database,
    Entry,
    EntryRefused,
    Quota,
    Store,
    Submission,
    Tournament,
    TournamentState,
    TransitionRefused,
    VersionState,
)
from arbiter.store.versions import existing_version
from tests.store.support import START, entrants, matches, tournament

BOTS = [f"bot{number}" for number in range(4)]
VERSIONS = [(bot, 1) for bot in BOTS]


@pytest.fixture
def draft(store: Store) -> str:
    """A draft that four active versions have entered."""
    store.create_tournament(tournament("open", TournamentState.DRAFT), (), (), 1)
    for number, bot in enumerate(BOTS):
        store.versions.receive(Submission(f"owner{number}", bot, "r1", f"{number:064}", 100), Quota(), START)
        for state in (VersionState.BUILDING, VersionState.VALIDATING, VersionState.ACTIVE):
            store.versions.move(bot, 1, state, START)
        enter(store, bot)
    return "open"


def enter(store: Store, bot: str, side: str = "", owner: str = "") -> None:
    entry = Entry(bot, 1, owner or f"owner{BOTS.index(bot)}", side)
    store.entries.enter("open", entry, per_owner=2, per_side=2, limit=4, now=START)


def close(store: Store, entries: list[Entry]) -> Tournament | None:
    return store.entries.close("open", {"name": "open"}, entries, VERSIONS, entrants(), matches(), 2)


def test_a_draft_is_planned_with_the_entries_and_versions_that_were_looked_at(store: Store, draft: str) -> None:
    closed = close(store, store.entries.entries(draft))
    assert closed is not None
    assert (closed.state, closed.spec) == (TournamentState.SCHEDULED, {"name": "open"})
    assert len(store.planned(draft)) == 4
    with pytest.raises(TransitionRefused, match="bots can enter and leave only while it is draft"):
        enter(store, "bot0")


@pytest.mark.parametrize("change", ["withdrawn", "retired"])
def test_nothing_is_planned_when_they_are_others_by_then(store: Store, draft: str, change: str) -> None:
    seen = store.entries.entries(draft)
    if change == "withdrawn":
        store.entries.withdraw(draft, "bot2")
    else:
        store.versions.move("bot2", 1, VersionState.RETIRED, START)
    assert close(store, seen) is None
    assert (store.tournament(draft).state, store.entrants(draft), store.matches(draft)) == (
        TournamentState.DRAFT,
        [],
        [],
    )


def test_a_version_that_is_just_being_retired_is_waited_for(store: Store, draft: str, target: str) -> None:
    seen = store.entries.entries(draft)
    with closing(Database(target)) as other, ThreadPoolExecutor(1) as pool:
        with other.write() as session:
            existing_version(session, "bot2", 1, lock=True).state = VersionState.RETIRED
            session.flush()
            found = pool.submit(close, store, seen)
            with pytest.raises(TimeoutError):  # nobody knows yet whether it will be retired
                found.result(0.5)
        assert found.result() is None


def test_a_side_takes_its_owner_and_as_many_bots_as_it_has(store: Store, draft: str) -> None:
    for bot in BOTS[1:]:
        store.entries.withdraw(draft, bot)
    enter(store, "bot0", "north")
    with pytest.raises(EntryRefused, match="side 'north' is another contestant's"):
        enter(store, "bot1", "north")
    enter(store, "bot1", "north", owner="owner0")
    enter(store, "bot1", "north", owner="owner0")  # again, in its own place
    entry = Entry("bot2", 1, "owner0", "north")
    with pytest.raises(EntryRefused, match="side 'north' has 2 bots, which is all of it"):
        store.entries.enter(draft, entry, per_owner=9, per_side=2, limit=4, now=START)
