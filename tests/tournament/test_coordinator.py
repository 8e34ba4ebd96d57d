"""The coordinator with a real Redis: what is sent, what is sent again, and when it stops."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
import redis

from arbiter.match.routes import Priority, Route
from arbiter.store import AttemptOutcome, LeaseRefusal, SittingKey, Store, TournamentState
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import CelerySender, Coordinator, Desk, Grant, Lead, coordinator
from arbiter.tournament.coordinator import leads_of
from arbiter.tournament.leading import process_name
from tests.patience import PATIENCE
from tests.postgres import Postgres
from tests.tournament.support import ID, START, create, granted, report, spec_of

SERVICE = "test"
QUEUE = Route().queue(SERVICE) + f"\x06\x16{Priority.TOURNAMENT}"
"""The key that Redis has for it: kombu adds the priority."""


@pytest.fixture(autouse=True)
def haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the plan come quickly; what happens at them is the same. What a test takes out of the queue and has not
    leased yet is not sent again, however slow the machine."""
    monkeypatch.setattr(coordinator, "TICK", 0.05)
    monkeypatch.setattr(coordinator, "HEARING", 0.1)
    monkeypatch.setattr(coordinator, "LOST_AFTER", PATIENCE)
    monkeypatch.setattr(coordinator, "MAX_PAUSE", 0.1)
    monkeypatch.setattr(coordinator, "MIN_WINDOW", 4)


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the queue loses is sent again soon, and so, perhaps, is what was just taken out of it."""
    monkeypatch.setattr(coordinator, "LOST_AFTER", 0.2)


def lasting_desk(store: Store) -> Desk:
    """A desk that lives in the coordinator's time, whose leases end before their reports on no machine."""
    return Desk(store, lease=timedelta(seconds=PATIENCE))


@pytest.fixture
def desk(store: Store) -> Desk:
    return lasting_desk(store)


class Clock:
    """The time of a machine that stands still for once, in a rest of the coordinator's, when it is told to."""

    def __init__(self) -> None:
        self.stand_still = False
        self.over = asyncio.Event()
        """It did, and the coordinator goes on."""
        self._gone = 0.0
        self._rests = False

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._gone)

    def steady(self) -> float:
        found = time.monotonic() + self._gone
        if threading.current_thread() is threading.main_thread():  # where rests begin and end
            self._rests = not self._rests
            if self._rests and self.stand_still:
                self._gone = 1000.0
            elif self._gone:
                self.over.set()
        return found


