"""The workers' service through the real wire: who gets in, what is refused and how, and what is found out about it."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import arbiter
from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.compression import compress
from arbiter.errors import InfrastructureError, UsageError
from arbiter.identity import authenticate, issue_token
from arbiter.match import plan_from_message
from arbiter.packages import FileVersions
from arbiter.service import WorkerServer, WorkerTokens, lookups
from arbiter.service.limits import CallLimits, Rate
from arbiter.store import Accounts, BotLog, Recorded, Scope, SittingKey, SittingState, Store, StoreError, Token
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import Desk
from tests.patience import PATIENCE
from tests.service.redis_process import counting
from tests.tournament.support import ID, create, packed_of, played, spec_of

SERVICE = "arbiter.api.worker.v1.WorkerService"
LOWEST = Path(arbiter.__file__).parent.parent / "sample_bots" / "lowest"
FIRST = f"{ID}/0/0"
NO_BOTS = FileVersions(Path("/nowhere"))

Test = Callable[[grpc.aio.Channel], Awaitable[None]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arbiter.db") as opened:
        create(opened, spec_of(boards=1))
        yield opened


@pytest.fixture
def token(store: Store) -> str:
    """What a worker shows."""
    return issue_token(store.accounts, "worker-host", Scope.WORKER, datetime.now(UTC))[1]


@pytest.fixture
def bots(tmp_path: Path) -> FileVersions:
    return FileVersions(tmp_path / "bots")


def served(store: Store, desk: Desk, test: Test, bots: FileVersions = NO_BOTS) -> None:
    """Run a test against a server on a unix socket."""

    async def run() -> None:
        with RunDirectory() as folder:
            async with (
                WorkerServer(desk, bots, WorkerTokens(store.accounts), f"unix:{folder}/arbiter.sock") as server,
                grpc.aio.insecure_channel(server.address) as channel,
            ):
                await test(channel)

    asyncio.run(run())


def stub_of(channel: grpc.aio.Channel) -> worker_pb2_grpc.WorkerServiceAsyncStub:
    return worker_pb2_grpc.WorkerServiceStub(channel)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


async def health_of(channel: grpc.aio.Channel, service: str) -> str:
    """What the server says of a service, asked as any client in any language does."""
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    answer = await check(health_pb2.HealthCheckRequest(service=service))
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


@contextmanager
def refused(code: grpc.StatusCode, message: str) -> Iterator[None]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        yield
    assert caught.value.code() is code
    details = str(caught.value.details())
    assert message in details
    assert "\n" not in details


def test_of_a_call_without_the_token_nothing_is_read(store: Store) -> None:
    """Reports are large: who is refused must not have them kept in memory first."""

    async def test(channel: grpc.aio.Channel) -> None:
        ask: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(f"/{SERVICE}/ReportSitting")
        call = ask(metadata=bearer("wrong"))  # which sends no message, and says of none that it is the last
        with refused(grpc.StatusCode.UNAUTHENTICATED, "set ARBITER_WORKER_TOKEN"):
            await asyncio.wait_for(call.read(), PATIENCE)

    served(store, Desk(store), test)


@pytest.mark.parametrize("shown", [None, "Bearer ", "Bearer wrong", "Bearer {}x", "{}", "Basic {}"])
def test_without_the_token_no_call_gets_in(store: Store, token: str, shown: str | None) -> None:
    metadata = () if shown is None else (("authorization", shown.format(token)),)

    async def test(channel: grpc.aio.Channel) -> None:
        stub = stub_of(channel)
        message = "set ARBITER_WORKER_TOKEN"
        with refused(grpc.StatusCode.UNAUTHENTICATED, message):
            await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w1"), metadata=metadata)
        with refused(grpc.StatusCode.UNAUTHENTICATED, message):
            await stub.RenewLease(pb.RenewLeaseRequest(sitting=FIRST, attempt=1), metadata=metadata)
        with refused(grpc.StatusCode.UNAUTHENTICATED, message):
            await stub.ReportSitting(pb.ReportSittingRequest(sitting=FIRST, attempt=1), metadata=metadata)
        with refused(grpc.StatusCode.UNAUTHENTICATED, message):
            await stub.ReleaseSitting(pb.ReleaseSittingRequest(sitting=FIRST, attempt=1), metadata=metadata)
        with refused(grpc.StatusCode.UNAUTHENTICATED, message):
            await anext(aiter(stub.FetchBot(pb.FetchBotRequest(digest="0" * 64), metadata=metadata)))

    served(store, Desk(store), test)
    assert store.progress(ID).sittings[SittingState.PLANNED] == 4


@pytest.mark.parametrize(("scope", "enough"), [(scope, scope in (Scope.HOST, Scope.WORKER)) for scope in Scope])
def test_a_token_of_the_host_for_workers_lets_in_until_it_is_revoked(store: Store, scope: Scope, enough: bool) -> None:
    now = datetime.now(UTC)
    made, text = issue_token(store.accounts, "far", scope, now)
    renewal = pb.RenewLeaseRequest(sitting=FIRST, attempt=1)

    async def test(channel: grpc.aio.Channel) -> None:
        stub = stub_of(channel)
        if enough:
            assert not (await stub.RenewLease(renewal, metadata=bearer(text))).held
        else:
            with refused(grpc.StatusCode.PERMISSION_DENIED, f"this needs a token with scope worker; token {made.id}"):
                await stub.RenewLease(renewal, metadata=bearer(text))
        store.accounts.revoke_token(made.id, now)
        with refused(grpc.StatusCode.UNAUTHENTICATED, "no longer good"):
            await stub.RenewLease(renewal, metadata=bearer(text))

    served(store, Desk(store), test)


def test_a_bot_comes_in_parts_and_what_is_not_kept_is_not_found(store: Store, token: str, bots: FileVersions) -> None:
    kept = bots.put(LOWEST)

    async def test(channel: grpc.aio.Channel) -> None:
        stub, metadata = stub_of(channel), bearer(token)
        parts = [part async for part in stub.FetchBot(pb.FetchBotRequest(digest=kept.digest), metadata=metadata)]
        files: dict[bytes, bytes] = {}
        for part in parts:
            if part.WhichOneof("part") == "file":
                path = part.file.path
                files[path] = b""
            else:
                files[path] += part.chunk
        found = {str(path.relative_to(kept.path)).encode(): path.read_bytes() for path in sorted(kept.path.iterdir())}
        assert files == found
        for digest, message in (("0" * 64, "there is no version"), ("../x", "is no version's digest")):
            with refused(grpc.StatusCode.NOT_FOUND, message):
                await anext(aiter(stub.FetchBot(pb.FetchBotRequest(digest=digest), metadata=metadata)))

    served(store, Desk(store), test, bots)


def test_health_and_reflection_need_no_token(store: Store) -> None:
    async def test(channel: grpc.aio.Channel) -> None:
        for service in ("", SERVICE):
            assert await health_of(channel, service) == "SERVING"
        with refused(grpc.StatusCode.NOT_FOUND, ""):
            await health_of(channel, "other")
        call = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        names = {service.name async for answer in call for service in answer.list_services_response.service}
        assert names == {SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}

    served(store, Desk(store), test)


def test_a_sitting_goes_from_lease_to_report(store: Store, token: str) -> None:
    desk = Desk(store)

    async def test(channel: grpc.aio.Channel) -> None:
        stub, metadata = stub_of(channel), bearer(token)
        lease = await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w1"), metadata=metadata)
        assert lease.attempt == 1
        assert lease.duration.ToTimedelta() == desk.lease_duration
        renewal = pb.RenewLeaseRequest(sitting=FIRST, attempt=1, hands=1)
        assert (await stub.RenewLease(renewal, metadata=metadata)).held
        renewal.attempt = 2
        assert not (await stub.RenewLease(renewal, metadata=metadata)).held

        plan = plan_from_message(lease.plan)
        record = await asyncio.to_thread(played, plan)
        report = pb.ReportSittingRequest(sitting=FIRST, attempt=1, replay=compress(packed_of(record)))
        report.duration.FromMilliseconds(2500)
        report.logs.add(entrant=plan.bots[0].entrant, ending="exit status 0", log=b"caf\xc3\xa9 \xff", answers=26)
        report.logs[0].thinking_time.FromMilliseconds(1250)
        for outcome in (pb.REPORT_OUTCOME_RECORDED, pb.REPORT_OUTCOME_REPEATED):
            assert (await stub.ReportSitting(report, metadata=metadata)).outcome == outcome
        with refused(grpc.StatusCode.FAILED_PRECONDITION, f"sitting {FIRST}: recorded"):
            await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w1"), metadata=metadata)

    served(store, desk, test)
    assert store.progress(ID).recorded == 1
    kept = BotLog(0, "exit status 0", "café \N{REPLACEMENT CHARACTER}", 1.25, 26)
    assert store.logs(SittingKey.parse(FIRST)) == (kept,)


def test_a_sitting_is_given_back_with_its_reason(store: Store, token: str) -> None:
    async def test(channel: grpc.aio.Channel) -> None:
        stub, metadata = stub_of(channel), bearer(token)
        await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w1"), metadata=metadata)
        with refused(grpc.StatusCode.FAILED_PRECONDITION, f"sitting {FIRST}: leased"):
            await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w2"), metadata=metadata)
        request = pb.ReleaseSittingRequest(sitting=FIRST, attempt=1, reason="no room")
        await stub.ReleaseSitting(request, metadata=metadata)

    served(store, Desk(store), test)
    assert [attempt.note for attempt in store.attempts(SittingKey.parse(FIRST))] == ["no room"]


@pytest.mark.parametrize("sitting", ["", "nonsense", "a/b/c", f"{ID}/0", f"{ID}/0/-1"])
def test_nonsense_for_an_id_is_an_invalid_argument(store: Store, token: str, sitting: str) -> None:
    async def test(channel: grpc.aio.Channel) -> None:
        stub, metadata = stub_of(channel), bearer(token)
        message = "write TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0"
        with refused(grpc.StatusCode.INVALID_ARGUMENT, message):
            await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=sitting, worker="w1"), metadata=metadata)
        with refused(grpc.StatusCode.INVALID_ARGUMENT, message):
            await stub.RenewLease(pb.RenewLeaseRequest(sitting=sitting), metadata=metadata)
        with refused(grpc.StatusCode.INVALID_ARGUMENT, message):
            await stub.ReportSitting(pb.ReportSittingRequest(sitting=sitting), metadata=metadata)
        with refused(grpc.StatusCode.INVALID_ARGUMENT, message):
            await stub.ReleaseSitting(pb.ReleaseSittingRequest(sitting=sitting), metadata=metadata)

    served(store, Desk(store), test)


def test_what_is_not_planned_is_not_found_and_a_false_report_is_invalid(store: Store, token: str) -> None:
    async def test(channel: grpc.aio.Channel) -> None:
        stub, metadata = stub_of(channel), bearer(token)
        with refused(grpc.StatusCode.NOT_FOUND, f"sitting {ID}/7/0: unknown"):
            await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=f"{ID}/7/0", worker="w1"), metadata=metadata)
        await stub.LeaseSitting(pb.LeaseSittingRequest(sitting=FIRST, worker="w1"), metadata=metadata)
        for sitting, message in ((f"{ID}/7/0", "there is no sitting"), (FIRST, "no zstd data")):
            with refused(grpc.StatusCode.INVALID_ARGUMENT, message):
                report = pb.ReportSittingRequest(sitting=sitting, attempt=1, replay=b"no")
                await stub.ReportSitting(report, metadata=metadata)

    served(store, Desk(store), test)


class FullDisk(Desk):
    """A desk whose database can't be written."""

    def report(self, *arguments: object) -> Recorded:
        raise StoreError("the disk is full")


