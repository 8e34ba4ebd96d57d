"""The parts of ``arbiter serve`` put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from arbiter.cage import CageSettings
from arbiter.cli.hosted import Hosted
from arbiter.cli.local import LocalOptions
from arbiter.engine import rule_set
from arbiter.packages import Builder, FileVersions
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.validation import Validator
from arbiter.service.public import PublicServer
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Store
from arbiter.tournament.hosting import Hosting


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
    contents = FileVersions(data / "bots")
    builder = Builder(contents, data / "staging", unsafe=options.unsafe_processes, hidden=(data,))
    validator = Validator(options.cage, {name: rule_set(name) for name in rules})
    life = Life(store, contents, builder, validator, CageSettings.from_environment().runtimes)
    hosted = Hosted(store, options)
    registry = RegistryServicer(store.accounts, store.versions, Registry(store, contents, data / "registry"), life.wake)
    tournaments = TournamentServicer(store, Hosting(store, contents), hosted.wake)
    async with PublicServer(registry, tournaments, listen, credentials) as server:
        yield Service(server.address, (life.run, hosted.run))
