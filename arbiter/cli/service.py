"""The parts of a service put together: its API, its coordinator, its workers, or all of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import grpc

from arbiter.cage import CageSettings, choose_cage
from arbiter.cli.local import bots_of, service_lock
from arbiter.cli.running import Running
from arbiter.cli.worker_processes import Workplace, worker_commands
from arbiter.engine import rule_set
from arbiter.match.routes import SERVICE
from arbiter.packages import Builder
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.sweeping import Sweeper
from arbiter.registry.validation import Validator
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.service.gate_service import GateServicer
from arbiter.service.heavy import HeavyWork
from arbiter.service.host_limits import HostLimits
from arbiter.service.ladder_service import LadderServicer
from arbiter.service.public import PublicServer
from arbiter.service.rates import Rates
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Store, StoreError, TournamentState
from arbiter.supervisor.keeper import Keeper, Patience
from arbiter.supervisor.redis import EmbeddedRedis, redis_client
from arbiter.supervisor.rundir import RunDirectory
from arbiter.telemetry import Check, Endpoint
from arbiter.tournament import CelerySender, Coordinator, Desk
from arbiter.tournament.coordinator import leads_of
from arbiter.tournament.dispatch import QueueUnreachable
from arbiter.tournament.gate_hosting import GateHosting
from arbiter.tournament.hosting import Hosting
from arbiter.tournament.judges import Judges
from arbiter.tournament.ladder_hosting import LadderHosting
from arbiter.tournament.leading import matter_of, process_name

REDIS_PATIENCE: Final = 0.5
"""Seconds that a call waits for Redis, which counts it, before it goes on uncounted."""

LATE: Final = 15.0
"""Seconds without a look at all plans after which a coordinator is not ready."""

QUEUES_EVERY: Final = 5.0
"""Seconds between two measurements of queues."""

KILL_AFTER: Final = 15.0
"""Seconds beyond its drain time that a worker has to give its sitting back, end its bots and go."""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What the command line and the environment said."""

    data: Path
    """Holds the versions of bots, and what is on its way in."""
    redis_url: str | None
    queue: str = SERVICE
    """What the queues are called: several services may share a Redis."""
    unsafe_processes: bool = False
    listen: str = ""
    """Where callers dial."""
    credentials: grpc.ServerCredentials | None = None
    """For TLS there; None for plain text."""
    limits: HostLimits = field(default_factory=HostLimits)
    """What contestants and callers may have."""
    rules: tuple[str, ...] = ()
    """Names of the rule sets in which new versions are tried out."""
    worker_listen: str | None = None
    """Where workers on other machines dial."""
    worker_credentials: grpc.ServerCredentials | None = None
    workers: int = 0
    """Worker processes beside it."""
    drain_seconds: float = 60.0
    """How long a worker may go on with its sitting when it is asked to stop."""
    metrics: str | None = None
    """HOST:PORT for metrics, health and readiness; workers beside it have the ports that follow."""


@dataclass(frozen=True, slots=True)
class _Api:
    address: str
    worker_address: str | None
    tokens: WorkerTokens
    desk: Desk
    jobs: tuple[Callable[[], Awaitable[object]], ...]

    @property
    def says(self) -> tuple[str, ...]:
        """Where it is."""
        workers = () if self.worker_address is None else (f"serving workers at {self.worker_address}",)
        return (f"serving at {self.address}", *workers)


@asynccontextmanager
async def api_alone(store: Store, options: ServiceOptions) -> AsyncIterator[Running]:
    """What callers and workers dial, without a coordinator: ``arbiter serve``."""
    async with AsyncExitStack() as stack:
        url, jobs = await _redis(stack, options)
        api = await _api(stack, store, replace(options, redis_url=url), lambda: None)
        sender = CelerySender(url, options.queue)
        stack.callback(sender.close)
        checks = {"database": _database_check(store), "redis": _redis_check(sender), "coordinator": _led_check(store)}
        _serve_metrics(stack, options, checks)
        yield Running(api.says, (*jobs, *api.jobs))


@asynccontextmanager
async def coordination(store: Store, options: ServiceOptions) -> AsyncIterator[Running]:
    """What keeps work flowing: ``arbiter coordinator``."""
    async with AsyncExitStack() as stack:
        coordinator, checks = _coordinator(stack, store, options)
        _serve_metrics(stack, options, checks)
        yield Running(("coordinating",), (coordinator.run, partial(_measure_queues, coordinator)))


@asynccontextmanager
async def everything(store: Store, options: ServiceOptions) -> AsyncIterator[Running]:
    """All of it on one machine: ``arbiter up``."""
    async with AsyncExitStack() as stack:
        run = stack.enter_context(RunDirectory())
        if options.unsafe_processes:
            run.chmod(0o711)  # without a cage, bots of a service of root are other users
        url, jobs = await _redis(stack, options)
        options = replace(options, redis_url=url)
        coordinator, checks = _coordinator(stack, store, options)
        api = await _api(stack, store, options, coordinator.wake)
        api.desk.changed = coordinator.wake
        own = WorkerServer(api.desk, bots_of(store, options.data), api.tokens, f"unix:{run / 'arbiter.sock'}")
        await stack.enter_async_context(own)
        place = Workplace(
            url,
            own.address,
            api.tokens.own,
            run,
            cache=options.data / "cache",
            spool=options.data / "spool",
            drain_seconds=options.drain_seconds,
            queue=options.queue,
            hidden=(options.data,),
            unsafe_processes=options.unsafe_processes,
            metrics=options.metrics,
        )
        _serve_metrics(stack, options, checks)
        keeper = _keeper(options.workers, place, "worker")
        says = (*api.says, f"{_counted(options.workers)} here")
        yield Running(
            says, (*jobs, *api.jobs, coordinator.run, partial(_measure_queues, coordinator), keeper.run), keeper.hurry
        )


