"""The bot-facing gRPC service of one sitting: one socket and one token per seat, one stream per token."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, cast

import grpc
from google.protobuf.message import DecodeError

from arbiter.api.bot.v1 import bot_pb2, bot_pb2_grpc

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""Largest message that is taken from a bot; a larger one ends its stream. Answers for 65,536 tables need half of it."""

REFUSAL_PATIENCE: Final = 1.0
"""Seconds for which the first message of a stream is waited for that is refused anyway."""

INBOX_MESSAGES: Final = 16
"""Messages of one bot that wait to be read; beyond, its stream is held back."""


class BotStream(Protocol):
    """The part of gRPC's context that a stream needs (its typing leaves the reading side out)."""

    async def read(self) -> object:
        """The next message, or a mark for the end of the stream."""

    async def write(self, message: bot_pb2.SitResponse) -> None:
        """Send a message."""


class Connection:
    """One seat's place on the service: a socket, a token, and the stream once the bot has dialled."""

    def __init__(self, socket: Path) -> None:
        self.socket: Final = socket
        """Unix socket to dial."""
        self.token: Final = secrets.token_urlsafe(32)
        """What the bot shows; good for this seat of this sitting alone."""
        self.stream: BotStream | None = None
        self.inbox: Final[asyncio.Queue[bot_pb2.SitRequest | None]] = asyncio.Queue(INBOX_MESSAGES)
        """Messages in order of arrival; None once the stream has ended."""
        self.ended: Final = asyncio.Event()
        """Set once the stream has ended, from whichever side."""
        self.violation: str | None = None
        """Why the stream was ended from this side, where the bot broke the protocol."""


class BotHost(bot_pb2_grpc.BotServiceServicer):
    """Serves the bots of one sitting on sockets below ``folder``, which is the sitting's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_token: dict[str, Connection] = {}
        self._sockets: list[Path] = []
        self._server = grpc.aio.server(
            options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.so_reuseport", 0)]
        )
        bot_pb2_grpc.add_BotServiceServicer_to_server(self, self._server)

    def add(self, name: str) -> Connection:
        """A place for one more bot; before the service is entered. ``name`` is the socket's file name."""
        connection = Connection(self._folder / name)
        self._by_token[_digest(connection.token)] = connection
        self._server.add_insecure_port(f"unix:{connection.socket}")
        self._sockets.append(connection.socket)
        return connection

    async def __aenter__(self) -> BotHost:
        try:
            await _whole(self._server.start())
        except asyncio.CancelledError:
            await _whole(self._server.stop(grace=None))
            raise
        for socket in self._sockets:
            socket.chmod(0o666)  # the bot is another user, and only its own socket is shown to it
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _whole(self._server.stop(grace=None))

    async def Sit(  # type: ignore[override]  # the style that reads and writes, which the stubs leave out
        self,
        request_iterator: AsyncIterator[bot_pb2.SitRequest],
        context: grpc.aio.ServicerContext[bot_pb2.SitRequest, bot_pb2.SitResponse],
    ) -> None:
        """One bot's stream; its messages go to the connection's inbox until either side ends it."""
        connection = self._by_token.get(_digest(_bearer(context.invocation_metadata())))
        if connection is None:
            await _refuse(context, grpc.StatusCode.UNAUTHENTICATED, "no such token: use ARBITER_TOKEN")
        if connection.stream is not None:
            await _refuse(context, grpc.StatusCode.ALREADY_EXISTS, "this token has opened its stream already")
        stream = cast("BotStream", context)
        connection.stream = stream
        try:
            while isinstance(message := await stream.read(), bot_pb2.SitRequest):
                await connection.inbox.put(message)
        except DecodeError:
            connection.violation = "sent bytes that are no SitRequest"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, connection.violation)
        finally:
            connection.ended.set()
            if not connection.inbox.full():  # a reader of a full inbox sees `ended` after the last message
                connection.inbox.put_nowait(None)


async def _whole(step: Coroutine[Any, Any, None]) -> None:
    """Wait for a start or a stop of a server, also when the caller is cancelled: one that was cut short leaves a server
    that listens on and can't be stopped any more."""
    task = asyncio.ensure_future(step)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _refuse(
    context: grpc.aio.ServicerContext[bot_pb2.SitRequest, bot_pb2.SitResponse], code: grpc.StatusCode, detail: str
) -> NoReturn:
    """End a stream with a reason.

    Its first message is taken before: a bot that is still sending when the stream ends is told of an internal error.
    """
    with contextlib.suppress(TimeoutError, DecodeError):
        async with asyncio.timeout(REFUSAL_PATIENCE):
            await cast("BotStream", context).read()
    await context.abort(code, detail)


def _digest(token: str) -> str:
    """Tokens are looked up by digest, so that how long a look-up takes says nothing about them."""
    return hashlib.sha256(token.encode()).hexdigest()


def _bearer(metadata: object) -> str:
    entries = cast("Mapping[str, str]", dict(cast("tuple[tuple[str, str], ...]", metadata or ())))
    scheme, _, token = str(entries.get("authorization", "")).partition(" ")
    return token if scheme == "Bearer" else ""
