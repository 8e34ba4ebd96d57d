"""A coordinator in a process of its own: run with ``python -m tests.tournament.leaders TARGET NAME FILE``.

What it sends goes to the end of FILE, a line ``TERM NAME SITTING`` each. Beside its work it writes into the table
``probe`` as the leader that it takes itself for, as fast as it can. It prints the final state.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from datetime import timedelta

from sqlalchemy import text

from arbiter.match.routes import Priority, Route
from arbiter.store import LeadershipLost, SittingKey, Store, StoreUnavailable
from arbiter.tournament import Coordinator, Lead, coordinator
from tests.tournament.support import ID

MATTER = f"tournament/{ID}"
LEAD = timedelta(seconds=2)


class FileSender:
    """A queue that is written and never read here: whatever is not leased soon is sent again."""

    def __init__(self, file: str, lead: Lead, name: str) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND)
        self._lead = lead
        self._name = name

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        os.write(self._file, f"{term_of(self._lead)} {self._name} {key}\n".encode())

    def waiting(self, route: Route) -> int:
        return 0


def term_of(lead: Lead) -> int:
    """The term that this process believes in."""
    led = lead.store._leadership
    assert led is not None
    return led.term


def probe(lead: Lead, name: str) -> None:
    """Write as the leader, until the process ends."""
    statement = text("INSERT INTO probe (name, term) VALUES (:name, :term)")
    while True:
        try:
            store = lead.store
            with store._write() as session:
                assert store._leadership is not None
                session.execute(statement, {"name": name, "term": store._leadership.term})
        except (LeadershipLost, StoreUnavailable):
            pass
        threading.Event().wait(0.02)


async def main(target: str, name: str, file: str) -> None:
    coordinator.TICK = 0.05  # type: ignore[misc]  # a constant elsewhere
    coordinator.LOST_AFTER = 0.3  # type: ignore[misc]
    with Store.open(target) as store, Lead(store, MATTER, name, LEAD) as lead:
        threading.Thread(target=probe, args=(lead, name), daemon=True).start()
        drive = Coordinator(store, FileSender(file, lead, name), lambda _: lead)
        print(await drive.run_one(ID), flush=True)
        os._exit(0)  # the probe would hold the store open


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
