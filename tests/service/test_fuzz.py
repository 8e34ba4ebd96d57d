"""The public surface under messages that nobody should send: refused, never a crash, and no memory that stays."""

from __future__ import annotations

import gc
import logging
import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbiter.api.gate.v1 import gate_pb2
from arbiter.api.ladder.v1 import ladder_pb2
from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2
from arbiter.service.limits import CallLimits
from arbiter.service.public import REGISTRY_SERVICE
from arbiter.store import Scope
from tests.patience import PATIENCE
from tests.service.test_registry import Service, package, serving, submit

SERVICES = (
    pb.DESCRIPTOR.services_by_name["RegistryService"],
    tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"],
    gate_pb2.DESCRIPTOR.services_by_name["GateService"],
    ladder_pb2.DESCRIPTOR.services_by_name["LadderService"],
)
METHODS = [f"/{found.full_name}/{method.name}" for found in SERVICES for method in found.methods]
INPUTS = {f"/{found.full_name}/{method.name}": method.input_type for found in SERVICES for method in found.methods}
HONEST = [
    pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=10, sha256="0" * 64)),
    pb.SubmitVersionRequest(chunk=b"0123456789"),
]
FORESEEN = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.ALREADY_EXISTS,
}
METHOD = f"/{REGISTRY_SERVICE}/SubmitVersion"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("fuzz")) as found:
        yield found


OUTCOMES = FORESEEN | {grpc.StatusCode.OK}


def call(service: Service, method: str, messages: Iterable[bytes], scope: Scope = Scope.CONTESTANT) -> grpc.StatusCode:
    """Send raw bytes; the code of the answer. What is there to be followed is followed no further than to its first."""
    with grpc.insecure_channel(service.address) as channel:
        ask: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
        metadata = (("authorization", f"Bearer {service.token('mallory', scope)}"),)
        answers = ask(iter(messages), metadata=metadata, timeout=PATIENCE)
        try:
            for _ in answers:
                if "/Watch" in method:
                    break
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


