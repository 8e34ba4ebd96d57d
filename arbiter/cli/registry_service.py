"""The registry's parts put together, for ``arbiter serve`` and for commands that use the data folder itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc

from arbiter.cage import CageSettings, choose_cage
from arbiter.engine import rule_set
from arbiter.packages import Builder, FileVersions
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.validation import Validator
from arbiter.service.public import PublicServer
from arbiter.service.registry_service import RegistryServicer
from arbiter.store import Store


@asynccontextmanager
async def registry_server(
    store: Store,
    data: Path,
    listen: str,
    credentials: grpc.ServerCredentials | None,
    rules: Sequence[str],
    unsafe_processes: bool,
) -> AsyncIterator[tuple[PublicServer, Life]]:
    """A public server that is entered, and the life of versions, which is for the caller to run.

    Args:
        store: where versions are recorded.
        data: the data folder; bots and what is on its way in are below it.
        listen: where to serve.
        credentials: for TLS; None for plain text.
        rules: names of the rule sets in which new versions are tried out.
        unsafe_processes: build and try out without a cage.
    """
    contents = FileVersions(data / "bots")
    builder = Builder(contents, data / "staging", unsafe=unsafe_processes, hidden=(data,))
    settings = CageSettings.from_environment()
    cage = choose_cage(unsafe_processes, hidden=(data,), settings=settings)
    validator = Validator(cage, {name: rule_set(name) for name in rules})
    life = Life(store, contents, builder, validator, settings.runtimes)
    registry = Registry(store, contents, data / "registry")
    servicer = RegistryServicer(store.accounts, store.versions, registry, life.wake)
    async with PublicServer(servicer, listen, credentials) as server:
        yield server, life
