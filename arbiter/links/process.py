"""A bot in a process of its own that dials the sitting's service."""

from __future__ import annotations

import asyncio
from typing import Final

import grpc

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import BotProcess, Cage, Launch
from arbiter.links.host import MAX_MESSAGE_BYTES, Connection
from arbiter.links.link import Ending, FaultCode, Link, LinkLost, greeting_of

EXIT_PATIENCE: Final = 2.0
"""Seconds between the end of a stream and the end of its process within which it counts as a crash."""


class ProcessLink(Link):
    """A bot that ``cage`` starts as ``launch`` says and that dials ``connection``."""

    def __init__(self, cage: Cage, launch: Launch, connection: Connection) -> None:
        self._cage = cage
        self._launch = launch
        self._connection = connection
        self._process: BotProcess | None = None

    @property
    def pid(self) -> int | None:
        """See :meth:`Link.pid`."""
        return None if self._process is None else self._process.pid

    async def open(self, patience: float) -> bot_pb2.Greeting:
        """See :meth:`Link.open`."""
        self._process = await self._cage.start(self._launch)
        greeting = asyncio.ensure_future(self.receive())
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait({greeting, ended}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not greeting.done():
                if ended.done():
                    hint = " (does it call run()?)" if ended.result().code == 0 else ""
                    detail = f"ended before its greeting: {ended.result()}{hint}{self._last_words()}"
                    raise LinkLost(FaultCode.CRASH, detail)
                raise LinkLost(FaultCode.TIMEOUT, f"no greeting within the start-up allowance of {patience:g} s")
            message = greeting.result()
        finally:
            greeting.cancel()
            ended.cancel()
        return greeting_of(message)

    async def send(self, batch: bot_pb2.SitResponse) -> None:
        """See :meth:`Link.send`."""
        stream = self._connection.stream
        if stream is None or self._connection.ended.is_set():
            raise await self._why_lost()
        try:
            await stream.write(batch)
        except (grpc.aio.UsageError, grpc.aio.InternalError, grpc.RpcError, asyncio.InvalidStateError):
            raise await self._why_lost() from None

    async def receive(self) -> bot_pb2.SitRequest:
        """See :meth:`Link.receive`."""
        inbox = self._connection.inbox
        if self._connection.ended.is_set() and inbox.empty():
            raise await self._why_lost()
        message = await inbox.get()
        if message is None:
            raise await self._why_lost()
        return message

    async def close(self, grace: float) -> Ending:
        """See :meth:`Link.close`."""
        if self._process is None:
            return Ending("never started", b"")
        ended = await self._process.stop(grace)
        return Ending(str(ended), self._process.log)

    async def _why_lost(self) -> LinkLost:
        assert self._process is not None, "a link is opened before it is used"
        if self._connection.violation is not None:
            return LinkLost(FaultCode.PROTOCOL_ERROR, self._connection.violation)
        try:
            ended = await asyncio.wait_for(self._process.wait(), EXIT_PATIENCE)
        except TimeoutError:
            # Which of the two it was, gRPC does not tell a server.
            return LinkLost(
                FaultCode.DISCONNECT,
                "closed its stream while its process went on, or sent a message of more than"
                f" {MAX_MESSAGE_BYTES // 1024} KiB, which ends the stream",
            )
        return LinkLost(FaultCode.CRASH, f"{ended}{self._last_words()}")

    def _last_words(self) -> str:
        """The last line of the bot's log, which mostly names the error."""
        assert self._process is not None
        lines = self._process.log.decode(errors="replace").strip().splitlines()
        return f"; its last line: {lines[-1][:200]}" if lines else ""
