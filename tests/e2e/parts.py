"""A service in parts, each a process of its own, and where they run: on this machine, or on hosts of their own."""

from __future__ import annotations

import itertools
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from redis import Redis

from arbiter.errors import ArbiterError
from arbiter.identity import issue_token
from arbiter.store import AttemptOutcome, Scope, SittingKey, Store, TournamentState, VersionState
from arbiter.supervisor.redis import find_server
from arbiter.tournament import report
from tests.e2e.support import COMMAND, SAMPLES, Place, bots_of, environment, is_worker, new_place, until
from tests.patience import PATIENCE
from tests.postgres import Postgres, serving

BOTS: Final = ("lowest", "uniform", "careful", "batch", "moonshooter")
_UP: Final = {"serve": "serving at", "coordinator": "coordinating", "worker": "1 worker for the arbiter"}
"""What each kind of part says when it is up."""

VISIBILITY: Final = 8
"""Seconds after which Redis hands out again what a worker still plays, or was frozen over."""


class Hosts(Protocol):
    """Where the parts run."""

    address: str
    """Where the API, Redis and coordinators are."""

    def inside(self, part: str) -> list[str]:
        """What comes before a command to run it where a part is."""


class ThisMachine:
    """All of them here."""

    address = "127.0.0.1"

    def inside(self, part: str) -> list[str]:
        """Nothing."""
        return []


@dataclass(frozen=True)
class Size:
    """How much is played."""

    bots: int = 5
    seatings: int = 24
    tournaments: int = 3

    def cup(self) -> str:
        """The tournament file; the clock is so long that no freeze costs a bot its game."""
        bots = "".join(f'[[entrants]]\nbot = "{name}"\n' for name in BOTS[: self.bots])
        clock = "[clock]\nbank = 3000.0\nhard_stop = 1000.0\nstart_up = 1000.0\n"
        match = f"[match]\nboards = 2\nseatings = {self.seatings}\n"
        return f'name = "cup"\ndeal_seed = "{"5a" * 32}"\n{match}{clock}{bots}'


