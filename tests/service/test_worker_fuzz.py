"""The workers' surface under messages that no worker should send: refused by name, whoever's fault they are."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import grpc
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.identity import issue_token
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens
from arbiter.store import Scope, Store
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import Desk
from tests.patience import PATIENCE
from tests.service.loops import LoopThread
from tests.service.test_fuzz import filled
from tests.tournament.support import ID, create, spec_of

SERVICE = pb.DESCRIPTOR.services_by_name["WorkerService"]
INPUTS = {f"/{SERVICE.full_name}/{method.name}": method.input_type for method in SERVICE.methods}
METHODS = sorted(INPUTS)
FORESEEN = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
}
QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Workers:
    """A server on an event loop in a thread of its own, and one worker's calls."""

    def __init__(self, channel: grpc.Channel, token: str) -> None:
        self._channel = channel
        self._metadata = (("authorization", f"Bearer {token}"),)

    def call(self, method: str, message: bytes) -> grpc.StatusCode:
        ask: grpc.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(method)
        try:
            list(ask(iter([message]), metadata=self._metadata, timeout=PATIENCE))
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """On each kind of database in turn: they differ in what they take."""
    place = tmp_path_factory.mktemp("workers")
    database = request.getfixturevalue("postgres").new() if request.param == "postgres" else place / "arbiter.db"
    with ExitStack() as stack:
        folder = stack.enter_context(RunDirectory())
        store = stack.enter_context(Store.open(database))
        create(store, spec_of(boards=1))
        thread = LoopThread()
        stack.callback(thread.close)

        async def start() -> WorkerServer:
            tokens, bots = WorkerTokens(store.accounts), FileVersions(place / "bots")
            return await WorkerServer(Desk(store), bots, tokens, f"unix:{folder}/arbiter.sock").__aenter__()

        server = thread.do(start())
        stack.callback(lambda: thread.do(server.__aexit__(None, None, None)))
        token = issue_token(store.accounts, "far", Scope.WORKER, datetime.now(UTC))[1]
        yield Workers(stack.enter_context(grpc.insecure_channel(server.address)), token)


@pytest.fixture(autouse=True)
def alive(workers: Workers, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """After each test the service still leases. gRPC itself logs what it could not read."""
    caplog.set_level(logging.CRITICAL, logger="grpc._cython.cygrpc")
    yield
    lease = pb.LeaseSittingRequest(sitting=f"{ID}/0/1", worker="w1")  # of which no other message here is
    method = f"/{SERVICE.full_name}/LeaseSitting"
    assert workers.call(method, lease.SerializeToString()) is grpc.StatusCode.OK


@QUICK
@given(st.sampled_from(METHODS), st.data())
def test_messages_with_odd_values_are_refused(workers: Workers, method: str, data: st.DataObject) -> None:
    """Of sittings that there are, and of others."""
    message = filled(INPUTS[method], data)
    for name in ("sitting", "digest"):
        if name in INPUTS[method].fields_by_name and data.draw(st.booleans()):
            setattr(message, name, f"{ID}/0/0")
    assert workers.call(method, message.SerializeToString()) in FORESEEN


@QUICK
@given(st.sampled_from(METHODS), st.binary(max_size=300))
def test_random_bytes_are_refused(workers: Workers, method: str, message: bytes) -> None:
    """By gRPC itself where they are no message."""
    try:
        GetMessageClass(INPUTS[method]).FromString(message)
    except DecodeError:
        assert workers.call(method, message) in (grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL)
    else:
        assert workers.call(method, message) in FORESEEN
