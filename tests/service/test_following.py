"""Commands that follow something for longer than a connection lasts, and longer than a service does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.cli import dialling
from arbiter.errors import InfrastructureError, UsageError
from arbiter.service.calls import Context
from arbiter.service.limits import CallLimits
from arbiter.service.registry_service import RegistryServicer
from tests.service.test_registry import Service, package, serving, submit


class Calls:
    """Counts calls of WatchVersion, and does something when there have been so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
        self.count = 0
        self.service: Service | None = None
        watch = RegistryServicer.WatchVersion

        async def counted(
            servicer: RegistryServicer, request: pb.WatchVersionRequest, context: Context
        ) -> AsyncIterator[pb.WatchVersionResponse]:
            self.count += 1
            if self.count == many:
                assert self.service is not None
                assert self.service.life is not None
                asyncio.create_task(self.service.life.advance(self.service.store.versions.unfinished()[0]))  # noqa: RUF006  # what it does is waited for
            async for response in watch(servicer, request, context):
                yield response

        monkeypatch.setattr(RegistryServicer, "WatchVersion", counted)


def test_one_that_outlives_its_connections_goes_on_and_tells_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = Calls(monkeypatch, 4)
    limits = CallLimits(connection_age=0.5, connection_grace=0.1)
    with serving(tmp_path, limits=limits, tcp=True) as service:
        calls.service = service
        with service.client() as client:
            submit(client, package())
        with service.client() as client:
            states = [version.state for version in client.watch("lowest", 1)]
    assert calls.count >= 4
    order = [pb.VERSION_STATE_RECEIVED, pb.VERSION_STATE_BUILDING, pb.VERSION_STATE_VALIDATING, pb.VERSION_STATE_ACTIVE]
    assert states == sorted(set(states), key=order.index)
    assert (states[0], states[-1]) == (order[0], order[-1])
    assert capsys.readouterr().err == "", "a connection that is renewed is no news"


def test_a_service_that_is_away_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        with serving(tmp_path) as service:
            client = stack.enter_context(service.client())
            submit(client, package())
            seen = client.watch("lowest", 1)
            assert next(seen).state == pb.VERSION_STATE_RECEIVED
            token = service.token()
        with serving(tmp_path) as service:  # and back
            assert service.life is not None
            service.do(service.life.advance(service.store.versions.unfinished()[0]))
            assert [version.state for version in seen] == [pb.VERSION_STATE_ACTIVE]
            submit(client, package(extra=b"x"), "two")
            seen = client.watch("lowest", 2)
            assert next(seen).state == pb.VERSION_STATE_RECEIVED
        # So much time passes between two tries that it is told of at the third and given up at the fourth, however slow
        # the machine is.
        ticks = itertools.count(1)
        monkeypatch.setattr(dialling, "time", SimpleNamespace(monotonic=lambda: 0.4 * dialling.AWAY * next(ticks)))
        with pytest.raises(InfrastructureError, match="can't be reached"):
            next(seen)
        assert capsys.readouterr().err == f"{service.address} is away; waiting for it\n"
        with service.client(token) as another, pytest.raises(InfrastructureError, match="can't be reached"):
            next(another.watch("lowest", 2))
        assert capsys.readouterr().err == "", "one that was never there is not waited for"


def test_a_refusal_is_no_absence(tmp_path: Path) -> None:
    with (
        serving(tmp_path) as service,
        service.client() as client,
        pytest.raises(UsageError, match="there is no version lowest@1"),
    ):
        next(client.watch("lowest", 1))
