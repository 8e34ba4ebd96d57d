"""A worker with caged bots and a real arbiter: what it plays is recorded once, and what it can't play it gives back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import arbiter
from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.cage import BotLoad, Load
from arbiter.compression import compress
from arbiter.match import Clock
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import (
    AttemptOutcome,
    BotLog,
    Entrant,
    Lease,
    Recorded,
    SittingKey,
    SittingState,
    Store,
    TournamentState,
)
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import Desk, Grant, plan_tournament
from arbiter.tournament.desk import LEASE
from tests.cage.support import make_bot, open_folder
from tests.patience import PATIENCE
from tests.tournament.support import ID, START, granted, packed_of, played, spec_of
from workers import work as work_module
from workers.settings import WorkerSettings
from workers.spool import Spool
from workers.work import Worker

REPOSITORY = Path(arbiter.__file__).parent.parent
LOWEST = REPOSITORY / "sample_bots" / "lowest"
SLOW = REPOSITORY / "tests" / "bots" / "slow"
FIRST, SECOND = f"{ID}/0/0", f"{ID}/0/1"
KEY = SittingKey(ID, 0, 0)
SILENT = """
import time
from arbiter.sdk import Bot, run

class Silent(Bot):
    def choose_pass(self, view):
        time.sleep(600)

    def choose_card(self, view):
        time.sleep(600)

run(Silent())
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arbiter.db") as opened:
        yield opened


@pytest.fixture
def bots(tmp_path: Path) -> FileVersions:
    return FileVersions(tmp_path / "bots")


def create(
    store: Store, bots: FileVersions, folders: Sequence[Path] = (LOWEST,) * 4, hard_stops: Mapping[int, float] = {}
) -> None:
    """A tournament of one match between these bots, in which a clock runs out only where its hard stop is given."""
    patient = Clock(start_up=PATIENCE, bank=PATIENCE, hard_stop=PATIENCE)
    clocks = tuple(replace(patient, hard_stop=hard_stops.get(index, PATIENCE)) for index in range(len(folders)))
    spec = replace(spec_of(boards=1), clocks=clocks)
    entrants = [Entrant(index, f"bot{index}", bots.put(path).digest, {}) for index, path in enumerate(folders)]
    tournament, matches = plan_tournament(ID, spec, entrants, START)
    store.create_tournament(tournament, entrants, matches, 4)
    store.set_state(ID, TournamentState.RUNNING, now=START)


@dataclass(frozen=True)
class Workplace:
    """A worker, its folder, and what an arbiter that it calls has."""

    worker: Worker
    folder: Path
    spool: Spool
    bots: FileVersions
    tokens: WorkerTokens

    @asynccontextmanager
    async def arbiter(self, desk: Desk) -> AsyncIterator[None]:
        """The arbiter, for a while."""
        async with WorkerServer(desk, self.bots, self.tokens, f"unix:{self.folder}/arbiter.sock"):
            yield

    def reports(self) -> list[Path]:
        return [path for path, _ in self.spool.waiting()]

    def left(self) -> list[str]:
        """Folders of sittings that are still there."""
        return [path.name for path in self.folder.glob("s-*")]


def at_work(
    test: Callable[[Workplace], Coroutine[Any, Any, None]], store: Store, bots: FileVersions, **more: str
) -> None:
    tokens = WorkerTokens(store.accounts)
    with RunDirectory() as folder:
        settings = WorkerSettings.from_environment(
            {
                "ARBITER_REDIS_URL": "redis://unused",
                "ARBITER_QUEUE": "unused",
                "ARBITER_WORKER_ADDRESS": f"unix:{folder}/arbiter.sock",
                "ARBITER_WORKER_TOKEN": tokens.own,
                "ARBITER_RUN_DIR": str(folder),
                "ARBITER_WORKER_NAME": "w1",
                **more,
            }
        )
        worker = Worker(settings)

        async def whole() -> None:
            try:
                await test(Workplace(worker, folder, Spool(folder / "spool"), bots, tokens))
            finally:
                await worker.close()

        asyncio.run(whole())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def finished_report(grant: Grant) -> pb.ReportSittingRequest:
    """What a worker reports of a sitting."""
    replay = compress(packed_of(played(grant.plan)))
    return pb.ReportSittingRequest(sitting=grant.plan.sitting, attempt=grant.lease.attempt, replay=replay)


