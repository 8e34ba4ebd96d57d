"""A bot in a process of its own that dials the sitting's service."""

from __future__ import annotations

import asyncio
from typing import Final

import grpc

from arbiter.api.bot.v1 import bot_pb2
from arbiter.cage import BotProcess, Cage, Exit, Launch, first_within
from arbiter.links.host import MAX_MESSAGE_BYTES, Connection
from arbiter.links.link import Ending, FaultCode, Link, LinkLost, greeting_of

EXIT_PATIENCE: Final = 2.0
"""Seconds between the end of a stream and the end of its process within which it counts as a crash."""

MEMORY_ERRORS: Final = ("MemoryError", "std::bad_alloc", "heap out of memory", "OutOfMemoryError")
"""How Python, C++, V8 and the JVM name it when a process is refused more memory; the kernel keeps no record of that."""


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

    @property
    def cpu_seconds(self) -> float | None:
        """See :meth:`Link.cpu_seconds`."""
        usage = None if self._process is None else self._process.usage
        return None if usage is None else usage.cpu_seconds

    async def open(self, patience: float) -> bot_pb2.Greeting:
        """See :meth:`Link.open`."""
        self._process = await self._cage.start(self._launch)
        greeting = asyncio.ensure_future(self.receive())
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await first_within({greeting, ended}, patience)
            if not greeting.done():
                if ended.done():
                    hint = " (does it call run()?)" if ended.result().code == 0 else ""
                    raise self._lost_by_end(ended.result(), f"ended before its greeting: {ended.result()}{hint}")
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
        ended = await self._process.ended_within(EXIT_PATIENCE)
        if ended is None:
            # Which of the two it was, gRPC does not tell a server.
            return LinkLost(
                FaultCode.DISCONNECT,
                "closed its stream while its process went on, or sent a message of more than"
                f" {MAX_MESSAGE_BYTES // 1024} KiB, which ends the stream",
            )
        return self._lost_by_end(ended, str(ended))

    def _lost_by_end(self, ended: Exit, detail: str) -> LinkLost:
        """The end of the process: by its memory, as the kernel says or its own last line does, or else a crash."""
        assert self._process is not None
        lines = self._process.log.decode(errors="replace").strip().splitlines()
        last = lines[-1][:200] if lines else ""
        memory = ended.out_of_memory or (ended.code != 0 and any(words in last for words in MEMORY_ERRORS))
        code = FaultCode.OUT_OF_MEMORY if memory else FaultCode.CRASH
        return LinkLost(code, detail, f"its last line: {last}" if last else "")
