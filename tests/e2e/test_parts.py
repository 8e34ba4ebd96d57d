"""What a part of a service needs, and how workers stop; `test_storm.py` kills every part of one."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from arbiter.store import SittingState, Store
from tests.e2e.parts import BOTS, Size, ThisMachine, service
from tests.e2e.support import COMMAND, Place, environment, new_place, until
from tests.postgres import Postgres


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as found:
        yield found


@pytest.mark.timeout(300)
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
