"""A worker that shares nothing with the arbiter but an address: bots come by digest, over TLS, and links break."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arbiter.identity import issue_token
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens, tls
from arbiter.store import AttemptOutcome, Scope, SittingKey, SittingState, Store
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import Desk
from tests.patience import PATIENCE
from tests.ports import reserved_port
from tests.tournament.support import ID
from tests.workers.test_work import LOWEST, SLOW, create, until
from workers import line as line_module
from workers import work as work_module
from workers.settings import WorkerSettings
from workers.work import Worker

FIRST, KEY = f"{ID}/0/0", SittingKey(ID, 0, 0)


@dataclass(frozen=True)
class Host:
    """An arbiter's side: its store, bots and certificate."""

    store: Store
    bots: FileVersions
    certificate: Path
    key: Path

    @asynccontextmanager
    async def serving(self, listen: str = "127.0.0.1:0") -> AsyncIterator[str]:
        """Serve with TLS; gives the address."""
        credentials = tls.load_credentials(self.certificate, self.key)
        tokens = WorkerTokens(self.store.accounts)
        async with WorkerServer(Desk(self.store), self.bots, tokens, listen, credentials) as server:
            yield server.address


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    certificate, key = tls.self_signed(tmp_path / "tls", ["127.0.0.1"])
    with Store.open(tmp_path / "arbiter.db") as store:
        yield Host(store, FileVersions(tmp_path / "bots"), certificate, key)


@asynccontextmanager
async def far_worker(host: Host, address: str, **more: str) -> AsyncIterator[Worker]:
    """A worker with a folder of its own, as on another machine."""
    token = issue_token(host.store.accounts, "far", Scope.WORKER, datetime.now(UTC))[1]
    with RunDirectory() as folder:
        settings = WorkerSettings.from_environment(
            {
                "ARBITER_REDIS_URL": "redis://unused",
                "ARBITER_QUEUE": "unused",
                "ARBITER_WORKER_ADDRESS": address,
                "ARBITER_WORKER_TOKEN": token,
                "ARBITER_RUN_DIR": str(folder),
                "ARBITER_CA": str(host.certificate),
                **more,
            }
        )
        worker = Worker(settings)
        try:
            yield worker
        finally:
            await worker.close()


def outcomes(store: Store) -> list[AttemptOutcome]:
    return [attempt.outcome for attempt in store.attempts(KEY)]


def test_a_sitting_is_played_with_bots_that_came_over_tls(host: Host) -> None:
    create(host.store, host.bots)

    async def test() -> None:
        async with host.serving() as address, far_worker(host, address) as worker:
            await worker.work(FIRST)

    asyncio.run(test())
    assert outcomes(host.store) == [AttemptOutcome.RECORDED]
    assert host.store.progress(ID).faults == 0


