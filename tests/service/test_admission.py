"""Callers that want more than their share, over real sockets: they are stopped, by name, and nobody else notices."""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # has no stubs
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2_grpc
from arbiter.cli.registry_client import CHUNK
from arbiter.errors import UsageError
from arbiter.identity import DEFAULT_LIFETIME, authenticate
from arbiter.service import admission, lookups
from arbiter.service.limits import CallLimits, Kind, Rate, RateLimited, Share, Silent, Slots, TooManyCalls, address_of
from arbiter.service.public import REGISTRY_SERVICE
from arbiter.service.rates import Rates
from arbiter.store import Accounts, Token
from tests.patience import PATIENCE
from tests.service.redis_process import counting, redis_server
from tests.service.relay import calling_from
from tests.service.test_following import Calls
from tests.service.test_registry import Service, package, refusal, serving, status_of, submit

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
WATCH_HEALTH = "/grpc.health.v1.Health/Watch"


def retry_after(error: grpc.RpcError) -> float:
    """Seconds after which a refusal says that one may call again."""
    retry = error_details_pb2.RetryInfo()
    assert status_of(error).details[1].Unpack(retry)
    return float(retry.retry_delay.ToNanoseconds() / 1e9)


def first_of(call: Iterator[bytes]) -> grpc.RpcError | None:
    """What a call is refused with; None when it is answered."""
    try:
        next(call)
    except grpc.RpcError as error:
        return error
    return None


def says_serving(channel: grpc.Channel) -> bool:
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    return check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING


def hold(channel: grpc.Channel, method: str, first: bytes, metadata: Any = ()) -> Iterator[bytes]:
    """Open a stream, send one message, and keep it."""
    ask: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
    over = threading.Event()

    def forever() -> Iterator[bytes]:
        yield first
        over.wait(PATIENCE)

    call: Any = ask(forever(), metadata=metadata)
    if not call.add_callback(over.set):  # it is over already
        over.set()
    return cast("Iterator[bytes]", call)


LIST_SERVICES = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
HEALTH = health_pb2.HealthCheckRequest().SerializeToString()


@contextmanager
def stopping(calls: list[Any]) -> Iterator[None]:
    try:
        yield
    finally:
        for call in calls:
            call.cancel()


@pytest.mark.parametrize(("method", "first"), [(WATCH_HEALTH, HEALTH), (REFLECTION, LIST_SERVICES)])
def test_streams_without_a_token_shut_nobody_out(tmp_path: Path, method: str, first: bytes) -> None:
    """Three hundred from one address, over as many connections as that takes."""
    limits = CallLimits(read_silence=PATIENCE)
    share = limits.shares[Kind.ANONYMOUS_STREAM]
    calls: list[Any] = []
    with serving(tmp_path, limits=limits, tcp=True) as service, ExitStack() as stack, stopping(calls):
        refused = 0
        for number in range(300):
            if number % 50 == 0:
                options = [("grpc.use_local_subchannel_pool", 1)]
                channel = stack.enter_context(grpc.insecure_channel(service.address, options))
            call = hold(channel, method, first)
            error = first_of(call)
            if error is None:
                calls.append(call)
                continue
            refused += 1
            assert refusal(error) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "TOO_MANY_CALLS",
                "8 streams without a token of yours are under way, which is all that is allowed",
            )
            assert retry_after(error) == 1.0
        assert (len(calls), refused) == (share.each, 300 - share.each)
        with service.client() as client:
            assert submit(client, package()).number == 1
            assert next(client.watch("lowest", 1)).number == 1
        assert says_serving(channel)
        with calling_from("127.0.0.2", service.address) as address, grpc.insecure_channel(address) as elsewhere:
            other = hold(elsewhere, method, first)
            assert next(other)
            calls.append(other)
            calls.pop(0).cancel()
            again = until_let_in(lambda: hold(channel, method, first))
            calls.append(again)


