"""The worker's line to the arbiter: TLS beyond this machine, a token with every call, and a dead link noticed."""

from __future__ import annotations

import asyncio
import logging
import random
import shutil
import time
from pathlib import Path
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.errors import InfrastructureError, UsageError
from arbiter.packages import FileHeader, Receiver
from arbiter.telemetry import metrics
from workers.settings import WorkerSettings

log = logging.getLogger(__name__)

AWAY: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # too many others at this address show bad tokens
)
"""What a call ends with while the arbiter can't be reached, or lets nobody new in."""

FETCH_PATIENCE: Final = 30.0
"""Seconds for which a bot is asked for again while the arbiter is away."""

CHUNK_PATIENCE: Final = 30.0
"""Seconds that the next part of a bot may take to come."""

_OPTIONS: Final = [
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A link that was cut says nothing: without these a call under way would wait for minutes.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
]


class BotNotFetched(InfrastructureError):
    """The arbiter did not send a bot's version, for a reason that is no bot's fault."""


class Backoff:
    """Pauses that double from 0.1 s to ``longest``, each with jitter.

    Workers that lost the arbiter together must not all come back together: official-stockfish/fishtest#1983.
    """

    def __init__(self, longest: float) -> None:
        self._longest: Final = longest
        self.next = 0.1
        """Length of the next pause in seconds, jitter aside."""
        self.first = True
        """Whether nothing was waited for yet."""

    def draw(self) -> float:
        """The length of a pause that begins now, in seconds."""
        self.first = False
        pause, self.next = self.next, min(self._longest, 2 * self.next)
        return pause * random.uniform(0.5, 1.5)


class Line:
    """The calls of one worker. Make it on the event loop that uses it, and close it there.

    Raises:
        UsageError: the file with the certificates can't be read.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self.metadata: Final = (("authorization", f"Bearer {settings.token}"),)
        """What every call carries."""
        self._channel: Final = _channel(settings)
        self.stub: Final[worker_pb2_grpc.WorkerServiceAsyncStub] = worker_pb2_grpc.WorkerServiceStub(self._channel)

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def fetch_bot(self, digest: str, folder: Path) -> None:
        """Write a bot's version into a folder, which is made; asks again for a while when the arbiter is away.

        Raises:
            BotNotFetched: the arbiter does not have it, or stays away.
            TransferError: what came is something else.
        """
        deadline, backoff = time.monotonic() + FETCH_PATIENCE, Backoff(5.0)
        while True:
            try:
                await self._receive(digest, folder)
                return
            except grpc.aio.AioRpcError as error:
                cause, final = f"{error.code().name}: {error.details()}", error.code() not in AWAY
            except TimeoutError:
                cause, final = f"nothing came for {CHUNK_PATIENCE:g} s", False
            if final or time.monotonic() + backoff.next > deadline:
                raise BotNotFetched(f"bot version {digest} can't be fetched from the arbiter: {cause}")
            if backoff.first:
                log.warning("bot version %s: not fetched yet, trying again: %s", digest, cause)
            metrics.RETRIES.labels("fetch").inc()
            shutil.rmtree(folder)
            await asyncio.sleep(backoff.draw())

    async def _receive(self, digest: str, folder: Path) -> None:
        call = self.stub.FetchBot(pb.FetchBotRequest(digest=digest), metadata=self.metadata)
        try:
            with Receiver(digest, folder) as receiver:
                parts = aiter(call)
                while True:
                    async with asyncio.timeout(CHUNK_PATIENCE):
                        response = await anext(parts, None)
                    if response is None:
                        break
                    await asyncio.to_thread(receiver.take, _part(response))
                receiver.finish()
        finally:
            call.cancel()


def _part(response: pb.FetchBotResponse) -> FileHeader | bytes:
    if response.WhichOneof("part") == "file":
        return FileHeader(response.file.path, response.file.executable, response.file.size)
    return response.chunk


def _channel(settings: WorkerSettings) -> grpc.aio.Channel:
    if settings.plain_text or (settings.authority is None and is_this_machine(settings.address)):
        return grpc.aio.insecure_channel(settings.address, options=_OPTIONS)
    try:
        roots = None if settings.authority is None else settings.authority.read_bytes()
    except OSError as error:
        raise UsageError(f"ARBITER_CA: {settings.authority}: can't be read: {error.strerror}") from error
    return grpc.aio.secure_channel(settings.address, grpc.ssl_channel_credentials(roots), options=_OPTIONS)


def is_this_machine(address: str) -> bool:
    """Where nobody can listen in, the arbiter speaks plain text unless it was told otherwise."""
    return address.startswith("unix:") or address.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
