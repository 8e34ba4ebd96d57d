"""For how long a leader may do what the database does not refuse."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from arbiter.store import Store
from arbiter.tournament.leading import Lead
from tests.tournament.support import START

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
