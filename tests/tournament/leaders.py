"""A coordinator in a process of its own: run with ``python -m tests.tournament.leaders TARGET NAME FILE CLOCK``.

What it sends goes to the end of FILE, a line ``TERM NAME SITTING`` each. Beside its work it writes into the table
``probe`` as the leader that it takes itself for, as fast as it can. It prints the final state. How long leads last is
counted by the seconds in the file CLOCK, which a test moves on.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import text

from arbiter.match.routes import Priority, Route
from arbiter.store import LeadershipLost, SittingKey, Store, StoreUnavailable
from arbiter.tournament import Coordinator, Lead, coordinator
from tests.tournament.support import ID, START

MATTER = f"tournament/{ID}"
LEAD = timedelta(seconds=2)
"""By the test's clock, which stands still: nobody loses a lead because the machine is slow."""


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


async def main(target: str, name: str, file: str, clock: str) -> None:
    coordinator.TICK = 0.05  # type: ignore[misc]  # a constant elsewhere
    coordinator.LOST_AFTER = 0.3  # type: ignore[misc]

    def steady() -> float:
        return float(Path(clock).read_text())

    def now() -> datetime:
        return START + timedelta(seconds=steady())

    with Store.open(target) as store, Lead(store, MATTER, name, LEAD, now, steady) as lead:
        threading.Thread(target=probe, args=(lead, name), daemon=True).start()
        drive = Coordinator(store, FileSender(file, lead, name), lambda _: lead)
        print(await drive.run_one(ID), flush=True)
        os._exit(0)  # the probe would hold the store open


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
