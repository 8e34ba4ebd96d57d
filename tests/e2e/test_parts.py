"""A service in parts, each a process that may be on another machine: API, coordinator, workers, and a Redis."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from arbiter.store import SittingState, Store
from arbiter.supervisor.redis import EmbeddedRedis
from tests.e2e.support import COMMAND, DEADLINE, SAMPLES, Place, environment, new_place, until

CUP = "".join(f'[[entrants]]\nbot = "lowest"\nname = "{name}"\n' for name in ("one", "two", "three", "four"))


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as found:
        yield found


class Parts:
    """The processes of a service, by name."""

    def __init__(self, place: Place, redis_url: str) -> None:
        self.place = place
        self._redis = redis_url
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.api = self.for_workers = ""

    def start(self, name: str, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
        with self._log(name).open("w") as log:
            process = subprocess.Popen(
                [*COMMAND, *map(str, arguments)],
                env=environment(self.place.temporary) | {"ARBITER_REDIS_URL": self._redis} | variables,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.running[name] = process
        return process

    def _log(self, name: str) -> Path:
        return self.place.temporary / f"{name}.log"

    def serve(self) -> None:
        listen = self.api or "127.0.0.1:0", self.for_workers or "127.0.0.1:0"
        options = ["--address", listen[0], "--listen", listen[1], "--self-signed", "127.0.0.1"]
        self.start("serve", "serve", *options, "--data-dir", self.place.data)
        lines = ("callers need this certificate: --ca ", "serving at ", "serving workers at ")
        self.certificate, self.api, self.for_workers = (self.said("serve", line) for line in lines)
        assert all(re.fullmatch(r"127\.0\.0\.1:\d+", each) for each in (self.api, self.for_workers))

    def coordinator(self) -> None:
        self.start("coordinator", "coordinator", "--data-dir", self.place.data)
        self.said("coordinator", "coordinating")

    def worker(self, token: str) -> None:
        state = self.place.temporary / "far"
        self.start(
            "worker",
            *("worker", "--arbiter", self.for_workers, "--ca", self.certificate, "--workers", "2"),
            *("--state-dir", state),
            ARBITER_WORKER_TOKEN=token,
        )

    def said(self, name: str, begin: str) -> str:
        """The rest of a line that begins so, as soon as it is there."""

        def found() -> list[str]:
            lines = self._log(name).read_text().split("\n")[:-1]
            return [line.removeprefix(begin) for line in lines if line.startswith(begin)]

        until(lambda: bool(found()), f"{name} says {begin!r}")
        return found()[0]

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        """End a part, and see what it said."""
        process = self.running.pop(name)
        process.send_signal(number)
        process.wait(timeout=DEADLINE)
        said = self._log(name).read_text()
        if number is signal.SIGTERM:
            assert process.returncode == 0, said
        assert "Traceback" not in said

    def call(self, token: str, *arguments: str | Path) -> str:
        settings = {"ARBITER_SERVER": self.api, "ARBITER_CA": self.certificate, "ARBITER_API_TOKEN": token}
        done = subprocess.run(
            [*COMMAND, *arguments],
            env=environment(self.place.temporary) | settings,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@contextmanager
def parts(place: Place, redis_url: str) -> Iterator[Parts]:
    found = Parts(place, redis_url)
    try:
        yield found
    finally:
        for process in found.running.values():
            process.kill()
            process.wait()


@pytest.mark.timeout(300)
def test_every_part_may_be_killed_and_redis_replaced_in_the_middle(place: Place, tmp_path: Path) -> None:
    cup = tmp_path / "cup.toml"
    cup.write_text(f'name = "cup"\ndeal_seed = "{"ab" * 32}"\n[match]\nboards = 2\nseatings = 12\n{CUP}')
    token = {
        scope: json.loads(place.run("token", "create", scope, "--scope", scope, "--json").stdout)["token"]
        for scope in ("host", "worker")
    }

    async def test() -> None:
        (redis_folder := place.temporary / "redis").mkdir()
        stack = ExitStack()
        redis = EmbeddedRedis(redis_folder)
        await redis.__aenter__()
        try:
            service = stack.enter_context(parts(place, redis.url))
            service.serve()
            service.coordinator()
            service.worker(token["worker"])
            await asyncio.to_thread(service.call, token["host"], "bot", "submit", SAMPLES / "lowest", "--wait")
            tournament = await asyncio.to_thread(service.call, token["host"], "service", "create", cup, "--start")
            with Store.open(place.data / "arbiter.db") as store:

                def recorded(count: int) -> Callable[[], bool]:
                    return lambda: store.progress(tournament).recorded >= count

                await asyncio.to_thread(until, recorded(2), "it is played by a worker that shares no folder")
                service.end("coordinator", signal.SIGKILL)
                service.coordinator()
                await redis.__aexit__(None, None, None)
                redis = EmbeddedRedis(redis_folder)
                await redis.__aenter__()
                await asyncio.to_thread(until, recorded(5), "it goes on with an empty Redis")
                service.end("serve", signal.SIGKILL)
                service.serve()
                await asyncio.to_thread(until, recorded(7), "it goes on with a new arbiter")
                service.end("worker")
                leased = store.progress(tournament).sittings[SittingState.LEASED]
                assert leased == 0, "what was played was finished or given back"
                service.worker(token["worker"])
                await asyncio.to_thread(service.call, token["host"], "service", "watch", tournament)
                assert store.progress(tournament).recorded == 12
                assert store.alarms(tournament) == []
            for name in ("worker", "coordinator", "serve"):
                service.end(name)
        finally:
            stack.close()
            await redis.__aexit__(None, None, None)

    asyncio.run(test())
    until(lambda: not place.processes(), "nothing outlives the service")


@pytest.mark.parametrize(
    ("command", "variables", "message"),
    [
        ("coordinator", {}, "a coordinator needs the Redis of its workers; set ARBITER_REDIS_URL"),
        ("worker", {}, "a worker needs where the arbiter serves workers; set ARBITER_WORKER_ADDRESS"),
        ("worker", {"ARBITER_WORKER_ADDRESS": "a:1"}, "a worker needs the service's Redis; set ARBITER_REDIS_URL"),
        (
            "worker",
            {"ARBITER_WORKER_ADDRESS": "a:1", "ARBITER_REDIS_URL": "redis://a"},
            "a worker needs a token; set ARBITER_WORKER_TOKEN",
        ),
    ],
)
def test_what_a_part_needs_is_named(place: Place, command: str, variables: dict[str, str], message: str) -> None:
    done = subprocess.run(
        [*COMMAND, command], env=environment(place.temporary) | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")
    assert done.stderr.count("\n") == 1