def until_let_in(begin: Callable[[], Any]) -> Any:
    """A call that is let in once the room of one that ended is free, which is soon."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        call = begin()
        error = first_of(call)
        if error is None:
            return call
        assert refusal(error)[1] == "TOO_MANY_CALLS"
        time.sleep(0.01)
    raise AssertionError("the room of a call that was cancelled did not come free")


def until(condition: Callable[[], bool]) -> None:
    """Look again and again whether something has come true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


def test_calls_that_never_say_what_they_want_shut_nobody_out(tmp_path: Path) -> None:
    """Opened with a good token, and then nothing: gRPC itself would wait for their message for ever."""
    limits = CallLimits(shares={**CallLimits().shares, Kind.CALL: Share(64, 4)})
    with serving(tmp_path, limits=limits, tcp=True) as service, grpc.insecure_channel(service.address) as channel:
        metadata = (("authorization", f"Bearer {service.token('mallory')}"),)
        ask: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{REGISTRY_SERVICE}/ListBots")
        ended = threading.Event()

        def nothing() -> Iterator[bytes]:
            ended.wait(PATIENCE)
            yield from ()

        calls: list[Any] = [ask(nothing(), metadata=metadata) for _ in range(40)]
        with service.client() as client:
            assert list(client.versions()) == []
        until(lambda: sum(call.is_active() for call in calls) <= 4)
        service.thread.pass_time(31.0, lambda: not any(call.is_active() for call in calls))
        seen: list[tuple[str, str]] = []
        for call in calls:
            with pytest.raises(grpc.RpcError) as caught:
                next(cast("Iterator[bytes]", call))
            seen.append(refusal(caught.value)[1:])
        ended.set()
    silent = ("SILENT", "nothing came for 30 s; what arrived is kept, go on with the same request id")
    assert seen.count(silent) == 4
    assert {reason for reason, _ in seen} == {"SILENT", "TOO_MANY_CALLS"}


def noise(size: int) -> bytes:
    return hashlib.shake_128(b"noise").digest(size)


def test_an_upload_that_falls_silent_is_ended_and_goes_on_where_it_stands(tmp_path: Path) -> None:
    data = package(extra=noise(5 * CHUNK))
    size, sha256 = data.seek(0, 2), hashlib.sha256(data.getvalue()).hexdigest()
    with serving(tmp_path) as service:
        token = service.token()
        metadata = (("authorization", f"Bearer {token}"),)
        released = threading.Event()

        def slow() -> Iterator[pb.SubmitVersionRequest]:
            yield pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="one", size=size, sha256=sha256))
            yield pb.SubmitVersionRequest(chunk=data.getvalue()[: 2 * CHUNK])
            released.wait(PATIENCE)

        with grpc.insecure_channel(service.address) as channel:
            stub = registry_pb2_grpc.RegistryServiceStub(channel)
            upload = stub.SubmitVersion.future(slow(), metadata=metadata)
            until(lambda: arrived(stub, metadata) == 2 * CHUNK)
            service.thread.pass_time(31.0, upload.done)
            released.set()
            assert refusal(upload.exception()) == (
                grpc.StatusCode.DEADLINE_EXCEEDED,
                "SILENT",
                "nothing came for 30 s; what arrived is kept, go on with the same request id",
            )
        sent: list[int] = []
        with service.client(token) as client:
            version = client.submit(data, request_id="one", on_progress=lambda at, _: sent.append(at))
        assert (version.number, sent[0]) == (1, 2 * CHUNK)


def arrived(stub: registry_pb2_grpc.RegistryServiceStub, metadata: Any) -> int:
    """Bytes that the service has of the upload ``one``."""
    return stub.GetUpload(pb.GetUploadRequest(request_id="one"), metadata=metadata).received


