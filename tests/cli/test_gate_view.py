"""The live view of a gate: drawn on a terminal, lines where there is none."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from rich.console import Console

from arbiter.cli import gate_view
from arbiter.cli.gate_view import GateView
from arbiter.store import Store
from arbiter.tournament.gate import GateJudge
from arbiter.tournament.gate_request import gate_spec
from tests.patience import PATIENCE
from tests.tournament.gates import GATE, better, create, make_bots, record, request_of


async def shown(view: GateView, store: Store, written: io.StringIO, wanted: str) -> None:
    """Follow a gate until something is to be seen."""
    following = asyncio.ensure_future(view.follow(store, GATE, dict))
    try:
        async with asyncio.timeout(PATIENCE):
            while wanted not in written.getvalue():
                assert not following.done()
                await asyncio.sleep(0.01)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.fixture
def judge(tmp_path: Path) -> GateJudge:
    """A gate of which one block is played."""
    spec = gate_spec(request_of(make_bots(tmp_path, "new", "old", "x", "y", "z"), boards=6))
    with Store.open(tmp_path / "arbiter.db") as store:
        found = create(store, spec, 3)
        record(store, store.planned(GATE)[:8], better)
        assert not found.enough()
    return found


@pytest.mark.parametrize(
    ("terminal", "wanted"),
    [
        (True, "6 boards, block 1 of 3 at the most"),
        (True, "improvement +"),
        (False, "6 boards: improvement +"),
        (False, "; LLR +"),
    ],
)
def test_the_estimate_and_the_limits_are_shown(
    judge: GateJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool, wanted: str
) -> None:
    monkeypatch.setattr(gate_view, "REFRESH", 0.01)
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=120)
    with Store.open(tmp_path / "arbiter.db") as store:
        asyncio.run(shown(GateView(console, judge), store, written, wanted))
    assert ("of 2.94" in written.getvalue()) == terminal


def test_before_the_first_block_a_terminal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_view, "REFRESH", 0.01)
    spec = gate_spec(request_of(make_bots(tmp_path, "new", "old", "x", "y", "z")))
    written = io.StringIO()
    with Store.open(tmp_path / "arbiter.db") as store:
        view = GateView(Console(file=written, force_terminal=True, width=120), create(store, spec, 1))
        view.trouble("Redis does not answer")
        asyncio.run(shown(view, store, written, "playing the first block"))
    assert "warning: Redis does not answer" in written.getvalue()