class Part:
    """A part of the service, started as often as it is ended."""

    def __init__(
        self, place: Place, name: str, inside: Sequence[str], arguments: Sequence[str | Path], **variables: str
    ) -> None:
        self.name: Final = name
        self.arguments = [*map(str, arguments)]
        self._inside: Final = inside
        self._place: Final = place
        self._variables: Final = variables
        self._starts: Final = itertools.count()
        self.process: subprocess.Popen[bytes] | None = None
        self.log: Path = place.temporary / f"{name}-log"

    def start(self) -> None:
        """Start it; what it says goes to a file."""
        self.log = self._place.temporary / f"{self.name}-{next(self._starts)}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*self._inside, *COMMAND, *self.arguments],
                env=environment(self._place.temporary) | self._variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self, beginning: str) -> str:
        """The last word of the line with this beginning, once it is there."""

        def found() -> list[str]:
            lines = self.log.read_text(errors="replace").splitlines(keepends=True)
            return [line for line in lines if line.startswith(beginning) and line.endswith("\n")]

        until(lambda: bool(found()), f"{self.name} says {beginning!r}", lambda: self.log.read_text(errors="replace"))
        return found()[0].split()[-1]

    def check(self) -> None:
        """See that it has not ended by itself, whatever was away."""
        assert self.process is None or self.process.poll() is None, self.log.read_text(errors="replace")

    def end(self, number: signal.Signals) -> None:
        """End it by a signal."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
            self.process = None


class RedisPart:
    """A Redis, empty after every start."""

    def __init__(self, hosts: Hosts) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: Final = free.getsockname()[1]
        self._hosts: Final = hosts
        self._password: Final = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self.url: Final = f"redis://:{self._password}@{hosts.address}:{self._port}/0"

    def start(self) -> None:
        """Start it; it answers a moment later."""
        options = ["--port", str(self._port), "--bind", self._hosts.address, "--requirepass", self._password]
        options += ["--save", "", "--appendonly", "no"]
        program = [*self._hosts.inside("redis"), str(find_server())]
        self._process = subprocess.Popen(
            [*program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def flush(self) -> None:
        """Lose everything that is in it, the queues in front."""
        with Redis.from_url(self.url) as client:
            client.flushall()

    def end(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@dataclass
class Service:
    """All parts."""

    place: Place
    postgres: Postgres
    hosts: Hosts
    redis: RedisPart
    database: str
    parts: dict[str, Part] = field(default_factory=dict)
    address: str = ""
    certificate: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    def begin(self, bots: Sequence[str]) -> None:
        """Start everything, and submit these bots."""
        self.redis.start()
        common = {"ARBITER_REDIS_URL": self.redis.url, "ARBITER_DATABASE_URL": self.database}
        data = ("--data-dir", self.place.data)
        with Store.open(self.database) as store:
            for scope in (Scope.HOST, Scope.WORKER):
                _, self.tokens[scope] = issue_token(store.accounts, scope, scope, datetime.now(UTC))
        where = self.hosts.address
        listen = ("--address", f"{where}:0", "--listen", f"{where}:0", "--self-signed", where)
        api = self.parts["serve"] = self._part("serve", ["serve", *listen, *data], common)
        api.start()
        self.certificate = api.said("callers need this certificate")
        self.address, for_workers = api.said("serving at"), api.said("serving workers at")
        # Where it was, from now on.
        api.arguments[2], api.arguments[4] = self.address, for_workers
        for number in (1, 2):
            name = f"coordinator-{number}"
            self.parts[name] = self._part(name, ["coordinator", *data], common)
            state = ("--state-dir", self.place.temporary / f"far-{number}")
            far = ("--arbiter", for_workers, "--ca", self.certificate, "--workers", "1", *state)
            settings = {"ARBITER_REDIS_URL": self.redis.url, "ARBITER_WORKER_TOKEN": self.tokens["worker"]}
            settings["ARBITER_WORKER_VISIBILITY"] = str(VISIBILITY)
            self.parts[f"worker-{number}"] = self._part(f"worker-{number}", ["worker", *far], settings)
        for name, part in self.parts.items():
            if name != "serve":
                part.start()
        for bot in bots:
            self.call("bot", "submit", SAMPLES / bot)
        with Store.open(self.database) as store:
            until(lambda: not store.versions.unfinished(), "every version is tried out", self.place.described)
            assert {store.versions.get(bot).state for bot in bots} == {VersionState.ACTIVE}

    def _part(self, name: str, arguments: Sequence[str | Path], variables: Mapping[str, str]) -> Part:
        return Part(self.place, name, self.hosts.inside(name), arguments, **variables)

    def end(self) -> None:
        """Ask every part to stop, the workers first, and see that each does without an error."""
        for name in ("worker-1", "worker-2", "coordinator-1", "coordinator-2", "serve"):
            part = self.parts[name]
            part.check()
            part.said(_UP[name.partition("-")[0]])  # until then a signal ends it as it ends any program
            process = part.process
            part.end(signal.SIGTERM)
            log = part.log.read_text(errors="replace")
            assert process is not None
            assert (process.returncode, "Traceback" in log) == (0, False), log
        self.redis.end()

    def bots(self, worker: str) -> list[int]:
        """Processes of cages and bots that a supervisor's workers have."""
        process = self.parts[worker].process
        assert process is not None
        return [pid for pid in bots_of(process.pid) if not is_worker(pid)]

    def kill(self) -> None:
        """End every part at once, whatever state it is in."""
        for part in self.parts.values():
            part.end(signal.SIGKILL)
        self.redis.end()

    def call(self, *arguments: str | Path) -> str:
        """What a command of the host printed."""
        settings = {"ARBITER_SERVER": self.address, "ARBITER_CA": self.certificate}
        done = subprocess.run(
            [*self.hosts.inside("host"), *COMMAND, *map(str, arguments)],
            env=environment(self.place.temporary) | settings | {"ARBITER_API_TOKEN": self.tokens["host"]},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def play(self, cup: Path, meanwhile: Callable[[], None] = lambda: time.sleep(0.2), count: int = 1) -> list[str]:
        """Start tournaments from a file, do something until all are over, and return their ids."""
        ids = [
            self.call("service", "create", cup, "--start", "--request-id", secrets.token_hex(8)) for _ in range(count)
        ]
        with Store.open(self.database) as store:
            while not all(self._is_over(store, each) for each in ids):
                meanwhile()
        return ids

    def _is_over(self, store: Store, tournament: str) -> bool:
        try:
            found = store.tournament(tournament)
        except ArbiterError:  # the database is away
            return False
        assert found.state is not TournamentState.FAILED, found.failure
        return found.state is TournamentState.COMPLETED


@contextmanager
def service(bots: Sequence[str], hosts: Hosts, programs: Path) -> Iterator[Service]:
    """A service with these bots, on a database server of its own that has its programs in this folder."""
    with new_place() as place, serving(programs) as postgres:
        found = Service(place, postgres, hosts, RedisPart(hosts), postgres.new())
        try:
            found.begin(bots)
            yield found
        finally:
            found.kill()


@dataclass(frozen=True)
class Books:
    """What is in the books of some tournaments."""

    sittings: int
    attempts: int


def check_books(store: Store, size: Size, calm: str, others: Sequence[str]) -> Books:
    """See that tournaments came to the same standings as the one that nothing disturbed, to the last digit, and that
    each sitting was recorded once."""
    undisturbed = _standings(store, calm)
    sittings = attempts = 0
    for tournament in others:
        assert _standings(store, tournament) == undisturbed, tournament
        assert store.alarms(tournament) == []
        keys = [
            SittingKey(tournament, match.index, number)
            for match in store.matches(tournament)
            for number in range(size.seatings)
        ]
        for key in keys:
            tries = [attempt.outcome for attempt in store.attempts(key)]
            assert tries.count(AttemptOutcome.RECORDED) == 1, (key, tries)
            sittings, attempts = sittings + 1, attempts + len(tries)
    return Books(sittings, attempts)


def _standings(store: Store, tournament: str) -> dict[str, Any]:
    """Without what differs between tournaments: the id, and ratings, which count all tournaments."""
    found = report(store, tournament).to_dict()
    rows = [{name: value for name, value in row.items() if "rating" not in name} for row in found["standings"]]
    dropped = ("tournament", "standings")
    return {name: value for name, value in found.items() if name not in dropped} | {"standings": rows}
