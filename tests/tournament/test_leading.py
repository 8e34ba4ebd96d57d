"""For how long a leader may do what the database does not refuse, and that it gives the lead up when it ends."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from arbiter.match.routes import Priority, Route
from arbiter.store import SittingKey, Store, Tournament
from arbiter.tournament import Coordinator, coordinator
from arbiter.tournament.leading import Lead, matter_of
from tests.patience import PATIENCE
from tests.tournament.support import ID, START, create

ASKING = 3.0
"""Seconds that the database takes to answer."""


class SlowTime:
    """A clock that goes on while the database is asked, and otherwise where a test sets it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def ask(self) -> datetime:
        asked = START + timedelta(seconds=self.seconds)
        self.seconds += ASKING
        return asked


def test_a_lead_counts_from_before_the_database_was_asked(tmp_path: Path) -> None:
    """By then another may have it whom the database has told so, however late the answer came."""
    time = SlowTime()
    duration = timedelta(seconds=5)
    with (
        Store.open(tmp_path / "arbiter.db") as store,
        Lead(store, "cup", "c1", duration, now=time.ask, steady=lambda: time.seconds) as lead,
    ):
        assert lead.take()
        for asked in (0.0, 4.0):
            if asked:
                time.seconds = asked
                assert lead.keep()
            assert time.seconds == asked + ASKING
            for later, good in ((4.9, True), (5.0, False)):
                time.seconds = asked + later
                assert lead.good is good


class Gate:
    """Holds a thread up, to show what is done meanwhile."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def pass_through(self) -> None:
        self.reached.set()
        assert self.open.wait(PATIENCE)


class Sent(list[SittingKey]):
    """A queue that nobody takes anything out of."""

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        self.append(key)

    def waiting(self, route: Route) -> int:
        return len(self)


@pytest.mark.parametrize("where", ["look", "keep"])
def test_a_coordinator_that_is_ended_resigns_after_the_last_that_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Whatever its threads are at: the lead would last on, or work be sent that another leads by then."""
    monkeypatch.setattr(coordinator, "TICK", 0.01)
    monkeypatch.setattr(coordinator, "KEPT_IN", 1e5)
    gate, long = Gate(), timedelta(seconds=PATIENCE)

    class Kept(Lead):
        def keep(self) -> bool:
            kept = super().keep()
            if where == "keep" and kept:
                gate.pass_through()
                kept = super().keep()
            return kept

    def enough(_: Tournament) -> bool:
        if where == "look":
            gate.pass_through()
        return False

    async def run(store: Store) -> int:
        sent = Sent()
        driving = Coordinator(store, sent, lambda _: Kept(store, matter_of(ID), "one", long), enough=enough)
        running = asyncio.ensure_future(driving.run())
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE)
        running.cancel()
        for _ in range(10):
            await asyncio.sleep(0.01)
        ended = running.done()
        gate.open.set()
        await asyncio.gather(running, return_exceptions=True)
        assert not ended
        return len(sent)

    with Store.open(tmp_path / "arbiter.db") as store:
        create(store)
        before = asyncio.run(run(store))
        assert before > 0
        assert Lead(store, matter_of(ID), "another", long).take()