@asynccontextmanager
async def workers(count: int, place: Workplace, name: str) -> AsyncIterator[Running]:
    """Worker processes of a service elsewhere: ``arbiter worker``."""
    keeper = _keeper(count, place, name)
    yield Running((f"{_counted(count)} for the arbiter at {place.address}",), (keeper.run,), keeper.hurry)


def _counted(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _keeper(count: int, place: Workplace, name: str) -> Keeper:
    patience = Patience(grace=place.drain_seconds + KILL_AFTER)
    return Keeper(worker_commands(count, place, name), patience=patience)


async def _redis(
    stack: AsyncExitStack, options: ServiceOptions
) -> tuple[str, tuple[Callable[[], Awaitable[object]], ...]]:
    """The URL of the Redis that was named, else of one that is started here; and what has to run for it."""
    if options.redis_url is not None:
        return options.redis_url, ()
    redis = await stack.enter_async_context(EmbeddedRedis(stack.enter_context(RunDirectory())))
    return redis.url, (redis.watch,)


def _coordinator(stack: AsyncExitStack, store: Store, options: ServiceOptions) -> tuple[Coordinator, dict[str, Check]]:
    """A coordinator, and what must be well for it to be ready."""
    assert options.redis_url is not None
    sender = CelerySender(options.redis_url, options.queue)
    stack.callback(sender.close)
    table = CageSettings.from_environment().runtimes
    special = [name for name, runtime in table.items() if runtime.special]
    leads = leads_of(store, process_name())
    coordinator = Coordinator(store, sender, leads, enough=Judges(store).enough, runtimes=special)

    def looking() -> str | None:
        late = time.monotonic() - coordinator.looked
        return None if late < LATE else "has not seen all plans for a while"

    return coordinator, {"database": _database_check(store), "redis": _redis_check(sender), "coordinator": looking}


def _database_check(store: Store) -> Check:
    def check() -> str | None:
        try:
            store.ping()
        except StoreError as error:
            return str(error)
        return None

    return check


def _redis_check(sender: CelerySender) -> Check:
    def check() -> str | None:
        try:
            sender.ping()
        except QueueUnreachable as error:
            return str(error)
        return None

    return check


def _led_check(store: Store) -> Check:
    """Whether somebody leads in every running tournament, or did a short while ago."""

    def check() -> str | None:
        since = datetime.now(UTC) - timedelta(seconds=LATE)
        try:
            running = [each for each in store.tournaments() if each.state is TournamentState.RUNNING]
            leads = {each.id: (store.leader(matter_of(each.id)), each.created_at) for each in running}
        except StoreError:
            return None  # which is said of the database
        alone = [each for each, (lead, created) in leads.items() if (lead.expires_at if lead else created) < since]
        return f"nobody leads in {alone[0]}; see that a coordinator runs" if alone else None

    return check


def _serve_metrics(stack: AsyncExitStack, options: ServiceOptions, checks: Mapping[str, Check]) -> None:
    if options.metrics is not None:
        stack.enter_context(Endpoint(options.metrics, checks))


async def _measure_queues(coordinator: Coordinator) -> None:
    """Keep the metrics of queues fresh until cancelled; what can't be reached is said elsewhere."""
    while True:
        await asyncio.sleep(QUEUES_EVERY)
        with contextlib.suppress(QueueUnreachable):
            await asyncio.to_thread(coordinator.measure_queues)


async def _api(stack: AsyncExitStack, store: Store, options: ServiceOptions, started: Callable[[], None]) -> _Api:
    """What callers dial, and workers of other machines; ``started`` is called when there is something to play."""
    assert options.redis_url is not None
    data, settings = options.data, CageSettings.from_environment()
    contents = bots_of(store, data)
    builder = Builder(contents, data / "staging", unsafe=options.unsafe_processes, hidden=(data,))
    cage = choose_cage(options.unsafe_processes, [data], settings)
    validator = Validator(cage, {name: rule_set(name) for name in options.rules})
    quota, calls = options.limits.quota, options.limits.calls
    life = Life(store, contents, builder, validator, settings.runtimes, quota)
    stack.enter_context(service_lock(data))
    client = redis_client(options.redis_url, REDIS_PATIENCE)
    stack.push_async_callback(client.aclose)
    rates = Rates(client)
    desk, tokens = Desk(store), WorkerTokens(store.accounts)
    worker_address = None
    if options.worker_listen is not None:
        for_workers = WorkerServer(
            desk, contents, tokens, options.worker_listen, options.worker_credentials, limits=calls, rates=rates
        )
        worker_address = (await stack.enter_async_context(for_workers)).address
    kept = Registry(store, contents, data / "registry", quota)
    heavy = HeavyWork()
    registry = RegistryServicer(store, kept, life.wake, heavy)
    sweeper = Sweeper(store, contents, kept.uploads, (data / "staging", data / "registry" / "staging"))
    tournaments = TournamentServicer(store, Hosting(store, contents), started, heavy)
    gates = GateServicer(store, GateHosting(store, contents, quota), started, heavy)
    ladders = LadderServicer(store, LadderHosting(store, contents), started, heavy)
    servicers = (registry, tournaments, gates, ladders)
    server = PublicServer(*servicers, store.accounts, options.listen, options.credentials, limits=calls, rates=rates)
    address = (await stack.enter_async_context(server)).address
    await stack.enter_async_context(heavy)  # left before the server is, so that who waits for it is told
    return _Api(address, worker_address, tokens, desk, (life.run, sweeper.run))