def test_an_upload_that_drips_is_ended_and_goes_on_where_it_stands(tmp_path: Path) -> None:
    """A slow loris: never silent, and never done."""
    data = package(extra=noise(5 * CHUNK))
    size, sha256 = data.seek(0, 2), hashlib.sha256(data.getvalue()).hexdigest()
    with serving(tmp_path, limits=CallLimits(read_silence=PATIENCE)) as service:
        token = service.token()
        metadata = (("authorization", f"Bearer {token}"),)
        drip = threading.Event()

        def drips() -> Iterator[pb.SubmitVersionRequest]:
            yield pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="one", size=size, sha256=sha256))
            yield pb.SubmitVersionRequest(chunk=data.getvalue()[:CHUNK])
            assert drip.wait(PATIENCE)
            yield pb.SubmitVersionRequest(chunk=data.getvalue()[CHUNK : CHUNK + 1])

        with grpc.insecure_channel(service.address) as channel:
            stub = registry_pb2_grpc.RegistryServiceStub(channel)
            upload = stub.SubmitVersion.future(drips(), metadata=metadata)
            until(lambda: arrived(stub, metadata) == CHUNK)
            service.loop.move_on(61.0)
            drip.set()
            _, reason, message = refusal(upload.exception())
        assert reason == "SILENT"
        assert re.match(r"\d+ bytes came in \d+ s; at least 4096 a second must, so go on later", message)
        sent: list[int] = []
        with service.client(token) as client:
            version = client.submit(data, request_id="one", on_progress=lambda at, _: sent.append(at))
        assert (version.number, sent[0]) == (1, CHUNK)


def test_a_watch_of_what_does_not_change_ends_and_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(monkeypatch, 3)
    with serving(tmp_path) as service, service.client() as client:
        calls.service = service
        submit(client, package())
        metadata = (("authorization", f"Bearer {service.token()}"),)
        with grpc.insecure_channel(service.address) as channel:
            watch: Any = registry_pb2_grpc.RegistryServiceStub(channel).WatchVersion(
                pb.WatchVersionRequest(bot="lowest", number=1), metadata=metadata
            )
            assert next(watch).version.number == 1
            service.thread.pass_time(901.0, lambda: not watch.is_active())
            with pytest.raises(grpc.RpcError) as caught:
                next(watch)
        assert refusal(caught.value)[1:] == ("SILENT", "nothing has changed for 900 s; call again")
        # The command's own client does as it is told, and tells nothing twice.
        seen = client.watch("lowest", 1)
        assert next(seen).state == pb.VERSION_STATE_RECEIVED
        with ThreadPoolExecutor(1) as pool:
            passing = pool.submit(service.thread.pass_time, 901.0, lambda: calls.count == 3)
            states = [version.state for version in seen]
            passing.result()
        assert states[-1] == pb.VERSION_STATE_ACTIVE
        assert pb.VERSION_STATE_RECEIVED not in states


async def advance(service: Service) -> None:
    assert service.life is not None
    await service.life.advance(service.store.versions.unfinished()[0])


