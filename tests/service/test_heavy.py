"""Work that takes long: it holds up neither light calls nor others' work, whoever asks for how much of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from typing import BinaryIO

import grpc
import pytest

from arbiter.api.registry.v1 import registry_pb2, registry_pb2_grpc
from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2_grpc
from arbiter.service import public, tournament_service
from arbiter.service.calls import calling
from arbiter.service.heavy import THREADS, HeavyWork, ServiceStops
from arbiter.store import Scope, Store, Token
from tests.patience import PATIENCE
from tests.service.test_registry import Service, refusal, serving
from tests.service.test_registry import service as service  # a fixture
from tests.store.support import START, create

CUP = "demo-1a2b"


class Exports:
    """Exports that write nothing before they are let go on; the names of tournaments whose are begun."""

    def __init__(self) -> None:
        self.begun: Queue[str] = Queue()
        self.go_on = threading.Event()

    def write(self, store: Store, tournament: str, sink: BinaryIO) -> None:
        self.begun.put(tournament)
        assert self.go_on.wait(PATIENCE)
        sink.write(tournament.encode())


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> Iterator[Exports]:
    found = Exports()
    monkeypatch.setattr(tournament_service, "write_export", found.write)
    yield found
    found.go_on.set()


class Caller:
    def __init__(self, service: Service, owner: str, stack: ExitStack) -> None:
        channel = stack.enter_context(grpc.insecure_channel(service.address))
        self.stub = tournament_pb2_grpc.TournamentServiceStub(channel)
        self.registry = registry_pb2_grpc.RegistryServiceStub(channel)
        self.metadata = (("authorization", f"Bearer {service.token(owner)}"),)

    def export(self, tournament: str) -> Iterator[pb.ExportTournamentResponse]:
        return self.stub.ExportTournament(pb.ExportTournamentRequest(tournament=tournament), metadata=self.metadata)

    def look(self) -> bool:
        """A light call; whether it was answered."""
        bots = self.registry.ListBots(registry_pb2.ListBotsRequest(), metadata=self.metadata, timeout=PATIENCE)
        return len(bots.bots) == 0


@pytest.fixture
def calls(service: Service) -> Iterator[ExitStack]:
    create(service.store, CUP)
    for number in range(THREADS + 2):
        create(service.store, f"cup-{number}")
    with ExitStack() as stack:
        yield stack


def test_a_light_call_is_answered_while_all_threads_are_busy(
    service: Service, calls: ExitStack, exports: Exports
) -> None:
    busy = [Caller(service, f"owner{number}", calls).export(f"cup-{number}") for number in range(THREADS + 2)]
    begun = {exports.begun.get(timeout=PATIENCE) for _ in range(THREADS)}
    assert len(begun) == THREADS
    for owner in ("owner1", "other"):
        assert Caller(service, owner, calls).look()
    assert exports.begun.empty(), "no more at once than there are threads"
    exports.go_on.set()
    assert [next(iter(each)).chunk for each in busy] == [b"cup-%d" % number for number in range(THREADS + 2)]


def test_nobody_waits_for_all_that_another_asks_for(service: Service, calls: ExitStack, exports: Exports) -> None:
    ada, bob = (Caller(service, owner, calls) for owner in ("ada", "bob"))
    greedy = [ada.export(f"cup-{number}") for number in range(THREADS + 2)]
    first = exports.begun.get(timeout=PATIENCE)
    theirs = bob.export(CUP)
    assert exports.begun.get(timeout=PATIENCE) == CUP
    assert ada.look()
    assert exports.begun.empty(), "one of an owner at a time"
    exports.go_on.set()
    assert next(iter(theirs)).chunk == CUP.encode()
    assert {next(iter(each)).chunk for each in greedy} == {b"cup-%d" % number for number in range(THREADS + 2)}
    assert first.startswith("cup-")


def test_who_hangs_up_does_not_get_a_second_thread(service: Service, calls: ExitStack, exports: Exports) -> None:
    """What was begun goes on, for a thread can't be stopped: asking and hanging up must not fill them all."""
    ada = Caller(service, "ada", calls)
    for number in range(THREADS):
        call = ada.export(f"cup-{number}")
        if number == 0:
            assert exports.begun.get(timeout=PATIENCE) == "cup-0"
        call.cancel()  # type: ignore[attr-defined]  # it is the call itself
        assert ada.look()
    last = ada.export(CUP)
    assert ada.look()
    assert exports.begun.empty()
    exports.go_on.set()
    assert next(iter(last)).chunk == CUP.encode()


def test_a_service_that_stops_waits_for_nothing_that_takes_long(
    tmp_path: Path, exports: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for it is told so."""
    monkeypatch.setattr(public, "STOP_GRACE", PATIENCE)  # in which they are told, however slow the machine
    with ExitStack() as calls:
        with serving(tmp_path) as service:
            create(service.store, CUP)
            ada = Caller(service, "ada", calls)
            waiting = [ada.export(CUP), ada.export(CUP)]
            assert exports.begun.get(timeout=PATIENCE) == CUP
            assert ada.look(), "both were taken before this, which came after them"
        for each in waiting:
            with pytest.raises(grpc.RpcError) as caught:
                next(iter(each))
            assert refusal(caught.value) == (
                grpc.StatusCode.UNAVAILABLE,
                "INFRASTRUCTURE",
                "the service stops; try again when it is back",
            )
    assert exports.begun.empty()


def test_what_ends_within_the_grace_is_done_and_nothing_else_is_begun() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert go_on.wait(PATIENCE)
        return "done"

    async def run() -> None:
        heavy = HeavyWork(grace=PATIENCE)
        with calling(Token("a" * 12, "ada", Scope.CONTESTANT, "0" * 64, START, START)):
            first = asyncio.create_task(heavy.run(work))
            second = asyncio.create_task(heavy.run(work))
            assert await asyncio.to_thread(begun.wait, PATIENCE)
            leaving = asyncio.create_task(heavy.__aexit__())
            await asyncio.sleep(0)
            go_on.set()
            assert await first == "done"
            await leaving
            for late in (second, asyncio.create_task(heavy.run(work))):
                with pytest.raises(ServiceStops):
                    await late

    asyncio.run(run())