def test_a_report_that_the_arbiter_could_not_keep_is_to_be_tried_again(store: Store, token: str) -> None:
    """A worker drops what is invalid; this is not, and would be lost: AndyGrant/OpenBench#14."""

    async def test(channel: grpc.aio.Channel) -> None:
        with refused(grpc.StatusCode.UNAVAILABLE, "the disk is full"):
            await stub_of(channel).ReportSitting(pb.ReportSittingRequest(sitting=FIRST), metadata=bearer(token))

    served(store, FullDisk(store), test)


def test_an_address_has_so_many_bad_tokens_looked_up(
    store: Store, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the public port. Whose token was good a while ago goes on, and so do workers of the same process."""
    looks: list[str] = []

    def counted(accounts: Accounts, text: str, now: datetime) -> Token:
        looks.append(text)
        return authenticate(accounts, text, now)

    monkeypatch.setattr(lookups, "authenticate", counted)
    tokens = WorkerTokens(store.accounts)
    stranger = issue_token(store.accounts, "another", Scope.WORKER, datetime.now(UTC))[1]
    limited = "3 calls without a valid token within 600 s are allowed"

    async def run() -> None:
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            listen, limits = f"unix:{folder}/arbiter.sock", CallLimits(failures=Rate(3, 600))
            async with (
                counting(Path(folder)) as (rates, _),
                WorkerServer(Desk(store), NO_BOTS, tokens, listen, limits=limits, rates=rates) as server,
                grpc.aio.insecure_channel(server.address) as channel,
            ):
                stub, renewal = stub_of(channel), pb.RenewLeaseRequest(sitting=FIRST, attempt=1)
                await stub.RenewLease(renewal, metadata=bearer(token))
                for code, said in [
                    *3 * [(grpc.StatusCode.UNAUTHENTICATED, "set ARBITER_WORKER_TOKEN")],
                    *2 * [(grpc.StatusCode.RESOURCE_EXHAUSTED, limited)],
                ]:
                    with refused(code, said):
                        await stub.RenewLease(renewal, metadata=bearer("wrong"))
                with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, limited):
                    await stub.RenewLease(renewal, metadata=bearer(stranger))
                await stub.RenewLease(renewal, metadata=bearer(token))
                await stub.RenewLease(renewal, metadata=bearer(tokens.own))

    asyncio.run(run())
    assert looks == [token, *3 * ["wrong"], token]


# -- where it listens --------------------------------------------------------------------------------------------------


async def enter(store: Store, listen: str) -> str:
    async with (
        WorkerServer(Desk(store), NO_BOTS, WorkerTokens(store.accounts), listen) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        assert await health_of(channel, "") == "SERVING"
        return server.address


def test_any_free_port_is_taken_and_named(store: Store) -> None:
    address = asyncio.run(enter(store, "127.0.0.1:0"))
    host, _, port = address.rpartition(":")
    assert host == "127.0.0.1"
    assert int(port) > 0


def test_a_taken_port_is_named(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(InfrastructureError, match=f"can't listen at {listen}: Address already in use; choose"):
            asyncio.run(enter(store, listen))
    assert capfd.readouterr().err == "", "gRPC adds no lines of its own"


def test_an_address_of_another_machine_is_refused(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InfrastructureError, match=r"can't listen at 192\.0\.2\.1:0: Cannot assign requested address"):
        asyncio.run(enter(store, "192.0.2.1:0"))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "listen", ["", "7070", ":7070", "localhost", "localhost:", "localhost:http", "127.0.0.1:65536"]
)
def test_what_is_no_address_is_refused(store: Store, listen: str) -> None:
    with pytest.raises(UsageError, match=r"write HOST:PORT, such as 127\.0\.0\.1:7070"):
        asyncio.run(enter(store, listen))
