"""Calls that change something, each sent twice at the same moment with one request id: done once, and both are told
so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from arbiter.packages import FileVersions
from arbiter.registry.registry import Registry
from arbiter.store import Database, Quota, Scope, Store, Submission, Token, TournamentState, VersionState
from arbiter.store.tables import Table
from arbiter.tournament.hosting import Hosting
from arbiter.tournament.ladder_hosting import LadderHosting
from tests.tournament.gates import make_bots
from tests.tournament.support import ID, START, create

HOST = Token("a" * 12, "host", Scope.HOST, "0" * 64, START, START)
ADA = Token("b" * 12, "ada", Scope.CONTESTANT, "0" * 64, START, START)
BOTS = ("alpha", "bravo", "charlie", "delta")
CUP = 'name = "open"\n[match]\nboards = 2\n[entry]\nper_owner = 4\n'
LADDER = 'name = "ladder"\nformat = "ladder"\n[match]\nboards = 6\nseatings = 1\n'


class Parts:
    """What answers calls, with four versions of ada's."""

    def __init__(self, store: Store, folder: Path) -> None:
        contents = FileVersions(folder / "contents")
        self.store = store
        self.hosting = Hosting(store, contents)
        self.ladders = LadderHosting(store, contents)
        self.registry = Registry(store, contents, folder / "registry")
        for bot in make_bots(folder, *BOTS):
            name, digest = bot.name.partition("-")[2], contents.put(bot).digest
            store.versions.receive(Submission("ada", name, name, digest, 1), Quota(), START)
            store.versions.move(name, 1, VersionState.BUILDING, START)
            store.versions.move(name, 1, VersionState.VALIDATING, START, built=digest, built_size=1)
            store.versions.move(name, 1, VersionState.ACTIVE, START, tried=["black_lady"])

    def draft(self, *bots: str) -> str:
        cup = self.hosting.create(HOST, CUP, "cup").id
        for bot in bots:
            self.hosting.enter(ADA, cup, bot, None, "")
        return cup

    def ladder(self, *bots: str) -> str:
        ladder = self.hosting.create(HOST, LADDER, "ladder").id
        self.hosting.start(HOST, ladder)
        for bot in bots:
            self.ladders.enter(ADA, bot, ladder)
        return ladder


Call = Callable[[], object]


def _state(state: TournamentState, action: str) -> Callable[[Parts], Call]:
    def prepared(parts: Parts) -> Call:
        cup = create(parts.store)
        if state is not TournamentState.RUNNING:
            parts.store.set_state(cup, state, now=START)
        return lambda: getattr(parts.hosting, action)(HOST, cup, "one")

    return prepared


def _started(parts: Parts) -> Call:
    create(parts.store, running=False)
    return lambda: parts.hosting.start(HOST, ID, "one")


def _entered(parts: Parts) -> Call:
    cup = parts.draft()
    return lambda: parts.hosting.enter(ADA, cup, "alpha", 1, "", "one")


def _withdrawn(parts: Parts) -> Call:
    cup = parts.draft("alpha")
    return lambda: parts.hosting.withdraw(ADA, cup, "alpha", "one")


def _closed(parts: Parts) -> Call:
    cup = parts.draft(*BOTS)
    return lambda: parts.hosting.schedule(HOST, cup, "one")


def _closed_and_started(parts: Parts) -> Call:
    cup = parts.draft(*BOTS)
    return lambda: parts.hosting.start(HOST, cup, "one")


def _created(parts: Parts) -> Call:
    return lambda: parts.hosting.create(HOST, CUP, "one")


def _ladder_entered(parts: Parts) -> Call:
    ladder = parts.ladder()
    return lambda: parts.ladders.enter(ADA, "alpha", ladder, "one")


def _ladder_left(parts: Parts) -> Call:
    ladder = parts.ladder("alpha")
    return lambda: parts.ladders.leave(ADA, "alpha@1", ladder, "one")


def _retired(parts: Parts) -> Call:
    return lambda: parts.registry.retire(ADA, "alpha", 1, START, "one")


CALLS: dict[str, Callable[[Parts], Call]] = {
    "tournament.create": _created,
    "tournament.enter": _entered,
    "tournament.withdraw": _withdrawn,
    "tournament.schedule": _closed,
    "tournament.start": _started,
    "tournament.start of a draft": _closed_and_started,
    "tournament.pause": _state(TournamentState.RUNNING, "pause"),
    "tournament.resume": _state(TournamentState.PAUSED, "resume"),
    "tournament.cancel": _state(TournamentState.RUNNING, "cancel"),
    "ladder.enter": _ladder_entered,
    "ladder.leave": _ladder_left,
    "bot.retire": _retired,
}


@contextmanager
def nobody_writes(target: str) -> Iterator[None]:
    """Hold up everybody who writes into a database."""
    with closing(Database(target)) as other, other.write() as session:
        if other.is_sqlite:
            session.execute(text("SELECT 1"))  # where a transaction that writes begins by keeping others from it
        else:
            session.execute(text(f"LOCK TABLE {', '.join(Table.metadata.tables)} IN EXCLUSIVE MODE"))
        yield


@pytest.mark.parametrize("named", CALLS)
def test_a_call_that_is_sent_twice_at_once_is_done_once(store: Store, target: str, tmp_path: Path, named: str) -> None:
    call = CALLS[named](Parts(store, tmp_path))
    action = named.partition(" ")[0]
    before = len(store.accounts.audit(99))
    with ThreadPoolExecutor(2) as pool:
        with nobody_writes(target):  # so both find that nothing is done yet
            calls = [pool.submit(call), pool.submit(call)]
            assert not wait(calls, 0.1).done
        first, second = (each.result() for each in calls)
    assert first == second
    noted = [entry.action for entry in store.accounts.audit(99)]
    assert noted[: len(noted) - before] == [action]
