"""What a host allows, from a file; and what is written of it."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import pytest

import arbiter
from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2_grpc
from arbiter.service.calls import REASONS
from arbiter.service.host_limits import HostLimits, LimitsError
from arbiter.service.limits import CallLimits, Kind, Rate, Share
from arbiter.store import Quota
from tests.service.test_registry import serving

SERVICE_DOCS = Path(arbiter.__file__).parent.parent / "docs" / "service.md"


def read(folder: Path, text: str) -> HostLimits:
    file = folder / "limits.toml"
    file.write_text(text)
    return HostLimits.from_file(file)


def test_without_a_file_all_is_as_it_is_written_in_the_docs(tmp_path: Path) -> None:
    (written,) = re.findall(r"```toml\n(\[quota\].+?)```", SERVICE_DOCS.read_text(), re.DOTALL)
    assert HostLimits.from_file(None) == HostLimits() == read(tmp_path, written) == read(tmp_path, "")
    keys = set(re.findall(r"^(\w+) =", written, re.MULTILINE))
    named = {kind.name.lower() for kind in Kind} | set(Quota.__slots__) | set(CallLimits.__slots__)
    assert keys == named - {"shares"}, "and it names them all"


def test_every_key_can_be_set(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        quota.gates_per_day = 7
        [calls]
        message_bytes = 2_000_000
        slowest = 1
        per_token.calls = 5
        failures = { calls = 2, seconds = 1.5 }
        shares.call = { total = 9 }
        """,
    )
    assert found.quota == Quota(gates_per_day=7)
    shares = {**CallLimits().shares, Kind.CALL: Share(9, 32)}
    limits = CallLimits(shares, 2_000_000, Rate(5), failures=Rate(2, 1.5), slowest=1.0)
    assert found.calls == limits
    assert isinstance(found.calls.slowest, float)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bot = 1", "unknown key 'bot'; known: quota, calls"),
        ("[quota]\nbot = 1", r"unknown key 'quota\.bot' \(did you mean 'bots'\?\); known: submissions_per_day, "),
        ("[calls.shares]\nall = {}", r"unknown key 'calls\.shares\.all'.*; known: anonymous_call, "),
        ("[calls.shares.call]\nany = 1", r"unknown key 'calls\.shares\.call\.any'.*; known: total, each"),
        ("quota = 1", r"quota must be a table, written \[quota\]"),
        ("[calls]\nper_token = 600", r"calls\.per_token must be a table, written \[calls\.per_token\]"),
        ("[quota]\nbots = 1.5", r"quota\.bots must be a whole number, not 1\.5"),
        ("[quota]\nbots = true", r"quota\.bots must be a whole number, not True"),
        ("[quota]\nbots = 0", r"quota\.bots is 0; write a number above 0 and up to 9007199254740992"),
        ("[calls]\nslowest = nan", r"calls\.slowest must be a number, not nan"),
        ("[calls]\nslowest = 1e300", r"calls\.slowest is 1e\+300; write a number above 0"),
        ("[calls]\nmessage_bytes = 1000", r"calls\.message_bytes: is 1000; write 327680 to 2147483647"),
        ("[calls.per_token]\ncalls = 100_000_000", r"calls\.per_token\.calls: are 100000000 within 60 s; 100000 a sec"),
        ("[quota", "not valid TOML"),
    ],
)
def test_what_is_no_limit_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(LimitsError, match=rf"^{re.escape(str(tmp_path))}/limits\.toml: {said}"):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LimitsError, match=r"gone\.toml: can't be read"):
        HostLimits.from_file(tmp_path / "gone.toml")


def test_the_size_of_messages_is_the_hosts(tmp_path: Path) -> None:
    limits = CallLimits(message_bytes=400_000)
    with serving(tmp_path, limits=limits) as service, grpc.insecure_channel(service.address) as channel:
        stub = registry_pb2_grpc.RegistryServiceStub(channel)
        metadata = (("authorization", f"Bearer {service.token()}"),)
        for size, code in ((390_000, grpc.StatusCode.NOT_FOUND), (400_001, grpc.StatusCode.RESOURCE_EXHAUSTED)):
            with pytest.raises(grpc.RpcError) as caught:
                stub.GetVersion(pb.GetVersionRequest(bot="x" * size), metadata=metadata)
            assert caught.value.code() is code


def test_the_docs_name_every_reason_with_its_code() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \| `([A-Z_]+)` \|", SERVICE_DOCS.read_text(), re.MULTILINE)
    written = {reason: code for reasons, code in rows for reason in re.findall(r"[A-Z_]+", reasons)}
    assert written == {reason: code.name for reason, code in REASONS.items()}