def test_answers_that_nobody_reads_are_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller asks for the contract time after time and reads nothing, until no window has room any more."""
    ended = threading.Event()

    class Told(Silent):
        def __init__(self, message: str) -> None:
            super().__init__(message)
            ended.set()

    monkeypatch.setattr(admission, "Silent", Told)
    with (
        serving(tmp_path) as service,
        grpc.insecure_channel(service.address, [("grpc.http2.bdp_probe", 0)]) as channel,  # else the windows grow
    ):
        ask: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(REFLECTION)
        long = reflection_pb2.ServerReflectionRequest(host="x" * 60_000, file_containing_symbol=REGISTRY_SERVICE)
        wanted = long.SerializeToString()
        asked, stopped = threading.Event(), threading.Event()

        def greedy() -> Iterator[bytes]:
            while not stopped.is_set():
                asked.set()
                yield wanted

        call = cast("Iterator[bytes]", ask(greedy()))
        assert next(call)
        while not ended.is_set():
            if asked.wait(0.1):
                asked.clear()
            else:  # not even a question gets through any more
                service.loop.move_on(5.0)
        with pytest.raises(grpc.RpcError) as caught:
            for _ in call:
                pass
        stopped.set()
    assert refusal(caught.value)[1:] == ("SILENT", "no message was taken for 30 s; call again and read")


def test_a_stream_without_a_token_does_not_live_for_ever(tmp_path: Path) -> None:
    with serving(tmp_path) as service, grpc.insecure_channel(service.address) as channel:
        call: Any = hold(channel, WATCH_HEALTH, HEALTH)
        assert next(call)
        service.thread.pass_time(901.0, lambda: not call.is_active())
        with pytest.raises(grpc.RpcError) as caught:
            next(call)
    assert refusal(caught.value)[1:] == ("SILENT", "streams without a token end after 900 s; call again")


class TestATokenThatEnds:
    """While its holder is known, and while a stream of theirs is open."""

    def watch(self, service: Service, channel: grpc.Channel, token: str) -> Any:
        stub = registry_pb2_grpc.RegistryServiceStub(channel)
        metadata = (("authorization", f"Bearer {token}"),)
        watch = stub.WatchVersion(pb.WatchVersionRequest(bot="lowest", number=1), metadata=metadata)
        assert next(watch).version.number == 1
        return watch

    def test_streams_end_soon_after_it_is_revoked(self, tmp_path: Path) -> None:
        with serving(tmp_path, limits=CallLimits(token_checks=0.1)) as service, ExitStack() as stack:
            with service.client() as client:
                submit(client, package())
            revoked, other = service.token("eve"), service.token("bob")
            channel = stack.enter_context(grpc.insecure_channel(service.address))
            ended, goes_on = (self.watch(service, channel, token) for token in (revoked, other))
            data = package(extra=b"more")
            size, sha256 = data.seek(0, 2), hashlib.sha256(data.getvalue()).hexdigest()
            released = threading.Event()

            def halts() -> Iterator[pb.SubmitVersionRequest]:
                yield pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="two", size=size, sha256=sha256))
                released.wait(PATIENCE)

            upload = registry_pb2_grpc.RegistryServiceStub(channel).SubmitVersion.future(
                halts(), metadata=(("authorization", f"Bearer {revoked}"),)
            )
            service.store.accounts.revoke_token(revoked.split("_")[1], datetime.now(UTC))
            for call in (lambda: next(ended), upload.result):
                with pytest.raises(grpc.RpcError) as caught:
                    call()
                assert refusal(caught.value)[:2] == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
            released.set()
            service.do(advance(service))
            assert [each.version.state for each in goes_on][-1] == pb.VERSION_STATE_ACTIVE

    def test_streams_end_soon_after_it_expires(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ahead = timedelta(0)
        monkeypatch.setattr(lookups, "datetime", SimpleNamespace(now=lambda zone: datetime.now(zone) + ahead))
        with (
            serving(tmp_path, limits=CallLimits(token_checks=0.1)) as service,
            grpc.insecure_channel(service.address) as channel,
        ):
            with service.client() as client:
                submit(client, package())
            watch = self.watch(service, channel, service.token("eve"))
            ahead = DEFAULT_LIFETIME
            with pytest.raises(grpc.RpcError) as caught:
                next(watch)
            assert refusal(caught.value)[1] == "UNAUTHENTICATED"

    @pytest.fixture
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The tokens that were looked up."""
        found: list[str] = []

        def counted(accounts: Accounts, text: str, now: datetime) -> Token:
            found.append(text)
            return authenticate(accounts, text, now)

        monkeypatch.setattr(lookups, "authenticate", counted)
        return found

    def test_who_showed_it_is_a_stranger_again(self, tmp_path: Path, looks: list[str]) -> None:
        """Looked up for no longer than an address may fail."""
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as name, ExitStack() as stack:
            redis = stack.enter_context(redis_server(Path(name)))
            limits = CallLimits(failures=Rate(3, 600))
            service = stack.enter_context(serving(tmp_path, limits=limits, redis_url=redis.url))
            token = service.token()
            client = stack.enter_context(service.client(token))
            assert list(client.versions()) == []
            service.store.accounts.revoke_token(token.split("_")[1], datetime.now(UTC))
            for said in 3 * ["no valid token"] + 2 * ["3 calls without a valid token within 600 s are allowed"]:
                with pytest.raises(UsageError, match=said):
                    list(client.versions())
        assert looks == 4 * [token]

    def test_one_that_is_known_is_looked_up_only_where_there_is_room(self, tmp_path: Path, looks: list[str]) -> None:
        """Nobody makes the service look into its database as often as they like."""
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as name, ExitStack() as stack:
            redis = stack.enter_context(redis_server(Path(name)))
            limits = CallLimits(per_token=Rate(3, 600))
            service = stack.enter_context(serving(tmp_path, limits=limits, redis_url=redis.url))
            client = stack.enter_context(service.client())
            for _ in range(3):
                assert list(client.versions()) == []
            for _ in range(4):
                with pytest.raises(UsageError, match="3 calls within 600 s"):
                    list(client.versions())
        assert len(looks) == 3

    def test_one_that_is_used_stays_known(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """By the hour from its last call, not from its first."""
        now = 1000.0
        monkeypatch.setattr(lookups, "time", SimpleNamespace(monotonic=lambda: now))
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as name, ExitStack() as stack:
            redis = stack.enter_context(redis_server(Path(name)))
            limits = CallLimits(failures=Rate(1, 600))
            service = stack.enter_context(serving(tmp_path, limits=limits, redis_url=redis.url))
            client = stack.enter_context(service.client())
            assert list(client.versions()) == []
            with service.client("nonsense") as stranger, pytest.raises(UsageError, match="no valid token"):
                list(stranger.versions())
            for _ in range(3):
                now += 0.9 * lookups.KNOWN_FOR
                assert list(client.versions()) == []
            now += 1.1 * lookups.KNOWN_FOR
            with pytest.raises(UsageError, match="1 calls without a valid token within 600 s are allowed"):
                list(client.versions())


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.7:1234", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:1234", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2::9]:77", "2001:db8:1:2::/64"),
        ("ipv6:%5B::ffff:192.0.2.7%5D:1234", "192.0.2.7"),
        ("ipv6:%5Bfe80::1%25eth0%5D:1234", "fe80::/64"),
        ("unix:", "unix"),
        ("unix:/run/api.sock", "unix"),
    ],
)
def test_who_a_call_counts_for(peer: str, address: str) -> None:
    assert address_of(peer) == address