@pytest.fixture(autouse=True)
def alive(service: Service, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """After each test the service still does what it should. gRPC itself logs what it could not read."""
    caplog.set_level(logging.CRITICAL, logger="grpc._cython.cygrpc")
    yield
    with service.client() as client:
        assert submit(client, package()).number == 1


QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(st.sampled_from(METHODS), st.lists(st.binary(max_size=300), min_size=1, max_size=4))
def test_random_bytes_are_refused(service: Service, method: str, messages: list[bytes]) -> None:
    assert call(service, method, messages) in OUTCOMES


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on each kind of database in turn: they differ in what they take."""
    database = request.getfixturevalue("postgres").new() if request.param == "postgres" else None
    with serving(tmp_path_factory.mktemp("odd"), database=database) as found:
        yield found


@QUICK
@given(st.sampled_from(METHODS), st.data())
def test_messages_with_odd_values_are_refused(either: Service, method: str, data: st.DataObject) -> None:
    """Well-formed, with whatever a field can hold; as a host, who may do everything."""
    message = filled(INPUTS[method], data)
    code = call(either, method, [message.SerializeToString()], scope=Scope.HOST)
    assert code in OUTCOMES


ODD = st.sampled_from(
    ["", "lowest", "lowest@1", "a/0/0", "../..", "\0", "%s", "x" * 70, "0" * 64, "name = 'a'", "ł", "-1"]
)
NUMBERS = st.sampled_from([0, 1, 2, 1000, 2**31 - 1, 2**31, 2**32 - 1])

VALUES = {
    FieldDescriptor.TYPE_STRING: ODD,
    FieldDescriptor.TYPE_UINT32: NUMBERS,
    FieldDescriptor.TYPE_UINT64: NUMBERS,
    FieldDescriptor.TYPE_INT32: st.sampled_from([0, -1, 2**31 - 1, -(2**31)]),
    FieldDescriptor.TYPE_INT64: st.sampled_from([0, 7, -1, 2**63 - 1, -(2**63)]),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_ENUM: st.sampled_from([0, 1, 99]),
    FieldDescriptor.TYPE_DOUBLE: st.sampled_from([0.0, 0.05, -1.0, 1e300, float("nan"), float("inf")]),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=9),
}


def filled(kind: Descriptor, data: st.DataObject) -> Message:
    """A message of this kind with values that nobody should send."""
    message = GetMessageClass(kind)()
    for field in kind.fields:
        held = getattr(message, field.name)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            assert field.message_type is not None
            inner = filled(field.message_type, data)
            if hasattr(held, "CopyFrom"):
                held.CopyFrom(inner)
            else:
                held.append(inner)
            continue
        value = data.draw(VALUES[field.type])
        if hasattr(held, "append"):
            held.append(value)
        else:
            setattr(message, field.name, value)
    return message


@QUICK
@given(st.randoms(use_true_random=False))
def test_mutated_messages_are_refused(service: Service, chance: random.Random) -> None:
    messages = [bytearray(message.SerializeToString()) for message in HONEST * chance.randint(1, 3)]
    for message in messages:
        for _ in range(chance.randint(0, 4)):
            at = chance.randrange(len(message))
            if chance.random() < 0.5:
                message[at] = chance.randrange(256)
            else:
                del message[at:]
                message += bytes(chance.randrange(256) for _ in range(chance.randint(1, 9)))
    chance.shuffle(messages)
    assert call(service, METHOD, [bytes(message) for message in messages]) in FORESEEN


@pytest.mark.parametrize(
    "call_", ["Registry/GetVersion", "Registry/SubmitVersion", "Ladder/ListUpcoming", "Gate/GetGate"]
)
def test_a_refusal_keeps_nothing_of_a_large_message(service: Service, call_: str) -> None:
    """Not even up to the next collection of garbage, which the interpreter does by the number of objects, whatever
    their size, and so perhaps not for hours."""
    part, _, name = call_.partition("/")
    (method,) = (each for each in METHODS if each.endswith(f".{part}Service/{name}"))
    size = CallLimits().message_bytes - 1000

    def messages(*, readable: bool) -> Iterator[bytes]:
        """Not held by any frame of the caller's, which is in this process too."""
        text = pb.GetUploadRequest(request_id="x" * size)
        yield text.SerializeToString() if readable else random.Random(1).randbytes(size)

    for readable in (True, False):
        call(service, method, messages(readable=readable))
        gc.collect()
        gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            assert call(service, method, messages(readable=readable)) in FORESEEN
            gc.collect()
            held = [
                type(each).__name__
                for each in gc.garbage
                for value in (each, *gc.get_referents(each))
                if (isinstance(value, bytes | str) and len(value) > size / 2)
                or (isinstance(value, Message) and value.ByteSize() > size / 2)
            ]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        assert held == []


@pytest.mark.parametrize("method", METHODS)
def test_a_huge_message_is_refused_before_it_is_read(service: Service, method: str) -> None:
    huge = bytes(CallLimits().message_bytes + 1)
    assert call(service, method, [huge]) is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_thousand_refusals_keep_no_file(service: Service) -> None:
    token = service.token("mallory")
    with grpc.insecure_channel(service.address) as channel:
        ask: grpc.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(METHOD)
        for number in range(1000):
            header = pb.UploadHeader(request_id=f"r{number}", size=number % 3, sha256="0" * 64)
            message = pb.SubmitVersionRequest(header=header).SerializeToString()
            with pytest.raises(grpc.RpcError) as caught:
                ask(iter([message]), metadata=(("authorization", f"Bearer {token}"),))
            assert caught.value.code() in FORESEEN
    assert not list(Path(service.folder, "registry/uploads").rglob("r*"))


def test_callers_that_hang_up_leave_nothing_behind(service: Service) -> None:
    """Each begins an upload and is gone; the next one of the same id must not find it locked."""
    token = service.token("carol")
    over = threading.Event()

    def endless() -> Iterator[bytes]:
        """A header, and then nothing."""
        header = pb.UploadHeader(request_id="one", size=1 << 20, sha256="0" * 64)
        yield pb.SubmitVersionRequest(header=header).SerializeToString()
        over.wait(PATIENCE)

    for _ in range(20):
        with grpc.insecure_channel(service.address) as channel:
            ask: grpc.StreamUnaryMultiCallable[bytes, bytes] = channel.stream_unary(METHOD)
            started = ask.future(endless(), metadata=(("authorization", f"Bearer {token}"),))
            started.cancel()
    data = package("uniform")
    with service.client(token) as client:
        assert client.submit(data, request_id="one").number == 1
    over.set()