def test_a_stranger_at_the_address_gets_no_token(host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    create(host.store, host.bots)
    stranger = tls.self_signed(tmp_path / "stranger", ["127.0.0.1"])[0]

    async def test() -> None:
        async with host.serving() as address, far_worker(host, address, ARBITER_CA=str(stranger)) as worker:
            working = asyncio.ensure_future(worker.work(FIRST))
            await until(lambda: "can't be reached, trying again" in caplog.text)
            worker.hurry()
            await working

    asyncio.run(test())
    assert host.store.progress(ID).sittings[SittingState.PLANNED] == 4


def test_a_bot_is_fetched_once_and_again_only_when_it_is_damaged(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "arbiter.packages.cache")
    create(host.store, host.bots)
    digest = host.store.entrants(ID)[0].digest
    cache = tmp_path / "cache"
    fetched = f"version {digest}: fetching"

    async def test() -> None:
        async with host.serving() as address, far_worker(host, address, ARBITER_CACHE_DIR=str(cache)) as worker:
            for sitting in range(2):
                await worker.work(f"{ID}/0/{sitting}")
            assert caplog.text.count(fetched) == 1
            (cache / digest / "bot.py").write_text("raise SystemExit")
            await worker.work(f"{ID}/0/2")
            assert caplog.text.count(fetched) == 2

    asyncio.run(test())
    progress = host.store.progress(ID)
    assert (progress.recorded, progress.faults) == (3, 0)


class Lying(FileVersions):
    """Versions that were changed after they were checked."""

    def open(self, digest: str) -> Path:
        path = super().open(digest)
        (path / "bot.py").write_text("raise SystemExit")
        return path


def test_what_is_another_version_than_the_plan_says_is_not_played(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_module, "RELEASE_PAUSE", 0.0)
    lying = Host(host.store, Lying(tmp_path / "lying"), host.certificate, host.key)
    create(host.store, lying.bots)

    async def test() -> None:
        async with lying.serving() as address, far_worker(host, address) as worker:
            await worker.work(FIRST)

    asyncio.run(test())
    (attempt,) = host.store.attempts(KEY)
    assert attempt.outcome is AttemptOutcome.INFRASTRUCTURE
    assert "fetch it again" in attempt.note


def test_a_worker_waits_for_the_arbiter_and_says_so_once(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    create(host.store, host.bots)

    async def test(address: str) -> None:
        async with far_worker(host, address) as worker:
            working = asyncio.ensure_future(worker.work(FIRST))
            await until(lambda: "can't be reached, trying again" in caplog.text)
            async with host.serving(address):
                await working
                await worker.reported()

    with reserved_port() as port:
        asyncio.run(test(f"127.0.0.1:{port}"))
    assert outcomes(host.store) == [AttemptOutcome.RECORDED]
    assert caplog.text.count("can't be reached") == 1
    assert caplog.text.count("answers again") == 1


def test_a_link_that_breaks_in_the_middle_of_a_bot_is_taken_up_again(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    big = tmp_path / "big"
    shutil.copytree(LOWEST, big)
    (big / "weights").write_bytes(bytes(range(256)) * (1 << 16))
    create(host.store, host.bots, [big, LOWEST, LOWEST, LOWEST])

    async def test() -> None:
        async with asyncio.timeout(PATIENCE):
            async with host.serving() as address, Cutting(address) as relay, far_worker(host, relay.address) as worker:
                relay.cut_after(4 << 20)
                await worker.work(FIRST)
                assert relay.cuts == 1

    asyncio.run(test())
    assert "not fetched yet, trying again" in caplog.text
    assert outcomes(host.store) == [AttemptOutcome.RECORDED]


class Cutting:
    """A relay in front of an address that cuts every connection once, after so many bytes from it."""

    def __init__(self, behind: str) -> None:
        self._behind = behind
        self._left = -1
        self._writers: list[asyncio.StreamWriter] = []
        self.cuts = 0
        self.address = ""

    def cut_after(self, size: int) -> None:
        self._left = size

    async def __aenter__(self) -> Cutting:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._cut()
        await self._server.wait_closed()

    def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _relay(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        host, _, port = self._behind.rpartition(":")
        far, far_out = await asyncio.open_connection(host, int(port))
        self._writers += [near_out, far_out]
        await asyncio.gather(self._pump(near, far_out, count=False), self._pump(far, near_out, count=True))

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, count: bool) -> None:
        try:
            while data := await source.read(65536):
                if count and self._left >= 0:
                    self._left -= len(data)
                    if self._left < 0:
                        self.cuts += 1
                        self._cut()
                        return
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.transport.abort()


def test_a_bot_that_does_not_come_is_not_waited_for_without_end(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that was cut says nothing: no call waits for ever."""
    monkeypatch.setattr(line_module, "CHUNK_PATIENCE", 0.2)
    monkeypatch.setattr(line_module, "FETCH_PATIENCE", 0.1)
    monkeypatch.setattr(work_module, "RELEASE_PAUSE", 0.0)
    released = threading.Event()

    class Hanging(FileVersions):
        def open(self, digest: str) -> Path:
            released.wait()
            return super().open(digest)

    hanging = Host(host.store, Hanging(tmp_path / "bots"), host.certificate, host.key)
    create(host.store, hanging.bots)

    async def test() -> None:
        try:
            async with hanging.serving() as address, far_worker(host, address) as worker:
                await worker.work(FIRST)
                released.set()
        finally:
            released.set()

    asyncio.run(test())
    (attempt,) = host.store.attempts(KEY)
    assert attempt.outcome is AttemptOutcome.INFRASTRUCTURE
    assert "nothing came for 0.2 s" in attempt.note


def test_bots_differ_and_each_seat_gets_its_own(host: Host) -> None:
    create(host.store, host.bots, [LOWEST, SLOW, LOWEST, SLOW])

    async def test() -> None:
        async with host.serving() as address, far_worker(host, address) as worker:
            await worker.work(FIRST)

    asyncio.run(test())
    assert outcomes(host.store) == [AttemptOutcome.RECORDED]
    assert sorted({entrant.digest for entrant in host.store.entrants(ID)}) == host.bots.digests()
