"""What the contract says of fields is what the service does: required ones are missed, all others may be left out."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from google.api import field_behavior_pb2  # type: ignore[import-untyped]  # has no stubs
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from arbiter.service.messages import required_fields
from arbiter.store import Scope
from tests.patience import PATIENCE
from tests.service.test_fuzz import INPUTS, METHODS, SERVICES
from tests.service.test_registry import Service, package, refusal, serving, submit
from tests.tournament.support import ID, create

OPEN = "name = 'open'\n[entry]\nper_owner = 1"
GIVEN = {
    "request_id": "one",
    "bot": "lowest",
    "number": 1,
    "version": 1,
    "size": 10,
    "sha256": "0" * 64,
    "definition": OPEN,
    "tournament": ID,
    "sitting": f"{ID}/0/0",
    "gate": ID,
    "candidate": "lowest@1",
    "baseline": "lowest@1",
}
"""A value for every field that is required somewhere; a version is a number in one call and a name in others."""

NESTED = {"SubmitVersionRequest": "header"}
"""Where the required fields are in a part of the message."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("contract")) as found:
        with found.client() as client:
            submit(client, package())
        create(found.store)
        yield found


def behaviour(field: FieldDescriptor) -> list[str]:
    extension = field_behavior_pb2.field_behavior
    return [field_behavior_pb2.FieldBehavior.Name(number) for number in field.GetOptions().Extensions[extension]]


def messages(root: Descriptor) -> dict[str, Descriptor]:
    """A message and all of the project's that are in it."""
    found = {root.full_name: root}
    for field in root.fields:
        inner = field.message_type
        if inner is not None and inner.full_name.startswith("arbiter.") and inner.full_name not in found:
            found |= messages(inner)
    return found


def test_every_field_says_what_it_is_for() -> None:
    asked = {name: each for method in INPUTS.values() for name, each in messages(method).items()}
    answers = [method.output_type for service in SERVICES for method in service.methods]
    told = {name: each for answer in answers for name, each in messages(answer).items()}
    for message in asked.values():
        for field in message.fields:
            assert behaviour(field) in (["REQUIRED"], ["OPTIONAL"]), field.full_name
    for name in told.keys() - asked.keys() - {answer.full_name for answer in answers}:
        if not told[name].GetOptions().map_entry:
            for field in told[name].fields:
                assert behaviour(field) == ["OUTPUT_ONLY"], field.full_name


def sent(service: Service, method: str, values: dict[str, object], scope: Scope = Scope.HOST) -> grpc.RpcError | None:
    """What a call with these fields is refused with; None when it is answered."""
    kind = INPUTS[method]
    part = NESTED.get(kind.name)
    message = ParseDict({part: values} if part else values, GetMessageClass(kind)())
    with grpc.insecure_channel(service.address) as channel:
        ask: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
        metadata = (("authorization", f"Bearer {service.token('ada', scope)}"),)
        answers = ask(iter([message.SerializeToString()]), metadata=metadata, timeout=PATIENCE)
        try:
            next(answers)
        except grpc.RpcError as error:
            return error
        except StopIteration:
            return None
        answers.cancel()
    return None


def wanted(method: str) -> list[str]:
    kind = INPUTS[method]
    part = NESTED.get(kind.name)
    inner = kind.fields_by_name[part].message_type if part else kind
    assert inner is not None
    return list(required_fields(inner))


def given(method: str, *names: str) -> dict[str, object]:
    values = GIVEN | ({"version": "lowest@1"} if "Ladder" in method else {})
    return {name: values[name] for name in names}


@pytest.mark.parametrize("method", METHODS)
def test_a_required_field_is_missed_by_name(service: Service, method: str) -> None:
    names = wanted(method)
    for missing in names:
        error = sent(service, method, given(method, *(name for name in names if name != missing)))
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        assert refusal(error) == (invalid, "INVALID", f"{missing}: is missing; this call needs it")


OF_THE_HOST = {f"{action}Tournament" for action in ("Create", "Schedule", "Start", "Pause", "Resume", "Cancel")}
OF_CONTESTANTS = {
    *("GetUpload", "SubmitVersion", "RetireVersion", "GetVersionLog", "GetBuildLog", "GetSittingLogs"),
    *("EnterTournament", "WithdrawFromTournament", "CreateGate", "CancelGate", "EnterLadder", "LeaveLadder"),
}
"""All else is for spectators, who change nothing and see what is everybody's."""


@pytest.mark.parametrize("method", METHODS)
def test_a_call_is_refused_to_every_scope_that_is_not_enough_for_it(service: Service, method: str) -> None:
    call = method.rpartition("/")[2]
    needed = Scope.HOST if call in OF_THE_HOST else Scope.CONTESTANT if call in OF_CONTESTANTS else Scope.SPECTATOR
    enough = [Scope.HOST, Scope.CONTESTANT, Scope.SPECTATOR]
    for scope in set(Scope).difference(enough[: enough.index(needed) + 1]):
        code, reason, message = refusal(sent(service, method, given(method, *wanted(method)), scope))
        assert (code, reason) == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN"), scope
        assert message.startswith(f"this needs a token with scope {needed.value}; token "), scope


def test_every_call_of_a_scope_is_one() -> None:
    assert {method.rpartition("/")[2] for method in METHODS} > OF_THE_HOST | OF_CONTESTANTS


@pytest.mark.parametrize("method", METHODS)
def test_all_else_may_be_left_out(service: Service, method: str) -> None:
    error = sent(service, method, given(method, *wanted(method)))
    if error is None:
        return
    code, _, message = refusal(error)
    kind = INPUTS[method]
    assert not [field.name for field in kind.fields if message.startswith(f"{field.name}:")], message
    call = method.rpartition("/")[2]
    if call == "SubmitVersion":
        assert message == "0 of 10 bytes came; go on with the same request id"
    else:
        assert code is not grpc.StatusCode.INVALID_ARGUMENT, message
