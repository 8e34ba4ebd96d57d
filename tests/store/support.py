"""Plans and results to test the store with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

from sqlalchemy import select

from arbiter.store import (
    BotLog,
    Entrant,
    Fault,
    HandTally,
    Lease,
    Match,
    SeatResult,
    SittingKey,
    SittingResult,
    Store,
    Tournament,
    TournamentState,
)
from arbiter.store.database import Database
from arbiter.store.tables import Table

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TERM = timedelta(seconds=30)
ENTRANTS = 5
SEATS = 4


def after(seconds: float) -> datetime:
    """A moment this long after the tournament was made."""
    return START + timedelta(seconds=seconds)


def tournament(
    name: str = "demo-1a2b", state: TournamentState = TournamentState.SCHEDULED, created_at: datetime = START
) -> Tournament:
    return Tournament(
        id=name,
        name="Demo",
        state=state,
        spec={"rules": {"name": "black-lady", "passes": ["left", "right"]}, "boards": 8, "note": None, "share": 0.5},
        deal_seed=b"\x00secret of the tournament",
        created_at=created_at,
    )


def entrants(count: int = ENTRANTS) -> list[Entrant]:
    return [
        Entrant(number, f"Bot {number}", f"digest-{number}", {"run": ["python", "bot.py"]}) for number in range(count)
    ]


def matches(count: int = 2, boards: int = 2) -> list[Match]:
    return [
        Match(
            index=number,
            entrants=tuple((number + seat) % ENTRANTS for seat in range(SEATS)),
            deal_seed=b"secret of match %d" % number,
            commitment=f"commitment-{number}",
            boards=boards,
        )
        for number in range(count)
    ]


def create(
    store: Store,
    name: str = "demo-1a2b",
    *,
    match_count: int = 2,
    sittings: int = 2,
    boards: int = 2,
    running: bool = True,
) -> str:
    """Create a tournament, running unless told otherwise, and return its id."""
    store.create_tournament(tournament(name), entrants(), matches(match_count, boards), sittings)
    if running:
        store.set_state(name, TournamentState.RUNNING, now=START)
    return name


def leased(store: Store, key: SittingKey, worker: str = "w1", seconds: float = 0) -> Lease:
    """Lease the sitting, which must be free."""
    lease = store.lease(key, worker, after(seconds), TERM)
    assert isinstance(lease, Lease), lease
    return lease


def everything(target: str) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables, in the order of their keys."""
    database = Database(target)
    with database.read() as session:
        found = {
            name: [tuple(row) for row in session.execute(select(table).order_by(*table.primary_key))]
            for name, table in Table.metadata.tables.items()
        }
    database.close()
    return found


def result(
    key: SittingKey, text: str = "as it should be", *, boards: int = 2, faults: tuple[Fault, ...] = ()
) -> SittingResult:
    """A result of the sitting that fits `matches`; another text is another content."""
    seated = matches(key.match + 1, boards)[key.match].entrants
    replay = f"replay of {key}: {text}".encode()
    return SittingResult(
        results=tuple(
            SeatResult(board, seat, seated[(seat + key.sitting) % SEATS], 1, board * 5 + seat, board * 5 + seat + 1)
            for board in range(1, boards + 1)
            for seat in range(SEATS)
        ),
        tallies=tuple(
            HandTally(board, seat, "left", 1, board * 5 + seat, int(seat == 0))
            for board in range(1, boards + 1)
            for seat in range(SEATS)
        ),
        faults=faults,
        logs=tuple(BotLog(entrant, "exit status 0", f"{text}, said {entrant}", 0.5, 13) for entrant in seated),
        replay=replay,
        digest=sha256(replay).hexdigest(),
        hands=boards,
        seconds=1.5,
    )
