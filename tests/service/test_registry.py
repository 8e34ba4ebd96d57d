"""Submitting bots over gRPC: a real server, database and packages; who may do what, and how the rest is refused."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import io
import re
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, cast

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # has no stubs
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import arbiter
from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2_grpc
from arbiter.cage import CageSettings, Runtime, Runtimes, load_manifest
from arbiter.cli import registry_client
from arbiter.cli.dialling import Server
from arbiter.cli.registry_client import CHUNK, RegistryClient
from arbiter.errors import InfrastructureError, UsageError
from arbiter.identity import issue_token
from arbiter.packages import Builder, FileVersions, pack
from arbiter.registry import life as life_module
from arbiter.registry.life import Life, Validation
from arbiter.registry.registry import Registry
from arbiter.service import tls
from arbiter.service.gate_service import GateServicer
from arbiter.service.heavy import HeavyWork
from arbiter.service.ladder_service import LadderServicer
from arbiter.service.limits import CallLimits
from arbiter.service.public import REGISTRY_SERVICE, SERVICES, PublicServer
from arbiter.service.rates import Rates
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Quota, Scope, Store, VersionState
from arbiter.supervisor.redis import redis_client
from arbiter.tournament.gate_hosting import GateHosting
from arbiter.tournament.hosting import Hosting
from arbiter.tournament.ladder_hosting import LadderHosting
from tests.patience import PATIENCE
from tests.service.loops import LoopThread, MovableLoop

SAMPLES = Path(arbiter.__file__).parent.parent / "sample_bots"


def package(name: str = "lowest", extra: bytes = b"") -> io.BytesIO:
    """A sample bot, packed; what is extra makes its content another."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, name)
        shutil.copytree(SAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
        if extra:
            (folder / "extra.bin").write_bytes(extra)
        sink = io.BytesIO()
        pack(folder, sink)
    return sink


@dataclass
class Service:
    """A service on an event loop in a thread of its own."""

    store: Store
    folder: Path
    address: str = ""
    ca: Path | None = None
    life: Life | None = None
    thread: LoopThread = field(default_factory=LoopThread)

    @property
    def loop(self) -> MovableLoop:
        return self.thread.loop

    def token(self, owner: str = "ada", scope: Scope = Scope.CONTESTANT, **rest: timedelta) -> str:
        return issue_token(self.store.accounts, owner, scope, datetime.now(UTC), **rest)[1]

    def client(self, token: str | None = None) -> RegistryClient:
        return RegistryClient(Server(self.address, self.token() if token is None else token, self.ca))

    def do(self, job: Coroutine[Any, Any, Any]) -> Any:
        return self.thread.do(job)


async def accept(folder: Path) -> Validation:
    """Stands where sittings against stand-ins are played, which other tests do."""
    return Validation("bad" not in folder.read_text() if folder.is_file() else True, "played", "said hello\n")


@contextmanager
def serving(
    folder: Path,
    *,
    quota: Quota | None = None,
    secure: bool = False,
    validate: Any = accept,
    limits: CallLimits | None = None,
    tcp: bool = False,
    redis_url: str | None = None,
    runtimes: Runtimes | None = None,
    database: str | None = None,
) -> Iterator[Service]:
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(database or folder / "arbiter.db"))
        service = Service(store, folder)
        stack.callback(service.thread.close)
        credentials = None
        if secure:
            service.ca, key = tls.self_signed(folder / "tls", ["127.0.0.1", "localhost"])
            credentials = tls.load_credentials(service.ca, key)

        async def start() -> tuple[PublicServer, Life, HeavyWork]:
            contents = FileVersions(folder / "bots")
            settings = CageSettings(runtimes=runtimes or Runtimes.from_environment())
            builder = Builder(contents, folder / "staging", settings)
            life = Life(store, contents, builder, validate, settings.runtimes, quota)
            registry = Registry(store, contents, folder / "registry", quota, runtimes=settings.runtimes)
            heavy = HeavyWork()
            servicer = RegistryServicer(store, registry, life.wake, heavy)
            tournaments = TournamentServicer(store, Hosting(store, contents), lambda: None, heavy)
            ladders = LadderServicer(store, LadderHosting(store, contents), lambda: None, heavy)
            gates = GateServicer(store, GateHosting(store, contents, quota), lambda: None, heavy)
            place = "127.0.0.1:0" if secure or tcp else f"unix:{folder}/api.sock"
            rates = None
            if redis_url is not None:
                client = redis_client(redis_url, PATIENCE)
                stack.callback(lambda: service.do(client.aclose()))
                rates = Rates(client)
            server = PublicServer(
                servicer, tournaments, gates, ladders, store.accounts, place, credentials, limits=limits, rates=rates
            )
            await server.__aenter__()
            return server, life, heavy

        server, service.life, heavy = service.do(start())
        stack.callback(lambda: service.do(server.__aexit__(None, None, None)))
        stack.callback(lambda: service.do(heavy.__aexit__()))
        service.address = server.address
        yield service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path) as found:
        yield found