def test_a_sitting_is_played_and_recorded_once_and_nothing_of_it_stays(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            await place.worker.work(FIRST)
            await place.worker.work(FIRST)
            await place.worker.reported()
        assert place.reports() == []
        assert place.left() == []

    at_work(test, store, bots)
    (attempt,) = store.attempts(KEY)
    assert (attempt.worker, attempt.outcome) == ("w1", AttemptOutcome.RECORDED)
    assert [log.ending for log in store.logs(KEY)] == ["exit status 0"] * 4
    assert all((log.thinking_seconds or 0) > 0 and (log.answers or 0) >= 13 for log in store.logs(KEY))
    assert store.progress(ID).faults == 0


def test_what_can_not_be_leased_is_let_be(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            for sitting in ("nonsense", f"{ID}/9/9", "other-0000/0/0"):
                await place.worker.work(sitting)

    at_work(test, store, bots)
    assert store.progress(ID).sittings[SittingState.PLANNED] == 4


def test_a_report_waits_for_an_arbiter_that_is_away(store: Store, bots: FileVersions) -> None:
    """Results survive a server that is away when they are sent: AndyGrant/OpenBench#14."""
    create(store, bots)

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            await until(lambda: bool(place.left()))
        await working
        assert len(place.reports()) == 1
        assert store.progress(ID).recorded == 0
        async with place.arbiter(Desk(store)):
            await place.worker.reported()
        assert place.reports() == []

    at_work(test, store, bots)
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.RECORDED]


class Deliberate(Desk):
    """An arbiter that takes its time over reports, until it is let go on."""

    def __init__(self, store: Store, lease: timedelta = LEASE) -> None:
        super().__init__(store, lease)
        self.asked: list[str] = []
        self.go = threading.Event()

    def report(self, sitting: str, attempt: int, replay: bytes, logs: Sequence[BotLog], seconds: float) -> Recorded:
        self.asked.append(sitting)
        assert self.go.wait(PATIENCE)
        return super().report(sitting, attempt, replay, logs, seconds)


def test_the_next_sitting_is_played_while_the_last_is_reported_and_no_further(store: Store, bots: FileVersions) -> None:
    """An arbiter that is slow to check holds up no sitting, and nothing piles up at it."""
    create(store, bots)
    desk = Deliberate(store)

    async def test(place: Workplace) -> None:
        async with place.arbiter(desk):
            await place.worker.work(FIRST)
            await place.worker.work(FIRST)
            following = asyncio.ensure_future(place.worker.work(SECOND))
            await until(lambda: len(place.reports()) == 2 and bool(desk.asked))
            assert place.left() == [], "its bots have ended"
            assert desk.asked == [FIRST]
            assert not following.done()
            desk.go.set()
            await following
            await place.worker.reported()
        assert place.reports() == []

    at_work(test, store, bots)
    assert desk.asked == [FIRST, SECOND]
    assert len(store.attempts(KEY)) == 1, "the second task for it found it on its way"
    assert store.progress(ID).recorded == 2


def test_the_lease_is_renewed_until_the_report_is_through(store: Store, bots: FileVersions) -> None:
    create(store, bots)
    desk = Deliberate(store, lease=timedelta(seconds=0.5))
    ends: set[datetime] = set()

    async def test(place: Workplace) -> None:
        async with place.arbiter(desk):
            await place.worker.work(FIRST)
            await until(lambda: desk.asked == [FIRST])
            while len(ends) < 5:
                ends.update(lease.expires_at for lease in store.leases(ID))
                await asyncio.sleep(0.01)
            desk.go.set()
            await place.worker.reported()

    at_work(test, store, bots)
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.RECORDED]


@pytest.mark.parametrize("hurried", [False, True])
def test_a_worker_that_ends_waits_for_its_report_unless_it_is_hurried(
    store: Store, bots: FileVersions, hurried: bool
) -> None:
    create(store, bots)
    desk = Deliberate(store)

    async def test(place: Workplace) -> None:
        async with place.arbiter(desk):
            await place.worker.work(FIRST)
            await until(lambda: desk.asked == [FIRST])
            place.worker.drain()
            if hurried:
                place.worker.hurry()
            closing = asyncio.ensure_future(place.worker.close())
            if hurried:
                await closing
                assert len(place.reports()) == 1, "it is sent another time"
            desk.go.set()
            await closing
            assert len(place.reports()) == hurried

    at_work(test, store, bots)


def test_what_waits_in_the_spool_is_sent_with_the_next_task(store: Store, bots: FileVersions) -> None:
    create(store, bots)
    desk = Desk(store)
    report = finished_report(granted(desk, FIRST, "dead"))

    async def test(place: Workplace) -> None:
        place.spool.put(FIRST, 1, report)
        async with place.arbiter(desk):
            await place.worker.work("nonsense")
            await place.worker.reported()
        assert place.reports() == []

    at_work(test, store, bots)
    assert store.progress(ID).recorded == 1


