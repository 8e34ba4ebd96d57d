"""Workers and arbiters in this process give nobody up because the machine is slow, or stands still for a while."""

from __future__ import annotations

import pytest

from arbiter.match import sitting
from arbiter.supervisor import redis
from arbiter.tournament import dispatch
from tests.patience import PATIENCE
from workers import line, reporting, work


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, names in (
        (work, ("CALL_PATIENCE", "REPORT_PATIENCE")),
        (reporting, ("CALL_PATIENCE",)),
        (line, ("FETCH_PATIENCE", "CHUNK_PATIENCE")),
        (sitting, ("END_GRACE",)),
        (redis, ("START_LIMIT",)),
        (dispatch, ("ANSWER_LIMIT",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, PATIENCE)
