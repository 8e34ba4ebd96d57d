"""The contestant's end of the registry: dials, sends packages, goes on where a connection broke. Needs the base install
alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import grpc

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2_grpc
from arbiter.cli.dialling import Client, Server
from arbiter.errors import InfrastructureError

CHUNK: Final = 128 * 1024
TRIES: Final = 6
"""How often an upload is taken up again in a row without any byte having arrived."""

_GO_ON: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.FAILED_PRECONDITION,
)
"""How a call ends that may be made again: the connection broke, nothing came through it for too long, or the service
has not noticed yet that the one before broke, and says of the upload that another stream sends it."""


class RegistryClient:
    """Calls of one user; close it by leaving its ``with`` statement. Its methods raise as `Client` does."""

    def __init__(self, server: Server) -> None:
        self._client: Final = Client(server)
        self._stub: Final = registry_pb2_grpc.RegistryServiceStub(self._client.channel)

    def __enter__(self) -> RegistryClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def submit(
        self,
        package: BinaryIO,
        *,
        request_id: str,
        message: str = "",
        commit: str = "",
        on_progress: Callable[[int, int], None] = lambda sent, size: None,
    ) -> pb.Version:
        """Send a package, taken up again where the connection broke; the same request id again sends nothing twice.

        Args:
            package: a seekable file.
            request_id: the same for every try at this submission.
            message: what the author says of it.
            commit: id of the commit that it was made from.
            on_progress: called with the bytes sent and their number in all.
        """
        package.seek(0)
        sha256 = hashlib.file_digest(package, "sha256").hexdigest()  # type: ignore[arg-type]  # any file has readinto
        size = package.seek(0, 2)
        arrived, tries, pause = -1, 0, 0.25
        while True:
            try:
                received = self._client.call(self._stub.GetUpload, pb.GetUploadRequest(request_id=request_id)).received
                if received > arrived:
                    arrived, tries = received, 0
                header = pb.UploadHeader(
                    request_id=request_id, size=size, sha256=sha256, offset=received, message=message, commit=commit
                )
                parts = _parts(header, package, on_progress)
                return self._stub.SubmitVersion(parts, metadata=self._client.metadata).version
            except grpc.RpcError as error:
                tries += 1
                if error.code() not in _GO_ON or tries >= TRIES:
                    self._client.fail(error)
            except InfrastructureError:
                tries += 1
                if tries >= TRIES:
                    raise
            time.sleep(pause)
            pause = min(5.0, 2 * pause)

    def watch(self, bot: str, number: int) -> Iterator[pb.Version]:
        """A version now and after each change, up to the state in which nothing happens by itself any more."""
        for response in self._client.follow(self._stub.WatchVersion, pb.WatchVersionRequest(bot=bot, number=number)):
            yield response.version

    def version(self, bot: str, number: int = 0) -> pb.Version:
        """A version; without a number the newest active one."""
        return self._client.call(self._stub.GetVersion, pb.GetVersionRequest(bot=bot, number=number)).version

    def bots(self) -> Iterator[pb.Bot]:
        """All bots by name."""
        token = ""
        while True:
            page = self._client.call(self._stub.ListBots, pb.ListBotsRequest(page_token=token))
            yield from page.bots
            token = page.next_page_token
            if not token:
                return

    def versions(self, bot: str = "") -> Iterator[pb.Version]:
        """All versions of a bot, or of all."""
        token = ""
        while True:
            page = self._client.call(self._stub.ListVersions, pb.ListVersionsRequest(bot=bot, page_token=token))
            yield from page.versions
            token = page.next_page_token
            if not token:
                return

    def log(self, bot: str, number: int) -> str:
        """What building and validating a version wrote."""
        return str(self._client.call(self._stub.GetVersionLog, pb.GetVersionLogRequest(bot=bot, number=number)).log)

    def builds(self, bot: str = "") -> Iterator[pb.Build]:
        """All builds of a bot's versions, or of all."""
        token = ""
        while True:
            page = self._client.call(self._stub.ListBuilds, pb.ListBuildsRequest(bot=bot, page_token=token))
            yield from page.builds
            token = page.next_page_token
            if not token:
                return

    def build_log(self, bot: str, number: int, build: int) -> str:
        """What a build of a version wrote."""
        request = pb.GetBuildLogRequest(bot=bot, version=number, number=build)
        return str(self._client.call(self._stub.GetBuildLog, request).log)

    def retire(self, bot: str, number: int) -> pb.Version:
        """Take a version back."""
        return self._client.call(self._stub.RetireVersion, pb.RetireVersionRequest(bot=bot, number=number)).version


def _parts(
    header: pb.UploadHeader, package: BinaryIO, on_progress: Callable[[int, int], None]
) -> Iterator[pb.SubmitVersionRequest]:
    yield pb.SubmitVersionRequest(header=header)
    sent = package.seek(header.offset)
    on_progress(sent, header.size)
    while chunk := package.read(CHUNK):
        yield pb.SubmitVersionRequest(chunk=chunk)
        sent += len(chunk)
        on_progress(sent, header.size)
