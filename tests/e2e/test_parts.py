"""What a part of a service needs, and how workers stop; `test_storm.py` kills every part of one."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from arbiter.store import SittingState, Store
from tests.e2e.parts import BOTS, Part, RedisPart, Size, ThisMachine, service
from tests.e2e.support import COMMAND, Place, environment, new_place, until
from tests.ports import reserved_port
from tests.postgres import Postgres, serving
from tests.telemetry.test_telemetry import get
from tests.tournament.support import ID, create


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as found:
        yield found


def test_workers_that_are_asked_to_stop_finish_or_give_back_what_they_play(postgres: Postgres) -> None:
    size = Size(bots=4, seatings=6)
    with service(BOTS[: size.bots], ThisMachine(), postgres.programs) as found, Store.open(found.database) as store:
        cup = found.place.data / "cup.toml"
        cup.write_text(size.cup())
        tournament = found.call("service", "create", cup, "--start")

        def sittings(state: SittingState) -> int:
            return store.progress(tournament).sittings[state]

        until(lambda: sittings(SittingState.RECORDED) >= 1 and sittings(SittingState.LEASED) >= 1, "it is played")
        for name in ("worker-1", "worker-2"):
            found.parts[name].end(signal.SIGTERM)
        assert sittings(SittingState.LEASED) == 0
        for name in ("worker-1", "worker-2"):
            found.parts[name].start()
        found.call("service", "watch", tournament)
        assert sittings(SittingState.RECORDED) == 6
        found.end()
        until(lambda: not found.place.processes(), "nothing outlives the service", found.place.described)


def test_parts_wait_for_their_database_and_say_what_is_amiss(place: Place, postgres: Postgres) -> None:
    """official-stockfish/fishtest#2003: after an outage everything comes back by itself."""
    with serving(postgres.programs) as server, reserved_port() as port:
        database = server.new()
        with Store.open(database) as store:
            create(store)
        server.end(signal.SIGQUIT)
        redis = RedisPart(ThisMachine())
        common = {"ARBITER_DATABASE_URL": database, "ARBITER_REDIS_URL": redis.url}
        metrics = f"127.0.0.1:{port}"
        local = ("--address", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--metrics", metrics)
        api = Part(place, "serve", [], ["serve", *local, "--data-dir", place.data], **common)
        coordinator = Part(place, "coordinator", [], ["coordinator", "--data-dir", place.data], **common)
        try:
            for part in (api, coordinator):
                part.start()
            for part in (api, coordinator):
                part.said("waiting: the database")
            coordinator.end(signal.SIGTERM)
            server.start()
            api.said("serving at")
            assert "the database answers" in api.log.read_text()
            status, amiss = get(metrics, "/readyz")
            assert (status, [line.partition(":")[0] for line in amiss.splitlines()]) == (503, ["redis", "coordinator"])
            assert f"nobody leads in {ID}; see that a coordinator runs" in amiss
            redis.start()
            coordinator.start()
            until(lambda: get(metrics, "/readyz") == (200, "ready\n"), "the API is ready", lambda: api.log.read_text())
            server.end(signal.SIGQUIT)
            until(lambda: "database: " in get(metrics, "/readyz")[1], "the database is missed")
            server.start()
            until(lambda: get(metrics, "/readyz") == (200, "ready\n"), "the API is ready", lambda: api.log.read_text())
            for part in (coordinator, api):
                part.check()
                process = part.process
                part.end(signal.SIGTERM)
                assert process is not None
                assert process.returncode == 0, part.log.read_text()
        finally:
            for part in (api, coordinator):
                part.end(signal.SIGKILL)
            redis.end()


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
