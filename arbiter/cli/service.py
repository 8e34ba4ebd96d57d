"""The parts of ``arbiter serve`` put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

import grpc

from arbiter.cage import CageSettings
from arbiter.cli.hosted import Hosted
from arbiter.cli.local import LocalOptions, versions_lock
from arbiter.engine import rule_set
from arbiter.packages import Builder
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.sweeping import Sweeper
from arbiter.registry.validation import Validator
from arbiter.service.gate_service import GateServicer
from arbiter.service.public import PublicServer
from arbiter.service.rates import Rates
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Store
from arbiter.supervisor.redis import EmbeddedRedis, redis_client
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament.gate_hosting import GateHosting
from arbiter.tournament.hosting import Hosting

REDIS_PATIENCE: Final = 0.5
"""Seconds that a call waits for Redis, which counts it, before it goes on uncounted."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers calls."""

    address: str
    jobs: tuple[Callable[[], Awaitable[None]], ...]
    """What has to run meanwhile, each until it is cancelled."""


@asynccontextmanager
async def public_service(
    store: Store,
    listen: str,
    credentials: grpc.ServerCredentials | None,
    rules: Sequence[str],
    options: LocalOptions,
) -> AsyncIterator[Service]:
    """A service that answers while it is entered.

    Args:
        store: plans, results, tokens and versions.
        listen: where to serve.
        credentials: for TLS; None for plain text.
        rules: names of the rule sets in which new versions are tried out.
        options: how tournaments are run; below its data folder are the bots and what is on its way in.
    """
    data = options.data
    contents = options.bots
    builder = Builder(contents, data / "staging", unsafe=options.unsafe_processes, hidden=(data,))
    validator = Validator(options.cage, {name: rule_set(name) for name in rules})
    life = Life(store, contents, builder, validator, CageSettings.from_environment().runtimes)
    kept = Registry(store, contents, data / "registry")
    registry = RegistryServicer(store, kept, life.wake)
    sweeper = Sweeper(store, contents, kept.uploads, (data / "staging", data / "registry" / "staging"))
    jobs: list[Callable[[], Awaitable[None]]] = [life.run, sweeper.run]
    async with AsyncExitStack() as stack:
        stack.enter_context(versions_lock(data))
        if options.redis_url is None:
            redis = await stack.enter_async_context(EmbeddedRedis(stack.enter_context(RunDirectory())))
            options = replace(options, redis_url=redis.url)
            jobs.append(redis.watch)
        assert options.redis_url is not None
        client = redis_client(options.redis_url, REDIS_PATIENCE)
        stack.push_async_callback(client.aclose)
        hosted = Hosted(store, options)
        jobs.append(hosted.run)
        tournaments = TournamentServicer(store, Hosting(store, contents), hosted.wake)
        gates = GateServicer(store, GateHosting(store, contents), hosted.wake)
        server = PublicServer(registry, tournaments, gates, store.accounts, listen, credentials, rates=Rates(client))
        yield Service((await stack.enter_async_context(server)).address, tuple(jobs))