def test_a_refused_report_is_dropped(store: Store, bots: FileVersions, caplog: pytest.LogCaptureFixture) -> None:
    create(store, bots)
    desk = Desk(store)
    report = finished_report(granted(desk, FIRST, "liar"))
    report.replay = compress(b"no replay")

    async def test(place: Workplace) -> None:
        place.spool.put(FIRST, 1, report)
        async with place.arbiter(desk):
            await place.worker.work(SECOND)
            await place.worker.reported()
        assert place.reports() == []

    at_work(test, store, bots)
    assert store.progress(ID).sittings == {
        SittingState.PLANNED: 2,
        SittingState.LEASED: 1,
        SittingState.RECORDED: 1,
        SittingState.FAILED: 0,
    }
    assert f"sitting {FIRST}: the report was refused" in caplog.text


class Stumbling(Desk):
    """An arbiter with a mistake in it: one sitting's reports make it fail."""

    def report(self, sitting: str, attempt: int, replay: bytes, logs: Sequence[BotLog], seconds: float) -> Recorded:
        if sitting == FIRST:
            raise ZeroDivisionError
        return super().report(sitting, attempt, replay, logs, seconds)


def test_a_report_that_the_arbiter_fails_at_is_kept_and_stands_in_no_others_way(
    store: Store, bots: FileVersions
) -> None:
    create(store, bots)
    desk = Stumbling(store)
    report = finished_report(granted(desk, FIRST, "dead"))

    async def test(place: Workplace) -> None:
        place.spool.put(FIRST, 1, report)
        async with place.arbiter(desk):
            await place.worker.work(SECOND)
            await place.worker.reported()
        (kept,) = place.reports()
        assert kept.name.startswith(FIRST.replace("/", "_"))

    at_work(test, store, bots)
    assert store.attempts(SittingKey(ID, 0, 1))[0].outcome is AttemptOutcome.RECORDED


def test_a_sitting_whose_bot_is_gone_is_given_back_with_the_reason(
    store: Store, bots: FileVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "RELEASE_PAUSE", 0.0)
    create(store, bots, [LOWEST, LOWEST, LOWEST, SLOW])
    gone = store.entrants(ID)[3].digest
    bots.sweep([entrant.digest for entrant in store.entrants(ID)[:3]], age=0.0)

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            for _ in range(3):
                await place.worker.work(FIRST)
        assert place.left() == []

    at_work(test, store, bots)
    attempts = store.attempts(KEY)
    assert [attempt.outcome for attempt in attempts] == [AttemptOutcome.INFRASTRUCTURE] * 3
    assert all(f"there is no version {gone}" in attempt.note and "\n" not in attempt.note for attempt in attempts)
    assert store.failed(ID) == [KEY]


class TakenMachine:
    """A meter of a machine of which a hypervisor takes half."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def read(self, roots: Sequence[int | None]) -> Load:
        elapsed, self._at = time.monotonic() - self._at, time.monotonic()
        return Load(elapsed, 0.0, 0.0, elapsed / 2, elapsed / 2, (BotLoad(0.0, 0.0),) * len(roots), self._at)


def test_a_starved_sitting_is_void_counted_for_whose_time_was_up_and_played_three_times_at_most(
    store: Store, bots: FileVersions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starvation is an infrastructure failure: HaliteChallenge/Halite#119, aiarena-web#445."""
    monkeypatch.setattr(work_module, "LoadMeter", TakenMachine)
    monkeypatch.setattr(work_module, "RELEASE_PAUSE", 0.0)

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            for _ in range(4):
                await place.worker.work(FIRST)

    with open_folder() as folder:
        create(store, bots, [LOWEST, LOWEST, make_bot(folder / "silent", SILENT), LOWEST], hard_stops={2: 0.5})
        at_work(test, store, bots)
    attempts = store.attempts(KEY)
    assert [attempt.outcome for attempt in attempts] == [AttemptOutcome.INFRASTRUCTURE] * 3
    assert [attempt.starved_entrant for attempt in attempts] == [2] * 3
    assert "bot2 was out of time on a starved machine: silent for the hard stop of 0.5 s" in attempts[0].note
    assert store.failed(ID) == [KEY], "it waits for the host"
    assert store.voids(ID) == {2: 3}
    assert store.progress(ID).faults == 0