def status_of(error: grpc.RpcError) -> status_pb2.Status:
    """What a refused call carries."""
    metadata = {str(item[0]): item[1] for item in cast("Sequence[tuple[str, bytes]]", error.trailing_metadata() or ())}
    return status_pb2.Status.FromString(metadata["grpc-status-details-bin"])


def refusal(error: BaseException | None) -> tuple[grpc.StatusCode, str, str]:
    """Code, reason and message of a refused call."""
    while error is not None and not isinstance(error, grpc.RpcError):
        error = error.__cause__
    assert error is not None
    status = status_of(error)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (status.code, status.message) == (error.code().value[0], error.details())
    assert info.domain == "hearts-arbiter"
    return error.code(), info.reason, status.message


def submit(
    client: RegistryClient, data: BinaryIO, request_id: str = "one", *, message: str = "", commit: str = ""
) -> pb.Version:
    return client.submit(data, request_id=request_id, message=message, commit=commit)


def names_tokens(service: Service) -> None:
    """Who did what is written down by the id of a token that there is."""
    tokens = {token.id: token.owner for token in service.store.accounts.tokens()}
    for entry in service.store.accounts.audit(9):
        assert tokens[entry.actor] == entry.owner


class TestASubmission:
    def test_it_becomes_a_version_and_lives(self, service: Service) -> None:
        with service.client() as client:
            version = submit(client, package(), message="first", commit="abc123")
            assert (version.bot, version.number, version.owner) == ("lowest", 1, "ada")
            assert (version.message, version.commit, version.failure) == ("first", "abc123", "")
            assert version.state == pb.VERSION_STATE_RECEIVED
            assert abs(version.create_time.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=1)
            assert FileVersions(service.folder / "bots").digests() == [version.digest]
            assert service.life is not None
            (received,) = service.store.versions.unfinished()
            assert service.do(service.life.advance(received)).state is VersionState.ACTIVE
            assert client.version("lowest").state == pb.VERSION_STATE_ACTIVE
            assert client.log("lowest", 1) == "said hello\n"

    def test_the_same_request_again_makes_no_second_version(self, service: Service) -> None:
        with service.client() as client:
            first = submit(client, package())
            assert submit(client, package()) == first
            assert submit(client, package(), "two").number == 2
            assert [version.number for version in client.versions("lowest")] == [1, 2]
        noted = [entry.subject for entry in service.store.accounts.audit(9) if entry.action == "bot.submit"]
        assert noted == ["lowest@2", "lowest@1"]

    def test_a_request_id_stands_for_one_content(self, service: Service) -> None:
        with service.client() as client:
            submit(client, package())
            with pytest.raises(UsageError, match="request id 'one' was used for lowest@1") as caught:
                submit(client, package(extra=b"other"))
        assert refusal(caught.value)[:2] == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")

    def test_a_broken_one_goes_on_where_it_broke(self, service: Service) -> None:
        data = package(extra=bytes(hashlib.shake_128(b"noise").digest(5 * CHUNK)))
        size, sha256 = data.seek(0, 2), hashlib.sha256(data.getvalue()).hexdigest()
        token = service.token()
        metadata = (("authorization", f"Bearer {token}"),)

        def cut() -> Iterator[pb.SubmitVersionRequest]:
            yield pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="one", size=size, sha256=sha256))
            yield pb.SubmitVersionRequest(chunk=data.getvalue()[: 2 * CHUNK])

        with grpc.insecure_channel(service.address) as channel:
            stub = registry_pb2_grpc.RegistryServiceStub(channel)
            with pytest.raises(grpc.RpcError, match=r"262144 of \d+ bytes came; go on with the same request id"):
                stub.SubmitVersion(cut(), metadata=metadata)
        sent: list[int] = []
        with service.client(token) as client:
            version = client.submit(data, request_id="one", on_progress=lambda at, _: sent.append(at))
        assert version.number == 1
        assert sent[0] == 2 * CHUNK
        assert sent[-1] == size

    def test_one_whose_broken_connection_the_service_has_not_noticed_goes_on(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = package()
        size, sha256 = data.seek(0, 2), hashlib.sha256(data.getvalue()).hexdigest()
        token, locked, over = service.token(), threading.Event(), threading.Event()
        metadata = (("authorization", f"Bearer {token}"),)

        def halts() -> Iterator[pb.SubmitVersionRequest]:
            yield pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="one", size=size, sha256=sha256))
            over.wait(PATIENCE)

        def lock(file: IO[bytes], how: int) -> None:
            original(file, how)
            locked.set()

        original = fcntl.flock
        monkeypatch.setattr("arbiter.registry.uploads.fcntl.flock", lock)
        with grpc.insecure_channel(service.address) as channel:
            broken = registry_pb2_grpc.RegistryServiceStub(channel).SubmitVersion.future(halts(), metadata=metadata)
            assert locked.wait(PATIENCE)
            pauses: list[float] = []

            def pause(seconds: float) -> None:
                pauses.append(seconds)
                over.set()
                with pytest.raises(grpc.RpcError, match="0 of"):
                    broken.result()

            monkeypatch.setattr(registry_client, "time", SimpleNamespace(sleep=pause))
            with service.client(token) as client:
                assert submit(client, data).number == 1
        assert len(pauses) == 1

    def test_what_is_no_bot_is_refused_and_nothing_stays(self, service: Service) -> None:
        with service.client() as client, pytest.raises(UsageError) as caught:
            submit(client, io.BytesIO(b"no archive at all"))
        assert refusal(caught.value)[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID")
        assert not service.store.versions.versions()
        for place in ("registry/uploads", "registry/staging", "bots"):
            assert not [path for path in (service.folder / place).rglob("*") if path.is_file()]


class TestWhoMay:
    @pytest.mark.parametrize("token", ["", "nonsense", "arb_000000000000_" + "A" * 43])
    def test_nothing_without_a_token(self, service: Service, token: str) -> None:
        with service.client(token) as client:
            for call in (
                lambda: submit(client, package()),
                lambda: client.version("lowest"),
                lambda: list(client.versions()),
                lambda: list(client.watch("lowest", 1)),
                lambda: client.log("lowest", 1),
                lambda: client.retire("lowest", 1),
            ):
                with pytest.raises(UsageError, match="no valid token") as caught:
                    call()
                assert refusal(caught.value)[:2] == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")

    @pytest.mark.parametrize("scope", [Scope.SPECTATOR, Scope.WORKER])
    def test_others_may_not_submit(self, service: Service, scope: Scope) -> None:
        with (
            service.client(service.token(scope=scope)) as client,
            pytest.raises(UsageError, match="this needs a token with scope contestant") as caught,
        ):
            submit(client, package())
        assert refusal(caught.value)[:2] == (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN")
        assert not (service.folder / "registry" / "uploads").exists()

    def test_a_revoked_token_is_good_for_nothing_at_once(self, service: Service) -> None:
        token = service.token()
        with service.client(token) as client:
            assert list(client.versions()) == []
            service.store.accounts.revoke_token(token.split("_")[1], datetime.now(UTC))
            with pytest.raises(UsageError, match="no valid token"):
                list(client.versions())

    def test_a_name_is_its_first_submitter_s(self, service: Service) -> None:
        with service.client() as ada, service.client(service.token("bob")) as bob:
            submit(ada, package())
            with pytest.raises(UsageError, match="the name 'lowest' is taken by another contestant") as caught:
                submit(bob, package(), "another")
        assert refusal(caught.value)[:2] == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")

    def test_logs_and_retiring_are_the_owner_s_and_the_host_s(self, service: Service) -> None:
        assert service.life is not None
        with (
            service.client() as ada,
            service.client(service.token("bob")) as bob,
            service.client(service.token("hal", Scope.HOST)) as host,
        ):
            submit(ada, package())
            service.do(service.life.advance(service.store.versions.unfinished()[0]))
            for call in (lambda: bob.log("lowest", 1), lambda: bob.retire("lowest", 1)):
                with pytest.raises(UsageError, match="lowest@1 is another contestant's") as caught:
                    call()
                assert refusal(caught.value)[0] is grpc.StatusCode.PERMISSION_DENIED
            assert ada.log("lowest", 1) == host.log("lowest", 1) == "said hello\n"
            assert bob.version("lowest", 1).state == pb.VERSION_STATE_ACTIVE
            assert host.retire("lowest", 1).state == pb.VERSION_STATE_RETIRED
            with pytest.raises(UsageError, match="lowest@1 is retired and can't become retired") as caught:
                ada.retire("lowest", 1)
            assert refusal(caught.value)[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        assert [(entry.owner, entry.action, entry.subject) for entry in service.store.accounts.audit(10)] == [
            ("hal", "bot.retire", "lowest@1"),
            ("ada", "bot.submit", "lowest@1"),
        ]
        names_tokens(service)

    def test_quotas_hold_for_each_owner(self, tmp_path: Path) -> None:
        with (
            serving(tmp_path, quota=Quota(submissions_per_day=2, stored_bytes=1 << 20, bots=1)) as service,
            service.client() as ada,
            service.client(service.token("bob")) as bob,
        ):
            with pytest.raises(UsageError, match="are above the 1048576 that are allowed"):
                submit(ada, package(extra=bytes(1 << 20)), "big")
            submit(ada, package(), "one")
            with pytest.raises(UsageError, match="ada has 1 bots already") as caught:
                submit(ada, package("uniform"), "other")
            assert refusal(caught.value)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")
            submit(ada, package(), "two")
            with pytest.raises(UsageError, match="ada has made 2 submissions within a day"):
                submit(ada, package(), "three")
            assert submit(ada, package(), "two").number == 2, "what was taken before is given again"
            assert submit(bob, package("uniform")).number == 1


def test_a_request_to_retire_that_is_sent_twice_is_done_once(service: Service) -> None:
    metadata = (("authorization", f"Bearer {service.token()}"),)
    with service.client() as ada, grpc.insecure_channel(service.address) as channel:
        for number in (1, 2):
            submit(ada, package(), f"r{number}")
        stub = registry_pb2_grpc.RegistryServiceStub(channel)
        request = pb.RetireVersionRequest(bot="lowest", number=1, request_id="away")
        first, again = (stub.RetireVersion(request, metadata=metadata).version for _ in range(2))
        assert first == again
        assert first.state == pb.VERSION_STATE_RETIRED
        with pytest.raises(grpc.RpcError) as caught:
            stub.RetireVersion(pb.RetireVersionRequest(bot="lowest", number=1), metadata=metadata)
        assert refusal(caught.value)[:2] == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
        request.number = 2
        with pytest.raises(grpc.RpcError, match="request id 'away' was used for RetireVersion lowest@1") as caught:
            stub.RetireVersion(request, metadata=metadata)
        assert refusal(caught.value)[:2] == (grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN")
    assert [entry.action for entry in service.store.accounts.audit(1)] == ["bot.retire"]


class TestAVersionsLife:
    def test_one_that_does_not_play_stays_failed_with_its_log(self, tmp_path: Path) -> None:
        """battlecode21#90, battlecode21#13."""

        async def refuse(_: Path) -> Validation:
            return Validation(False, "CRASH at board 1: exit status 1", "Traceback: no model\n")

        with serving(tmp_path, validate=refuse) as service, service.client() as client:
            version = submit(client, package())
            assert service.life is not None
            service.do(service.life.advance(service.store.versions.unfinished()[0]))
            failed = client.version("lowest", 1)
            assert (failed.state, failed.failure) == (pb.VERSION_STATE_FAILED, "CRASH at board 1: exit status 1")
            assert client.log("lowest", 1) == "Traceback: no model\n"
            with pytest.raises(UsageError, match="has no active version; its latest, lowest@1, is failed: CRASH at"):
                client.version("lowest")
            assert list(client.versions("lowest")) == [failed]
            assert version.number == 1

    def test_a_machine_that_fails_puts_it_off_and_not_for_ever(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """aiarena-web#445."""
        tries: list[Exception | Validation] = [InfrastructureError("starved"), Validation(True, "played", "")]

        async def after_a_while(_: Path) -> Validation:
            found = tries.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(life_module, "TICK", 0.0)
        with serving(tmp_path, validate=after_a_while) as service, service.client() as client:
            submit(client, package())
            assert service.life is not None
            states = []
            while service.store.versions.unfinished():
                states.append(service.do(service.life.advance(service.store.versions.unfinished()[0])).state)
            assert states == [VersionState.RECEIVED, VersionState.ACTIVE]
            tries += [InfrastructureError("no bubblewrap")] * 3
            submit(client, package(), "two")
            while service.store.versions.unfinished():
                service.do(service.life.advance(service.store.versions.unfinished()[0]))
            assert client.version("lowest", 2).failure == "it could not be tried out: no bubblewrap"
        assert tries == []

    def test_it_is_followed_to_its_end(self, service: Service) -> None:
        with service.client() as client:
            submit(client, package())
            assert service.life is not None
            running = asyncio.run_coroutine_threadsafe(service.life.run(), service.loop)
            try:
                states = [version.state for version in client.watch("lowest", 1)]
            finally:
                running.cancel()
        assert states[-1] == pb.VERSION_STATE_ACTIVE
        assert states == sorted(set(states)), "each once, in order"

    def test_what_a_killed_service_left_half_done_begins_anew(self, service: Service) -> None:
        with service.client() as client:
            submit(client, package())
            service.store.versions.move("lowest", 1, VersionState.BUILDING, datetime.now(UTC))
            assert service.life is not None
            running = asyncio.run_coroutine_threadsafe(service.life.run(), service.loop)
            try:
                *_, last = client.watch("lowest", 1)
            finally:
                running.cancel()
        assert last.state == pb.VERSION_STATE_ACTIVE


SHELL = Runtimes({"shell": Runtime("shell", build=("/bin/sh", "build.sh"))}, "the test")


def source(script: str) -> io.BytesIO:
    """A bot that a shell script builds, packed."""
    sink = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "bot.toml").write_text('[bot]\nname = "made"\nruntime = "shell"\nrun = ["./bot"]\n')
        (folder / "build.sh").write_text(script)
        pack(folder, sink)
    return sink


MAKE = "echo making; head -c 4000 /dev/zero > bot; chmod +x bot\n"


class TestBuilds:
    """Built in a cage, as any bot is."""

    def test_builds_are_listed_and_their_owner_reads_the_logs(self, tmp_path: Path) -> None:
        with (
            serving(tmp_path, runtimes=SHELL) as service,
            service.client() as ada,
            service.client(service.token("bob")) as bob,
        ):
            assert service.life is not None
            for number, script in enumerate((MAKE, "echo broken; exit 3\n"), start=1):
                submit(ada, source(script), f"r{number}")
                service.do(service.life.advance(service.store.versions.unfinished()[0]))
            one, two = ada.builds("made")
            assert [(b.bot, b.version, b.number, pb.BuildState.Name(b.state)) for b in (one, two)] == [
                ("made", 1, 1, "BUILD_STATE_BUILT"),
                ("made", 2, 1, "BUILD_STATE_FAILED"),
            ]
            assert one.size == 4000 + ada.version("made", 1).size
            assert one.digest == service.store.versions.get("made", 1).built
            assert (two.detail, two.size, two.digest) == ("the build command: exit status 3", 0, "")
            assert one.end_time.ToDatetime() > one.start_time.ToDatetime()
            assert (ada.build_log("made", 1, 1), ada.build_log("made", 2, 0)) == ("making\n", "broken\n")
            assert list(bob.builds()) == [one, two]
            with pytest.raises(UsageError, match="made@1 is another contestant's"):
                bob.build_log("made", 1, 1)
            with pytest.raises(UsageError, match="made@1 has no build 2") as caught:
                ada.build_log("made", 1, 2)
            assert refusal(caught.value)[:2] == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_BUILD")

    def test_pages_of_builds_follow_one_another(self, tmp_path: Path) -> None:
        with serving(tmp_path, runtimes=SHELL) as service, service.client() as ada:
            for number in range(3):
                submit(ada, source(MAKE), f"r{number}")
                service.store.builds.begin("made", number + 1, Quota(), datetime.now(UTC))
            metadata = (("authorization", f"Bearer {service.token()}"),)
            seen, token = [], ""
            with grpc.insecure_channel(service.address) as channel:
                stub = registry_pb2_grpc.RegistryServiceStub(channel)
                while True:
                    page = stub.ListBuilds(pb.ListBuildsRequest(page_size=2, page_token=token), metadata=metadata)
                    seen += [build.version for build in page.builds]
                    token = page.next_page_token
                    if not token:
                        break
                stale = stub.ListBots(pb.ListBotsRequest(page_size=1), metadata=metadata)
                assert not stale.next_page_token
                versions = stub.ListVersions(pb.ListVersionsRequest(page_size=1), metadata=metadata)
                with pytest.raises(grpc.RpcError, match="is none of this list; use a next_page_token as it was given"):
                    stub.ListBuilds(pb.ListBuildsRequest(page_token=versions.next_page_token), metadata=metadata)
        assert seen == [1, 2, 3]

    def test_what_is_built_is_within_the_quota(self, tmp_path: Path) -> None:
        quota = Quota(stored_bytes=2000, builds_per_day=2)
        with serving(tmp_path, runtimes=SHELL, quota=quota) as service, service.client() as ada:
            assert service.life is not None
            submit(ada, source(MAKE))
            service.do(service.life.advance(service.store.versions.unfinished()[0]))
            failed = ada.version("made", 1)
            assert failed.state == pb.VERSION_STATE_FAILED
            assert re.match(r"ada has \d+ bytes stored; \d+ more are above the 2000", failed.failure)
            with pytest.raises(UsageError, match=r"ada has 4\d\d\d bytes stored"):
                submit(ada, source(MAKE + "#"), "two")
            service.store.builds.begin("made", 1, quota, datetime.now(UTC))
            with pytest.raises(UsageError, match="ada has had 2 builds within a day") as caught:
                submit(ada, source(MAKE + "#"), "two")
            assert refusal(caught.value)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED")


def test_nobody_waits_for_all_that_another_has_submitted(tmp_path: Path) -> None:
    tried: list[str] = []

    async def note(folder: Path) -> Validation:
        tried.append(load_manifest(folder).name)
        return Validation(ok=True, detail="played", log="")

    with serving(tmp_path, validate=note) as service, service.client(service.token("ada")) as ada:
        for number, name in enumerate(("lowest", "lowest", "lowest", "uniform")):
            submit(ada, package(name, bytes([number])), f"r{number}")
        for owner, name in (("bob", "batch"), ("carol", "careful")):
            with service.client(service.token(owner)) as client:
                submit(client, package(name))
        assert service.life is not None
        running = asyncio.run_coroutine_threadsafe(service.life.run(), service.loop)
        assert [version.state for version in ada.watch("uniform", 1)][-1] == pb.VERSION_STATE_ACTIVE
        running.cancel()
    assert tried == ["lowest", "batch", "careful", "lowest", "lowest", "uniform"]


class TestTheSurface:
    def test_pages_follow_one_another(self, service: Service) -> None:
        with service.client() as client:
            for number in range(5):
                submit(client, package(), f"r{number}")
            submit(client, package("uniform"), "u")
            metadata = (("authorization", f"Bearer {service.token()}"),)
            seen: list[str] = []
            with grpc.insecure_channel(service.address) as channel:
                stub = registry_pb2_grpc.RegistryServiceStub(channel)
                token = ""
                while True:
                    request = pb.ListVersionsRequest(page_size=2, page_token=token)
                    page = stub.ListVersions(request, metadata=metadata)
                    assert 1 <= len(page.versions) <= 2
                    seen += [f"{version.bot}@{version.number}" for version in page.versions]
                    token = page.next_page_token
                    if not token:
                        break
                bots = stub.ListBots(pb.ListBotsRequest(page_size=1), metadata=metadata)
                assert [bot.name for bot in bots.bots] == ["lowest"]
                more = stub.ListBots(pb.ListBotsRequest(page_token=bots.next_page_token), metadata=metadata)
                assert [(bot.name, bot.owner) for bot in more.bots] == [("uniform", "ada")]
                assert not more.next_page_token
                first = stub.ListVersions(pb.ListVersionsRequest(bot="lowest", page_size=1), metadata=metadata)
                for token in ("?", bots.next_page_token, first.next_page_token):
                    with pytest.raises(grpc.RpcError, match="is none of this list; use a next_page_token as it was"):
                        stub.ListVersions(pb.ListVersionsRequest(page_token=token), metadata=metadata)
                with pytest.raises(grpc.RpcError, match="is none of this list"):
                    stub.ListBots(pb.ListBotsRequest(page_token=first.next_page_token), metadata=metadata)
        assert seen == [f"lowest@{number}" for number in range(1, 6)] + ["uniform@1"]

    @pytest.mark.parametrize(
        ("messages", "said"),
        [
            ([], "the first message holds no header"),
            ([pb.SubmitVersionRequest()], "the first message holds no header"),
            ([pb.SubmitVersionRequest(chunk=b"x")], "the first message holds no header"),
            (
                [pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a b", size=1, sha256="0" * 64))],
                "request_id",
            ),
            ([pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1 << 62, sha256="0" * 64))], "bytes"),
            ([pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1, sha256="zz"))], "sha256"),
            (
                [pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1, sha256="0" * 64))] * 2,
                "after the header come chunks",
            ),
            (
                [
                    pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1, sha256="0" * 64)),
                    pb.SubmitVersionRequest(chunk=b""),
                ],
                "after the header come chunks",
            ),
            (
                [
                    pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1, sha256="0" * 64)),
                    pb.SubmitVersionRequest(chunk=b"xx"),
                ],
                "more than the 1 bytes came",
            ),
            (
                [pb.SubmitVersionRequest(header=pb.UploadHeader(request_id="a", size=1, sha256="0" * 64, offset=9))],
                "0 bytes have arrived; go on there, not at 9",
            ),
            (
                [
                    pb.SubmitVersionRequest(
                        header=pb.UploadHeader(request_id="a", size=1, sha256="0" * 64, kind=pb.VERSION_KIND_REMOTE)
                    )
                ],
                "kind: bots that stay with their authors and dial in are not taken yet",
            ),
        ],
    )
    def test_messages_in_any_other_order_are_refused(
        self, service: Service, messages: list[pb.SubmitVersionRequest], said: str
    ) -> None:
        metadata = (("authorization", f"Bearer {service.token()}"),)
        with grpc.insecure_channel(service.address) as channel:
            stub = registry_pb2_grpc.RegistryServiceStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                stub.SubmitVersion(iter(messages), metadata=metadata)
        assert said in refusal(caught.value)[2]

    def test_text_that_no_database_takes_is_refused(self, service: Service) -> None:
        with service.client() as client, pytest.raises(UsageError, match="bot: holds the character NUL") as caught:
            client.version("lo\0west")
        assert refusal(caught.value)[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID")

    def test_health_and_reflection_answer_without_a_token(self, service: Service) -> None:
        with grpc.insecure_channel(service.address) as channel:
            check = channel.unary_unary(
                "/grpc.health.v1.Health/Check",
                request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            answer = check(health_pb2.HealthCheckRequest(service=REGISTRY_SERVICE))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
            ask = channel.stream_stream(
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )
            (services,) = ask(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
            names = {found.name for found in services.list_services_response.service}
        assert REGISTRY_SERVICE in names

    def test_the_whole_contract_can_be_read_by_reflection(self, service: Service) -> None:
        """As grpcurl does: each service's file, and each that it imports, down to Google's own."""
        with grpc.insecure_channel(service.address) as channel:
            ask = channel.stream_stream(
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
                response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
            )
            files: dict[str, descriptor_pb2.FileDescriptorProto] = {}
            wanted = [reflection_pb2.ServerReflectionRequest(file_containing_symbol=name) for name in SERVICES]
            while wanted:
                (answer,) = ask(iter([wanted.pop()]))
                assert not answer.HasField("error_response"), answer
                for data in answer.file_descriptor_response.file_descriptor_proto:
                    found = descriptor_pb2.FileDescriptorProto.FromString(data)
                    files[found.name] = found
                missing = {name for file in files.values() for name in file.dependency} - files.keys()
                wanted += [
                    reflection_pb2.ServerReflectionRequest(file_by_filename=name) for name in sorted(missing)[:1]
                ]
        assert {"google/api/field_behavior.proto", "arbiter/api/tournament/v1/tournament.proto"} <= files.keys()
        pool = descriptor_pool.DescriptorPool()
        for name in files:
            add(pool, files, name)
        for name in SERVICES:
            assert pool.FindServiceByName(name).methods


def add(pool: descriptor_pool.DescriptorPool, files: dict[str, descriptor_pb2.FileDescriptorProto], name: str) -> None:
    """Put a file into a pool, after those that it imports."""
    for each in files[name].dependency:
        add(pool, files, each)
    pool.Add(files[name])


class TestTls:
    def test_a_caller_that_knows_the_certificate_gets_through(self, tmp_path: Path) -> None:
        with serving(tmp_path, secure=True) as service, service.client() as client:
            assert submit(client, package()).number == 1

    def test_others_get_a_line_that_says_what_to_do(self, tmp_path: Path) -> None:
        with serving(tmp_path, secure=True) as service:
            stranger = Server(service.address, service.token())
            elsewhere = replace(stranger, address=f"ipv4:{service.address}")  # as if it were another machine
            with (
                RegistryClient(elsewhere) as client,
                pytest.raises(UsageError, match="is not trusted; give the service's"),
            ):
                client.version("lowest")
            with (
                RegistryClient(stranger) as client,
                pytest.raises(InfrastructureError, match="; it was called in plain text, so give --ca FILE"),
            ):
                client.version("lowest")

    def test_a_certificate_is_kept_while_it_is_good(self, tmp_path: Path) -> None:
        first = tls.self_signed(tmp_path, ["localhost"])[0].read_bytes()
        assert tls.self_signed(tmp_path, ["localhost"])[0].read_bytes() == first
        assert tls.self_signed(tmp_path, ["localhost", "10.1.2.3"])[0].read_bytes() != first
        assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600

    def test_files_that_do_not_belong_together_are_refused(self, tmp_path: Path) -> None:
        one, two = (tls.self_signed(tmp_path / name, ["localhost"]) for name in ("one", "two"))
        with pytest.raises(UsageError, match="is not the private key of"):
            tls.load_credentials(one[0], two[1])
        with pytest.raises(UsageError, match="no certificate and private key in PEM form"):
            tls.load_credentials(one[1], one[0])
        with pytest.raises(UsageError, match="can't be read: No such file"):
            tls.load_credentials(tmp_path / "none.pem", one[1])

    @pytest.mark.parametrize(
        ("listen", "alone"),
        [("127.0.0.1:1", True), ("[::1]:1", True), ("unix:/x", True), ("0.0.0.0:1", False), ("[::]:1", False)],
    )
    def test_loopback_is_known(self, listen: str, alone: bool) -> None:
        assert tls.is_loopback(listen) is alone
