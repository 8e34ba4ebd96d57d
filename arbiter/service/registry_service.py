"""``RegistryService``: what contestants call, carried to the registry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Final

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.api.registry.v1 import registry_pb2_grpc
from arbiter.errors import UsageError
from arbiter.registry.registry import Registry
from arbiter.registry.uploads import Declared
from arbiter.service.calls import Context, caller
from arbiter.service.heavy import HeavyWork
from arbiter.service.pages import no_such_page, page_size, page_token, read_page_token
from arbiter.store import AT_REST, Bot, Build, Scope, Store, Version, VersionState

MAX_CHUNK: Final = 256 * 1024
LOOK_AGAIN: Final = 0.25
"""Seconds between two looks at a version that somebody follows."""


class RegistryServicer(registry_pb2_grpc.RegistryServiceServicer):
    """Answers contestants; disk and database are used in threads.

    Args:
        store: what is recorded of bots.
        registry: takes submissions.
        submitted: called on the event loop after each submission.
        heavy: does what takes long.
    """

    def __init__(self, store: Store, registry: Registry, submitted: Callable[[], None], heavy: HeavyWork) -> None:
        self._versions: Final = store.versions
        self._builds: Final = store.builds
        self._registry: Final = registry
        self._submitted: Final = submitted
        self._heavy: Final = heavy

    async def GetUpload(self, request: pb.GetUploadRequest, context: Context) -> pb.GetUploadResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        received = await asyncio.to_thread(self._registry.uploads.received, token.owner, request.request_id)
        return pb.GetUploadResponse(received=received)

    async def SubmitVersion(
        self, request_iterator: AsyncIterator[pb.SubmitVersionRequest], context: Context
    ) -> pb.SubmitVersionResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        first = await anext(request_iterator, None)
        if first is None or first.WhichOneof("part") != "header":
            raise UsageError("the first message holds no header; send size, sha256 and request_id first")
        header = first.header
        if header.kind not in (pb.VERSION_KIND_UNSPECIFIED, pb.VERSION_KIND_PACKAGE):
            raise UsageError("kind: bots that stay with their authors and dial in are not taken yet; send a package")
        declared = Declared(token.owner, header.request_id, header.size, header.sha256)
        with ExitStack() as stack:
            opened = self._registry.uploads.open(declared, header.offset)
            upload = await asyncio.to_thread(stack.enter_context, opened)
            async for message in request_iterator:
                if message.WhichOneof("part") != "chunk" or not 0 < len(message.chunk) <= MAX_CHUNK:
                    raise UsageError(f"after the header come chunks of 1 to {MAX_CHUNK} bytes")
                await asyncio.to_thread(upload.write, message.chunk)
            version = await self._heavy.run(
                lambda: self._registry.submit(
                    token, declared, upload.whole(), header.message, header.commit, datetime.now(UTC)
                )
            )
        self._submitted()
        return pb.SubmitVersionResponse(version=version_to_message(version))

    async def GetVersion(self, request: pb.GetVersionRequest, context: Context) -> pb.GetVersionResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        version = await asyncio.to_thread(self._versions.get, request.bot, request.number or None)
        return pb.GetVersionResponse(version=version_to_message(version))

    async def WatchVersion(
        self, request: pb.WatchVersionRequest, context: Context
    ) -> AsyncIterator[pb.WatchVersionResponse]:
        """See the contract."""
        caller(Scope.SPECTATOR)
        seen: VersionState | None = None
        while seen not in AT_REST:
            version = await asyncio.to_thread(self._versions.get, request.bot, request.number)
            if version.state is not seen:
                seen = version.state
                yield pb.WatchVersionResponse(version=version_to_message(version))
            else:
                await asyncio.sleep(LOOK_AGAIN)

    async def ListVersions(self, request: pb.ListVersionsRequest, context: Context) -> pb.ListVersionsResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        size, query = page_size(request.page_size), f"versions {request.bot}"
        name, number = read_page_token(request.page_token, query)
        found = await asyncio.to_thread(
            lambda: self._versions.versions(request.bot or None, after=(name, number), limit=size + 1)
        )
        page = found[:size]
        more = page_token(query, page[-1].submission.bot, page[-1].number) if len(found) > size else ""
        return pb.ListVersionsResponse(versions=map(version_to_message, page), next_page_token=more)

    async def ListBots(self, request: pb.ListBotsRequest, context: Context) -> pb.ListBotsResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        size, query = page_size(request.page_size), "bots"
        name, _ = read_page_token(request.page_token, query)
        found = await asyncio.to_thread(lambda: self._versions.bots(after=name, limit=size + 1))
        page = found[:size]
        more = page_token(query, page[-1].name) if len(found) > size else ""
        return pb.ListBotsResponse(bots=map(bot_to_message, page), next_page_token=more)

    async def GetVersionLog(self, request: pb.GetVersionLogRequest, context: Context) -> pb.GetVersionLogResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        written = await asyncio.to_thread(self._registry.log, token, request.bot, request.number)
        return pb.GetVersionLogResponse(log=written)

    async def ListBuilds(self, request: pb.ListBuildsRequest, context: Context) -> pb.ListBuildsResponse:
        """See the contract."""
        caller(Scope.SPECTATOR)
        size, query = page_size(request.page_size), f"builds {request.bot}"
        after = read_build_token(request.page_token, query)
        found = await asyncio.to_thread(lambda: self._builds.builds(request.bot or None, after=after, limit=size + 1))
        page = found[:size]
        more = build_token(query, page[-1]) if len(found) > size else ""
        return pb.ListBuildsResponse(builds=map(build_to_message, page), next_page_token=more)

    async def GetBuildLog(self, request: pb.GetBuildLogRequest, context: Context) -> pb.GetBuildLogResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        written = await asyncio.to_thread(
            self._registry.build_log, token, request.bot, request.version, request.number or None
        )
        return pb.GetBuildLogResponse(log=written)

    async def RetireVersion(self, request: pb.RetireVersionRequest, context: Context) -> pb.RetireVersionResponse:
        """See the contract."""
        token = caller(Scope.CONTESTANT)
        version = await asyncio.to_thread(
            self._registry.retire, token, request.bot, request.number, datetime.now(UTC), request.request_id
        )
        return pb.RetireVersionResponse(version=version_to_message(version))


def build_token(query: str, last: Build) -> str:
    """The token of the page of builds that begins behind this one."""
    return page_token(query, f"{last.bot}/{last.version}", last.number)


def read_build_token(token: str, query: str) -> tuple[str, int, int]:
    """The build in a token; one before all others for none. Raises `UsageError` for what was not given out."""
    place, number = read_page_token(token, query)
    bot, _, version = place.partition("/")
    if place and not (version.isdecimal() and len(version) < 10):
        raise no_such_page(token)
    return bot, int(version or 0), number


def build_to_message(build: Build) -> pb.Build:
    """A build as a message."""
    message = pb.Build(
        bot=build.bot,
        version=build.version,
        number=build.number,
        state=pb.BuildState.Value(f"BUILD_STATE_{build.state.name}"),
        detail=build.detail,
        digest=build.digest,
        size=build.size,
    )
    message.start_time.FromDatetime(build.began_at)
    if build.ended_at is not None:
        message.end_time.FromDatetime(build.ended_at)
    return message


def bot_to_message(bot: Bot) -> pb.Bot:
    """A bot as a message."""
    return pb.Bot(name=bot.name, owner=bot.owner, latest=bot.latest, active=bot.active or 0)


def version_to_message(version: Version) -> pb.Version:
    """A version as a message."""
    submission = version.submission
    message = pb.Version(
        bot=submission.bot,
        number=version.number,
        owner=submission.owner,
        state=pb.VersionState.Value(f"VERSION_STATE_{version.state.name}"),
        digest=submission.digest,
        size=submission.size,
        message=submission.message,
        commit=submission.commit,
        failure=version.failure,
        kind=pb.VERSION_KIND_PACKAGE,
        tried=version.tried,
    )
    message.create_time.FromDatetime(version.created_at)
    return message
