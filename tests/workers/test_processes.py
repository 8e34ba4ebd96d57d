"""Worker processes with a real Redis: what they take, when it is acknowledged, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from arbiter.match.routes import Priority, Route, routes_of
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import AttemptOutcome, BotLog, LeaseRefusal, Recorded, SittingKey, SittingState, Store
from arbiter.supervisor.children import Child, Command
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import CelerySender, Desk, Grant
from tests.cage.support import make_bot, open_folder
from tests.patience import PATIENCE
from tests.ports import reserved_port
from tests.telemetry.test_telemetry import get
from tests.tournament.support import ID
from tests.workers.test_work import LOWEST, REPOSITORY, SILENT, Deliberate, create, until

KEYS = [SittingKey(ID, 0, number) for number in range(4)]

TELLER = (
    (LOWEST / "bot.py")
    .read_text()
    .replace(
        "    run(Lowest())",
        "    import os\n\n    print('may use', os.sched_getaffinity(0), flush=True)\n    run(Lowest())",
    )
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arbiter.db") as opened:
        yield opened


@pytest.fixture
def bots(tmp_path: Path) -> FileVersions:
    return FileVersions(tmp_path / "bots")


class Site:
    """An arbiter and a Redis, and workers as they are started."""

    def __init__(self, folder: Path, store: Store, tokens: WorkerTokens) -> None:
        self.folder = folder
        self.store = store
        self._tokens = tokens
        self._children: list[Child] = []
        self.redis = redis.Redis(unix_socket_path=str(folder / "redis.sock"))
        self._sender = CelerySender(f"redis+socket://{folder}/redis.sock", "test")

    def start(self, name: str = "w1", **more: str) -> Child:
        """A worker process."""
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "ARBITER_REDIS_URL": f"redis+socket://{self.folder}/redis.sock",
            "ARBITER_QUEUE": "test",
            "ARBITER_WORKER_ADDRESS": f"unix:{self.folder}/arbiter.sock",
            "ARBITER_WORKER_TOKEN": self._tokens.own,
            "ARBITER_RUN_DIR": str(self.folder),
            "ARBITER_WORKER_NAME": name,
            "ARBITER_WORKER_RUNTIMES": "",
            **more,
        }
        command = Command(name, [sys.executable, "-P", "-m", "workers"], self.folder / f"{name}.log", environment)
        child = Child(command)
        self._children.append(child)
        return child

    def send(self, key: SittingKey, route: Route | None = None, priority: Priority = Priority.TOURNAMENT) -> None:
        self._sender.send(key, route or Route(), priority)

    def present(self) -> list[str]:
        """Workers that say that they are there."""
        return self._sender.workers()

    def said(self, name: str = "w1") -> str:
        return (self.folder / f"{name}.log").read_text()

    def unacknowledged(self) -> int:
        return self.redis.hlen("unacked")

    def recorded(self) -> int:
        return self.store.progress(ID).recorded

    def leased(self) -> list[SittingKey]:
        return [lease.key for lease in self.store.leases(ID)]

    async def close(self) -> None:
        for child in self._children:
            child.kill()
            await child.wait()
        self._sender.close()
        self.redis.close()


@asynccontextmanager
async def site(
    store: Store, bots: FileVersions, *, with_redis: bool = True, desk: Desk | None = None
) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(RunDirectory())
        if with_redis:
            await stack.enter_async_context(EmbeddedRedis(folder))
        tokens = WorkerTokens(store.accounts)
        await stack.enter_async_context(WorkerServer(desk or Desk(store), bots, tokens, f"unix:{folder}/arbiter.sock"))
        found = Site(folder, store, tokens)
        stack.push_async_callback(found.close)
        yield found


def at(
    store: Store,
    bots: FileVersions,
    test: Callable[[Site], Awaitable[None]],
    *,
    with_redis: bool = True,
    desk: Desk | None = None,
) -> None:
    async def run() -> None:
        async with site(store, bots, with_redis=with_redis, desk=desk) as found:
            await test(found)

    asyncio.run(run())


class Gated(Desk):
    """Leases a sitting when a test opens its gate: until then its worker goes no further."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._gates = {str(key): threading.Event() for key in KEYS}
        self.asked: list[SittingKey] = []

    def open(self, *keys: SittingKey) -> None:
        for key in keys:
            self._gates[str(key)].set()

    def lease(self, sitting: str, worker: str) -> Grant | LeaseRefusal:
        self.asked.append(SittingKey.parse(sitting))
        assert self._gates[sitting].wait(PATIENCE)
        return super().lease(sitting, worker)


