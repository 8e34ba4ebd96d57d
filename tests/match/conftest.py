"""What the tests of sittings share."""

from __future__ import annotations

import pytest

import arbiter.sdk.answering


@pytest.fixture(autouse=True)
def _answers_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot in this process gives its answers to a batch in one message, however slow the machine: none in parts."""
    monkeypatch.setattr(arbiter.sdk.answering, "ANSWER_PAUSE", 1000.0)
