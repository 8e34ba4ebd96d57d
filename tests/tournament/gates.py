"""Gates in a store, with made-up results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from arbiter.store import (
    BotLog,
    Entrant,
    Fault,
    HandTally,
    Match,
    SeatResult,
    SittingKey,
    SittingResult,
    Store,
    TournamentState,
)
from arbiter.tournament import TournamentSpec
from arbiter.tournament.gate import GateJudge
from arbiter.tournament.gate_planning import plan_gate
from arbiter.tournament.gate_request import GateBot, GateRequest
from tests.tournament.support import SEED, START

GATE = "gate-1a2b"

Points = Callable[[int, int, int], int]
"""Points by match, board and entrant."""


def make_bots(below: Path, *names: str) -> list[Path]:
    """Folders of bots with these names."""
    folders = []
    for number, name in enumerate(names):
        folder = below / f"{number}-{name}"
        folder.mkdir()
        (folder / "bot.py").touch()
        manifest = f'[bot]\nname = "{name}"\nruntime = "python"\nrun = ["python", "bot.py"]\n'
        (folder / "bot.toml").write_text(manifest)
        folders.append(folder)
    return folders


def request_of(folders: Sequence[Path], boards: int = 2, **rest: Any) -> GateRequest:
    match = {"boards": boards, **rest.pop("match", {})}
    candidate, baseline, *opponents = map(GateBot, folders)
    return GateRequest(candidate, baseline, tuple(opponents), match=match, deal_seed=SEED, **rest)


def entered(spec: TournamentSpec) -> list[Entrant]:
    return [Entrant(index, entrant.name or "", f"{index:064x}", {}) for index, entrant in enumerate(spec.entrants)]


def create(store: Store, spec: TournamentSpec, blocks: int) -> GateJudge:
    tournament, matches = plan_gate(GATE, spec, entered(spec), blocks, START)
    store.create_tournament(tournament, entered(spec), matches, spec.seatings.sittings(spec.rules))
    store.set_state(GATE, TournamentState.RUNNING, now=START)
    return GateJudge.of(store, GATE)


def record(
    store: Store, keys: Iterable[SittingKey], points: Points, faults: Sequence[tuple[SittingKey, int]] = ()
) -> None:
    """Record sittings with made-up points, and a crash of an entrant in some of them."""
    matches = {match.index: match for match in store.matches(GATE)}
    for key in keys:
        lease = store.lease(key, "w1", START, timedelta(minutes=1))
        match: Match = matches[key.match]
        scores = [
            SeatResult(board, seat, entrant, 1, value := points(key.match, board, entrant), value)
            for board in range(1, match.boards + 1)
            for seat, entrant in enumerate(match.entrants)
        ]
        crashes = [Fault(entrant, 1, 1, 0, 1, "CRASH", "gone") for where, entrant in faults if where == key]
        logs = tuple(BotLog(entrant, "exit status 1", f"log of {entrant}") for entrant in match.entrants)
        replay = str(key).encode()
        tallies = tuple(HandTally(score.board, score.seat, "left", 1, score.points, 0) for score in scores)
        result = SittingResult(
            tuple(scores), tallies, tuple(crashes), logs, replay, hashlib.sha256(replay).hexdigest(), 1, 1.0
        )
        store.record(key, lease.attempt, result, START)  # type: ignore[union-attr]  # a refusal has none and fails here


def even(match: int, board: int, entrant: int) -> int:
    """Everyone comes out alike."""
    return 6


def better(match: int, board: int, entrant: int) -> int:
    """The candidate takes 3 to 5 points where the baseline takes 10."""
    return 10 if entrant != 0 else 3 + (7 * match + board) % 3


def worse(match: int, board: int, entrant: int) -> int:
    """The same with the two exchanged."""
    return better(match, board, 1 - entrant if entrant < 2 else entrant)