def test_a_task_is_acknowledged_when_it_is_played_and_one_is_taken_at_a_time(store: Store, bots: FileVersions) -> None:
    """Taken early or two at once, a killed worker's sittings would be gone from Redis."""
    create(store, bots)
    desk = Gated(store)

    async def test(place: Site) -> None:
        for key in KEYS[:2]:
            place.send(key)
        worker = place.start()
        await until(lambda: KEYS[0] in desk.asked)
        assert place.unacknowledged() == 1
        desk.open(KEYS[0])
        await until(lambda: KEYS[1] in desk.asked and place.recorded() == 1)
        worker.kill()
        await worker.wait()
        desk.open(KEYS[1])
        assert place.unacknowledged() == 1, "the first is acknowledged, the second waits for its visibility timeout"

    at(store, bots, test, desk=desk)
    assert store.attempts(KEYS[0])[0].outcome is AttemptOutcome.RECORDED


class Failing(Deliberate):
    """Fails at the first report, when it is let go on."""

    def report(self, sitting: str, attempt: int, replay: bytes, logs: Sequence[BotLog], seconds: float) -> Recorded:
        if not self.asked:
            self.asked.append(sitting)
            assert self.go.wait(PATIENCE)
            raise ZeroDivisionError
        return super().report(sitting, attempt, replay, logs, seconds)


def test_what_a_killed_worker_had_played_but_not_reported_counts(store: Store, bots: FileVersions) -> None:
    """Killed while it plays the next: that one is lost, and the one on its disk is sent by the next worker there."""
    create(store, bots)
    desk = Failing(store)

    async def test(place: Site) -> None:
        for key in KEYS[:2]:
            place.send(key)
        worker = place.start()
        await until(lambda: str(KEYS[0]) in desk.asked and place.leased() == KEYS[:2])
        assert place.recorded() == 0
        worker.kill()
        await worker.wait()
        desk.go.set()
        place.send(KEYS[2])
        place.start("w2")
        await until(lambda: KEYS[0] not in place.leased() and KEYS[2] not in place.leased() and place.recorded() > 1)

    at(store, bots, test, desk=desk)
    (attempt,) = store.attempts(KEYS[0])
    assert (attempt.worker, attempt.outcome) == ("w1", AttemptOutcome.RECORDED)


def test_nothing_but_tasks_is_kept_in_redis(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        place.send(KEYS[0])
        place.start()
        await until(lambda: place.recorded() == 1 and not place.unacknowledged())
        await until(lambda: kept(place) == [])  # but for a moment the locks of who looks for lost tasks

    def kept(place: Site) -> list[str]:
        names = [key.decode() for key in cast("list[bytes]", place.redis.keys("*"))]
        return [name for name in names if not name.startswith(("_kombu.binding", "test.present."))]

    at(store, bots, test)


def test_what_redis_hands_out_again_while_it_is_played_is_dropped(store: Store, bots: FileVersions) -> None:
    """A sitting that takes longer than the visibility timeout: celery/celery#5935."""
    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])

        async def test(place: Site) -> None:
            place.send(KEYS[0])
            first = place.start("w1")
            await until(lambda: place.leased() == KEYS[:1])
            (held,) = cast("list[bytes]", place.redis.hvals("unacked"))
            message, _, queue = json.loads(held)
            place.redis.lpush(f"{queue}\x06\x16{Priority.TOURNAMENT}", json.dumps(message))  # as kombu does
            second = place.start("w2")
            await until(lambda: f"sitting {KEYS[0]}: not leased" in place.said("w2"))
            assert place.leased() == KEYS[:1]
            assert first.exit is None
            assert second.exit is None

        at(store, bots, test)
    assert len(store.attempts(KEYS[0])) == 1