class Queue:
    """The queue as Redis has it, and a coordinator that fills it."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        desk: Desk,
        enough: Callable[[], bool] = lambda: False,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or Clock()
        self.desk = desk
        self.troubles: list[str] = []
        self.client = redis.Redis(unix_socket_path=str(folder / "redis.sock"))
        self.sender = CelerySender(f"redis+socket://{folder}/redis.sock", SERVICE)
        leads = leads_of(store, process_name())
        self.coordinator = Coordinator(
            store,
            self.sender,
            leads,
            self.troubles.append,
            lambda _: enough(),
            now=clock.now,
            steady=clock.steady,
        )
        desk.changed = self.coordinator.wake
        self.ended = asyncio.ensure_future(self.coordinator.run_one(ID))

    def waiting(self) -> list[str]:
        """The sittings in the queue, next one first."""
        return [_sitting(raw) for raw in reversed(cast("list[bytes]", self.client.lrange(QUEUE, 0, -1)))]

    def take(self) -> str:
        """The next sitting, as a worker takes it."""
        return _sitting(cast("bytes", self.client.rpop(QUEUE)))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look again and again; the coordinator must not have ended."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.01)

    async def play(self) -> None:
        """Take whatever comes, play and report it, until cancelled."""
        while True:
            await self.until(lambda: bool(self.waiting()))
            grant = self.desk.lease(self.take(), "w1")
            if isinstance(grant, Grant):
                await asyncio.to_thread(report, self.desk, grant)


def _sitting(raw: bytes) -> str:
    arguments, _, _ = json.loads(base64.b64decode(json.loads(raw)["body"]))
    return str(arguments[0])


@asynccontextmanager
async def queue(
    folder: Path,
    store: Store,
    desk: Desk,
    enough: Callable[[], bool] = lambda: False,
    clock: Clock | None = None,
) -> AsyncIterator[Queue]:
    found = Queue(folder, store, desk, enough, clock)
    try:
        yield found
    finally:
        found.ended.cancel()
        await asyncio.gather(found.ended, return_exceptions=True)
        found.sender.close()
        found.client.close()


def with_redis(test: Callable[[Path], Awaitable[None]]) -> None:
    """Run a test with an embedded Redis in a folder."""

    async def run() -> None:
        with RunDirectory() as folder:
            async with EmbeddedRedis(folder):
                await test(folder)

    asyncio.run(run())


def test_sittings_are_sent_in_schedule_order_a_few_more_than_there_are_workers(store: Store, desk: Desk) -> None:
    create(store, spec_of(5))
    keys = [str(key) for key in store.planned(ID)]

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            await sent.until(lambda: len(sent.waiting()) >= 4)
            assert sent.waiting() == keys[:4]
            assert sent.take() == keys[0]
            granted(desk, keys[0])
            await sent.until(lambda: len(sent.waiting()) >= 4)
            assert sent.waiting() == keys[1:5], "what is leased makes room for the next"
            assert not sent.ended.done()

    with_redis(test)


@pytest.mark.usefixtures("losses")
def test_what_redis_loses_is_sent_again(store: Store, desk: Desk) -> None:
    create(store)
    keys = [str(key) for key in store.planned(ID)]

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            await sent.until(lambda: sent.waiting() == keys)
            sent.client.flushall()
            await sent.until(lambda: set(sent.waiting()) == set(keys))
            lost = sent.take()
            while lost in sent.waiting():  # where some were sent twice, for they did not get lost all at once
                sent.take()
            await sent.until(lambda: lost in sent.waiting())
            assert sent.troubles == []

    with_redis(test)


def test_a_sitting_whose_lease_expired_is_sent_again(store: Store) -> None:
    create(store)
    desk = Desk(store, lease=timedelta(seconds=0.1))
    first = SittingKey(ID, 0, 0)

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            await sent.until(lambda: bool(sent.waiting()))
            assert sent.take() == str(first)
            granted(desk, str(first))
            await sent.until(lambda: str(first) in sent.waiting())
            assert store.attempts(first)[0].outcome is AttemptOutcome.LOST
            assert desk.live == {}

    with_redis(test)


def test_a_machine_that_stood_still_costs_its_workers_no_lease(store: Store) -> None:
    create(store)
    first = SittingKey(ID, 0, 0)

    async def test(folder: Path) -> None:
        clock = Clock()
        desk = Desk(store, lease=timedelta(seconds=PATIENCE), now=clock.now)
        async with queue(folder, store, desk, clock=clock) as sent:
            await sent.until(lambda: bool(sent.waiting()))
            assert sent.take() == str(first)
            granted(desk, str(first))
            clock.stand_still = True
            await asyncio.wait_for(clock.over.wait(), PATIENCE)
            assert desk.renew(str(first), 1, 0), "its worker does so as soon as it can"
            before = sent.coordinator.looked
            await sent.until(lambda: sent.coordinator.looked > before)
            assert [attempt.outcome for attempt in store.attempts(first)] == [AttemptOutcome.RUNNING]

    with_redis(test)


def test_a_tournament_is_completed_with_its_last_sitting(store: Store, desk: Desk) -> None:
    create(store, spec_of(boards=1))

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            player = asyncio.ensure_future(sent.play())
            assert await asyncio.wait_for(sent.ended, PATIENCE) is TournamentState.COMPLETED
            player.cancel()

    with_redis(test)
    assert store.progress(ID).recorded == 4
    assert {len(store.attempts(SittingKey(ID, 0, number))) for number in range(4)} == {1}


def test_what_is_enough_ends_the_tournament_and_the_rest_is_not_played(store: Store, desk: Desk) -> None:
    create(store, spec_of(5, boards=1))

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk, lambda: store.progress(ID).recorded >= 3) as sent:
            player = asyncio.ensure_future(sent.play())
            assert await asyncio.wait_for(sent.ended, PATIENCE) is TournamentState.COMPLETED
            player.cancel()

    with_redis(test)
    assert 3 <= store.progress(ID).recorded < 20, "what was under way meanwhile may come in"
    assert desk.lease(str(store.planned(ID)[0]), "w1") is LeaseRefusal.NOT_RUNNING


@pytest.mark.usefixtures("losses")  # for what is leased and given back between two looks was sent, as far as those show
def test_a_sitting_given_back_three_times_fails_the_tournament_after_all_others_were_played(
    store: Store, desk: Desk
) -> None:
    create(store, spec_of(boards=1))
    bad = f"{ID}/0/1"

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            while not sent.ended.done():
                await sent.until(lambda: bool(sent.waiting()) or sent.ended.done())
                if sent.ended.done():
                    break
                grant = desk.lease(sent.take(), "w1")
                if not isinstance(grant, Grant):
                    continue
                if str(grant.lease.key) == bad:
                    desk.release(bad, grant.lease.attempt, "bubblewrap fails: no user namespaces")
                else:
                    await asyncio.to_thread(report, desk, grant)
            assert await sent.ended is TournamentState.FAILED

    with_redis(test)
    assert store.progress(ID).recorded == 3
    reason = f"1 sitting could not be played; {bad}: bubblewrap fails: no user namespaces"
    assert store.tournament(ID).failure == reason


def test_a_sitting_that_ends_its_workers_is_not_tried_for_ever(store: Store) -> None:
    create(store, spec_of(boards=1))
    desk = Desk(store, lease=timedelta(seconds=0.02))
    bad = SittingKey(ID, 0, 0)

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            while not sent.ended.done():
                if not sent.waiting():
                    await asyncio.sleep(0.01)
                    continue
                sitting = sent.take()
                grant = desk.lease(sitting, "w1")
                if sitting != str(bad) and isinstance(grant, Grant):
                    await asyncio.to_thread(report, desk, grant)
            assert await sent.ended is TournamentState.FAILED

    with_redis(test)
    assert store.progress(ID).recorded == 3
    assert len(store.attempts(bad)) == 5
    assert "its lease expired, the last of 5 that were lost" in str(store.tournament(ID).failure)


@pytest.mark.usefixtures("losses")
def test_a_redis_that_goes_away_is_waited_for(store: Store, desk: Desk) -> None:
    create(store, spec_of(boards=1))

    async def test() -> None:
        with RunDirectory() as folder:
            async with EmbeddedRedis(folder):
                sent = Queue(folder, store, desk)
                await sent.until(lambda: bool(sent.waiting()))
            await sent.until(lambda: bool(sent.troubles))
            assert sent.troubles[0].startswith("Redis does not answer: ")
            assert "; trying again in " in sent.troubles[0]
            assert "\n" not in sent.troubles[0]
            assert not sent.ended.done()
            async with EmbeddedRedis(folder):
                player = asyncio.ensure_future(sent.play())
                assert await asyncio.wait_for(sent.ended, PATIENCE) is TournamentState.COMPLETED
                player.cancel()
                sent.sender.close()
                sent.client.close()

    asyncio.run(test())
    assert store.progress(ID).recorded == 4


def test_a_database_that_goes_away_is_waited_for(postgres: Postgres) -> None:
    url = postgres.new()

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            await sent.until(lambda: len(sent.waiting()) == 4)
            postgres.end()
            try:
                await sent.until(lambda: bool(sent.troubles))
            finally:
                postgres.start()
            said = len(sent.troubles)
            play = asyncio.ensure_future(sent.play())
            assert await sent.ended is TournamentState.COMPLETED
            play.cancel()
            assert "can't be used" in sent.troubles[0]
            assert "; trying again in" in sent.troubles[0]
            assert len(sent.troubles) <= said + 1, "one may have been under way"

    with Store.open(url) as store:
        create(store)
        desk = lasting_desk(store)
        with_redis(test)
        assert [len(store.attempts(SittingKey(ID, 0, sitting))) for sitting in range(4)] == [1] * 4
    postgres.drop(url)


def test_a_coordinator_stands_by_while_another_leads_and_takes_over_when_that_resigns(store: Store, desk: Desk) -> None:
    create(store)

    async def test(folder: Path) -> None:
        with Lead(store, f"tournament/{ID}", "another", timedelta(seconds=PATIENCE)) as other:
            assert other.take()
            async with queue(folder, store, desk) as sent:
                looks: set[float] = set()
                while len(looks) < 7:  # from before the first to after the sixth, at none of which it may send
                    looks.add(sent.coordinator.looked)
                    await asyncio.sleep(0.01)
                assert sent.waiting() == []
                other.__exit__()
                await sent.until(lambda: len(sent.waiting()) == 4)

    with_redis(test)


def test_a_coordinator_goes_from_stage_to_stage_and_another_goes_on_where_it_was(store: Store, desk: Desk) -> None:
    """Ended in mid-stage, and when a stage is complete but the next is not written."""
    spec = spec_of(5, boards=1, format="swiss", swiss={"stages": 3})
    create(store, spec)

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            for _ in range(2):
                await sent.until(lambda: bool(sent.waiting()))
                await asyncio.to_thread(report, desk, granted(desk, sent.take()))
            assert not sent.ended.done()
        with redis.Redis(unix_socket_path=str(folder / "redis.sock")) as client:
            client.flushall()
        for key in store.planned(ID):
            await asyncio.to_thread(report, desk, granted(desk, str(key)))
        assert store.progress(ID).done
        assert len(store.matches(ID)) == 1
        async with queue(folder, store, desk) as sent:
            player = asyncio.ensure_future(sent.play())
            assert await asyncio.wait_for(sent.ended, PATIENCE) is TournamentState.COMPLETED
            player.cancel()

    with_redis(test)
    assert len(store.matches(ID)) == 3
    assert store.progress(ID).recorded == 12


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.CANCELLED])
def test_the_coordinator_ends_when_the_host_stops_the_tournament(
    store: Store, desk: Desk, state: TournamentState
) -> None:
    create(store)

    async def test(folder: Path) -> None:
        async with queue(folder, store, desk) as sent:
            await sent.until(lambda: bool(sent.waiting()))
            store.set_state(ID, state, now=START)
            assert await asyncio.wait_for(sent.ended, PATIENCE) is state

    with_redis(test)