def test_room_is_counted_by_kind_and_by_caller() -> None:
    slots = Slots({Kind.CALL: Share(3, 2), Kind.STREAM: Share(1, 1)})
    first = slots.take(Kind.CALL, "ada")
    slots.take(Kind.CALL, "ada")
    with pytest.raises(TooManyCalls, match="2 calls of yours are under way"):
        slots.take(Kind.CALL, "ada")
    slots.take(Kind.CALL, "bob")
    with pytest.raises(TooManyCalls, match="3 calls are under way, which is all that is answered at once"):
        slots.take(Kind.CALL, "carol")
    slots.take(Kind.STREAM, "ada")
    first()
    slots.take(Kind.CALL, "carol")


class TestRates:
    """On a real Redis."""

    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        """A folder with a path short enough for sockets."""
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as name:
            yield Path(name)

    def test_so_many_at_once_and_then_one_by_one(self, folder: Path) -> None:
        async def scenario() -> None:
            async with counting(folder) as (one, client):
                other, rate = Rates(client), Rate(4, 100_000.0)  # of which a slow machine takes no part that counts
                for rates in (one, other, one, other):  # two processes of a service count together
                    await rates.check("calls", "ada", rate)
                said = r"4 calls within 100000 s are allowed; try again in 2\d{4}\."
                with pytest.raises(RateLimited, match=said) as caught:
                    await one.check("calls", "ada", rate)
                assert 24_000 < caught.value.retry_after <= 25_000
                await one.check("calls", "bob", rate)
                await one.check("failures", "ada", rate)
                keys = await client.keys("*")
                assert sorted(keys) == [
                    b"arbiter.rate.calls.ada",
                    b"arbiter.rate.calls.bob",
                    b"arbiter.rate.failures.ada",
                ]
                lives = [await client.pttl(key) for key in keys]
                assert all(0 < life <= 100_000_000 for life in lives), "keys go by themselves"

        asyncio.run(scenario())

    def test_asking_does_not_count(self, folder: Path) -> None:
        async def scenario() -> None:
            async with counting(folder) as (rates, client):
                for _ in range(10):
                    await rates.check("calls", "ada", Rate(1, 100.0), count=False)
                assert await client.keys("*") == []
                await rates.check("calls", "ada", Rate(1, 100.0))
                with pytest.raises(RateLimited):
                    await rates.check("calls", "ada", Rate(1, 100.0), count=False)

        asyncio.run(scenario())

    def test_there_is_room_again_when_it_says(self, folder: Path) -> None:
        async def scenario() -> None:
            async with counting(folder) as (rates, _):
                refused: RateLimited | None = None
                while refused is None:  # at the second call, unless the machine lets a second pass before it
                    try:
                        await rates.check("calls", "ada", Rate(1, 1.0))
                    except RateLimited as error:
                        refused = error
                await asyncio.sleep(refused.retry_after)
                await rates.check("calls", "ada", Rate(1, 1.0))

        asyncio.run(scenario())

    def test_calls_are_refused_by_token_and_by_address(self, folder: Path, tmp_path: Path) -> None:
        limits = CallLimits(per_token=Rate(5, 6000), per_address=Rate(5, 6000), failures=Rate(5, 6000))
        with ExitStack() as stack:
            redis = stack.enter_context(redis_server(folder))
            service = stack.enter_context(serving(tmp_path, limits=limits, tcp=True, redis_url=redis.url))
            ada = stack.enter_context(service.client())
            for _ in range(5):
                assert list(ada.versions()) == []
            with pytest.raises(UsageError, match="5 calls within 6000 s are allowed; try again in 1") as caught:
                list(ada.versions())
            error = cast("grpc.RpcError", caught.value.__cause__)
            assert refusal(error)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
            assert 1000 < retry_after(error) <= 1200
            bob = stack.enter_context(service.client(service.token("bob")))
            assert list(bob.versions()) == []
            # Somebody at this address guesses.
            stranger = stack.enter_context(service.client("arb_000000000000_" + "A" * 43))
            for _ in range(5):
                with pytest.raises(UsageError, match="no valid token"):
                    list(stranger.versions())
            with pytest.raises(UsageError, match="5 calls without a valid token within 6000 s are allowed"):
                list(stranger.versions())
            assert list(bob.versions()) == [], "who was known before is let in all the same"
            with (
                service.client(service.token("carol")) as carol,
                pytest.raises(UsageError, match="5 calls without a valid token"),
            ):
                list(carol.versions())
            elsewhere = stack.enter_context(calling_from("127.0.0.3", service.address))
            far = replace(service, address=elsewhere)
            assert list(stack.enter_context(far.client(service.token("dora"))).versions()) == []
            # Calls that need no token have a limit of their own.
            channel = stack.enter_context(grpc.insecure_channel(service.address))
            for _ in range(5):
                assert says_serving(channel)
            with pytest.raises(grpc.RpcError, match="5 calls without a token within 6000 s") as limited:
                says_serving(channel)
            assert refusal(limited.value)[1] == "RATE_LIMITED"

    def test_without_redis_calls_are_answered_and_the_log_says_so_once(
        self, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("arbiter.service.rates.PAUSE", 0.0)
        limits = CallLimits(per_token=Rate(2, 600))
        with ExitStack() as stack:
            redis = stack.enter_context(redis_server(folder))
            service = stack.enter_context(serving(tmp_path, limits=limits, redis_url=redis.url))
            client = stack.enter_context(service.client())
            redis.kill()
            for _ in range(6):
                assert list(client.versions()) == []
            said = [record.getMessage() for record in caplog.records if record.name == "arbiter.service.rates"]
            assert len(said) == 1
            assert said[0].startswith("Redis does not answer, so calls are not counted: ")
            redis.start()
            for _ in range(2):
                assert list(client.versions()) == []
            with pytest.raises(UsageError, match="2 calls within 600 s"):
                list(client.versions())
        assert caplog.messages[-1] == "Redis answers again, and calls are counted"