def test_gates_come_before_tournaments_and_the_ladder_last(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        place.send(KEYS[0], Route(), Priority.LADDER)
        place.send(KEYS[1], Route(), Priority.TOURNAMENT)
        place.send(KEYS[2], Route(2), Priority.TOURNAMENT)
        place.send(KEYS[3], Route(), Priority.GATE)
        place.start(ARBITER_WORKER_CPUS="2")
        await until(lambda: place.recorded() == 4)

    at(store, bots, test)
    order = sorted(KEYS, key=lambda key: store.attempts(key)[0].leased_at)
    assert order == [KEYS[3], KEYS[2], KEYS[1], KEYS[0]]


def test_a_worker_takes_what_it_has_the_processors_and_runtimes_for(
    store: Store, bots: FileVersions, tmp_path: Path
) -> None:
    table = tmp_path / "runtimes.toml"
    table.write_text(
        '[python]\nword = "python"\nprogram = ["{python}"]\n[shell]\nword = "sh"\nprogram = ["/bin/sh"]\n'
        '[other]\nword = "other"\nprogram = ["/bin/true"]\n'
    )
    create(store, bots)

    async def test(place: Site) -> None:
        place.send(KEYS[0], Route(4))
        place.send(KEYS[1], Route(1, ("other",)))
        place.send(KEYS[2], Route(1, ("shell",)))
        place.send(KEYS[3], Route(2))
        place.start(ARBITER_WORKER_CPUS="3", ARBITER_WORKER_RUNTIMES="shell", ARBITER_RUNTIMES=str(table))
        await until(lambda: place.recorded() == 2)
        assert store.planned(ID) == KEYS[:2]
        place.start("w2", ARBITER_WORKER_CPUS="8", ARBITER_WORKER_RUNTIMES="other,shell", ARBITER_RUNTIMES=str(table))
        await until(lambda: place.recorded() == 4)

    at(store, bots, test)


def test_sigterm_lets_it_finish_and_take_nothing_more(store: Store, bots: FileVersions) -> None:
    create(store, bots)
    desk = Gated(store)

    async def test(place: Site) -> None:
        for key in KEYS:
            place.send(key)
        worker = place.start()
        await until(lambda: bool(desk.asked))
        worker.terminate()
        await until(lambda: "ask again to hurry" in place.said())
        desk.open(*KEYS)
        async with asyncio.timeout(PATIENCE):
            assert await worker.wait() == 0
        assert place.unacknowledged() == 0

    at(store, bots, test, desk=desk)
    assert store.progress(ID).sittings == {
        SittingState.PLANNED: 3,
        SittingState.LEASED: 0,
        SittingState.RECORDED: 1,
        SittingState.FAILED: 0,
    }


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_makes_it_give_the_sitting_back(
    store: Store, bots: FileVersions, second: signal.Signals
) -> None:
    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "silent", SILENT), LOWEST, LOWEST, LOWEST])

        async def test(place: Site) -> None:
            place.send(KEYS[0])
            worker = place.start()
            await until(lambda: bool(list(place.folder.glob("s-*"))))
            worker.terminate()
            await until(lambda: "ask again to hurry" in place.said())
            assert place.leased() == KEYS[:1]
            os.kill(worker.pid, second)
            async with asyncio.timeout(PATIENCE):
                assert await worker.wait() == 0
            assert place.unacknowledged() == 0
            assert list(place.folder.glob("s-*")) == []

        at(store, bots, test)
    (attempt,) = store.attempts(KEYS[0])
    assert attempt.note == "its worker was stopped"
    assert store.planned(ID)[0] == KEYS[0]