def test_a_sitting_whose_lease_was_lost_is_dropped(store: Store, bots: FileVersions) -> None:
    desk = Desk(store, lease=timedelta(seconds=1))

    async def test(place: Workplace) -> None:
        async with place.arbiter(desk):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            await until(lambda: bool(store.leases(ID)))
            store.expire_leases(ID, datetime.max.replace(tzinfo=UTC))
            assert isinstance(desk.lease(FIRST, "w2"), Grant)
            await working
            await place.worker.reported()
        assert place.reports() == []
        assert place.left() == []

    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])
        at_work(test, store, bots)
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.LOST, AttemptOutcome.RUNNING]


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.CANCELLED])
def test_a_sitting_ends_with_its_tournament_however_long_a_bot_thinks(
    store: Store, bots: FileVersions, state: TournamentState
) -> None:
    """fastchess#343."""

    async def test(place: Workplace) -> None:
        desk = Desk(store)
        async with place.arbiter(desk):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            await until(lambda: KEY in desk.live)
            store.set_state(ID, state, now=datetime.now(UTC))
            await working
        assert (place.reports(), place.left(), desk.live) == ([], [], {})

    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])
        at_work(test, store, bots)
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.RECALLED]
    assert store.planned(ID)[0] == KEY


def test_a_lease_is_renewed_while_it_is_played(store: Store, bots: FileVersions) -> None:
    desk = Desk(store, lease=timedelta(seconds=0.5))
    ends: set[datetime] = set()

    async def test(place: Workplace) -> None:
        async with place.arbiter(desk):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            while len(ends) < 4:
                assert not working.done()
                ends.update(lease.expires_at for lease in store.leases(ID))
                await asyncio.sleep(0.01)
            place.worker.hurry()
            await working

    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])
        at_work(test, store, bots)
    assert [attempt.note for attempt in store.attempts(KEY)] == ["its worker was stopped"]


def test_a_worker_that_is_hurried_gives_its_sitting_back_and_takes_no_other(store: Store, bots: FileVersions) -> None:
    create(store, bots, [SLOW, LOWEST, LOWEST, LOWEST])

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            await until(lambda: bool(place.left()))
            place.worker.hurry()
            await working
            await place.worker.work(SECOND)
        assert place.reports() == []
        assert place.left() == []

    at_work(test, store, bots)
    (attempt,) = store.attempts(KEY)
    assert (attempt.outcome, attempt.note) == (AttemptOutcome.RECALLED, "its worker was stopped")
    assert store.progress(ID).sittings[SittingState.PLANNED] == 4
    for _ in range(2):  # two failures more would be the third, had the first been counted
        lease = store.lease(KEY, "w2", START, timedelta(seconds=9))
        assert isinstance(lease, Lease)
        assert store.release(KEY, lease.attempt, "broken") is SittingState.PLANNED


def test_a_worker_that_is_asked_to_stop_finishes_its_sitting(store: Store, bots: FileVersions) -> None:
    create(store, bots, [SLOW, LOWEST, LOWEST, LOWEST])

    async def test(place: Workplace) -> None:
        async with place.arbiter(Desk(store)):
            working = asyncio.ensure_future(place.worker.work(FIRST))
            await until(lambda: bool(place.left()))
            place.worker.drain()
            await working
            await place.worker.work(SECOND)
            await place.worker.reported()

    at_work(test, store, bots)
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.RECORDED]
    assert store.progress(ID).sittings[SittingState.PLANNED] == 3, "the other one was not touched"


def test_a_sitting_that_takes_longer_than_the_drain_is_given_back(store: Store, bots: FileVersions) -> None:
    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])

        async def test(place: Workplace) -> None:
            async with place.arbiter(Desk(store)):
                working = asyncio.ensure_future(place.worker.work(FIRST))
                await until(lambda: bool(place.left()))
                place.worker.drain()
                await working

        at_work(test, store, bots, ARBITER_DRAIN_SECONDS="0.2")
    (attempt,) = store.attempts(KEY)
    assert (attempt.outcome, attempt.note) == (AttemptOutcome.RECALLED, "its worker was stopped")


def test_a_worker_that_waits_for_the_arbiter_stops_at_once(
    store: Store, bots: FileVersions, caplog: pytest.LogCaptureFixture
) -> None:
    create(store, bots)

    async def test(place: Workplace) -> None:
        working = asyncio.ensure_future(place.worker.work(FIRST))
        await until(lambda: "can't be reached, trying again" in caplog.text)
        place.worker.drain()
        await working

    at_work(test, store, bots)
    assert store.progress(ID).sittings[SittingState.PLANNED] == 4