def test_a_worker_ends_after_so_many_sittings(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        for key in KEYS:
            place.send(key)
        worker = place.start(ARBITER_WORKER_RECYCLE="2")
        async with asyncio.timeout(PATIENCE):
            assert await worker.wait() == 0
        assert place.unacknowledged() == 0
        assert place.present() == []

    at(store, bots, test)
    assert store.progress(ID).recorded == 2


def test_a_pinned_worker_keeps_its_bots_to_its_processors(store: Store, bots: FileVersions) -> None:
    last = max(os.sched_getaffinity(0))
    with open_folder() as folder:
        create(store, bots, [make_bot(folder / "teller", TELLER), LOWEST, LOWEST, LOWEST])

        async def test(place: Site) -> None:
            place.send(KEYS[0])
            place.start(ARBITER_WORKER_PIN=str(last))
            await until(lambda: place.recorded() == 1)

        at(store, bots, test)
    assert f"may use {{{last}}}" in store.logs(KEYS[0])[0].log


def test_redis_may_come_late_go_away_and_come_back_empty(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        place.start()
        await until(lambda: "can't be reached, trying again" in place.said())
        async with EmbeddedRedis(place.folder):
            place.send(KEYS[0])
            await until(lambda: place.recorded() == 1 and not place.unacknowledged())
        await until(lambda: place.said().count("can't be reached, trying again") == 2)
        async with EmbeddedRedis(place.folder):
            place.send(KEYS[1])
            await until(lambda: place.recorded() == 2)
            await until(lambda: place.present() == ["w1"])
        lines = place.said().splitlines()
        assert len([line for line in lines if "can't be reached" in line]) == 2, "one line for each outage"
        assert len([line for line in lines if "answers again" in line]) == 2
        assert "Traceback" not in place.said()

    at(store, bots, test, with_redis=False)


def test_a_worker_that_waits_for_redis_stops_when_it_is_told_to(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        worker = place.start()
        await until(lambda: "can't be reached, trying again" in place.said())
        worker.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await worker.wait() == 0

    at(store, bots, test, with_redis=False)


def test_a_worker_tells_whether_it_is_ready_and_what_it_did(store: Store, bots: FileVersions) -> None:
    create(store, bots)

    async def test(place: Site) -> None:
        place.start(ARBITER_METRICS=address, ARBITER_LOG_FORMAT="json")
        await until(lambda: "can't be reached, trying again" in place.said())
        assert await asyncio.to_thread(get, address, "/healthz") == (200, "alive\n")
        assert await asyncio.to_thread(get, address, "/readyz") == (503, "redis: can't be reached\n")
        async with EmbeddedRedis(place.folder):
            place.send(KEYS[0])
            await until(lambda: place.recorded() == 1 and not place.unacknowledged())
            assert await asyncio.to_thread(get, address, "/readyz") == (200, "ready\n")
            _, text = await asyncio.to_thread(get, address, "/metrics")
        values = {
            sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples
        }
        assert values["hearts_sitting_seconds_count"] == 1
        assert values["hearts_queue_wait_seconds_count"] == 1
        assert values["hearts_mean_decision_seconds_count"] == 4
        assert values["hearts_mean_batch_answers_count"] == 4
        assert values["hearts_worker_busy"] == 0
        await until(lambda: "RECORDED" in place.said())  # which it hears of after it was written down
        lines = [json.loads(line) for line in place.said().splitlines()]
        assert [line["sitting"] for line in lines if "RECORDED" in line["message"]] == [str(KEYS[0])]

    with reserved_port() as port:
        address = f"127.0.0.1:{port}"
        at(store, bots, test, with_redis=False)


def test_routes_are_every_set_of_needs_the_most_demanding_first() -> None:
    names = [route.queue("s") for route in routes_of(3, ["node", "cpython"])]
    assert names == [
        "s.cpus2+cpython+node",
        "s.cpus2+cpython",
        "s.cpus2+node",
        "s.cpus2",
        "s.cpus1+cpython+node",
        "s.cpus1+cpython",
        "s.cpus1+node",
        "s.cpus1",
    ]
