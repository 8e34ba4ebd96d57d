"""Reads what a bot writes, on the event loop, without tasks and with bounded memory."""

from __future__ import annotations

import asyncio
import os

_CHUNK = 65536


class BoundedLog:
    """Keeps the first and the last half of a stream of bytes, with a mark where something was cut.

    Args:
        limit: how many bytes are kept at most (the mark comes on top); at least 2.
    """

    def __init__(self, limit: int) -> None:
        if limit < 2:
            raise ValueError(f"limit is {limit}; a log keeps at least 2 bytes")
        self._head_limit = limit // 2
        self._tail_limit = limit - limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0
        self.taken = 0
        """Bytes of the stream until now, kept or not."""

    def append(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.taken += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        surplus = len(self._tail) - self._tail_limit
        if surplus > 0:
            del self._tail[:surplus]
            self._cut += surplus

    def text(self) -> bytes:
        """What was kept."""
        mark = b"\n[... %d bytes cut ...]\n" % self._cut if self._cut else b""
        return bytes(self._head) + mark + bytes(self._tail)


class LogPipe:
    """The reading end of a bot's stdout and stderr: always drained, so that a flood can neither block nor fill memory.

    Args:
        descriptor: reading end of a pipe; owned and closed by this object.
        limit: as for `BoundedLog`.
    """

    def __init__(self, descriptor: int, limit: int) -> None:
        self._descriptor = descriptor
        self._kept = BoundedLog(limit)
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._readable)

    @property
    def text(self) -> bytes:
        """What was kept until now."""
        return self._kept.text()

    @property
    def taken(self) -> int:
        """Bytes that came until now, kept or not."""
        return self._kept.taken

    async def finish(self, patience: float) -> None:
        """Wait for the end of the stream, at most `patience` seconds, then close: someone may hold the other end."""
        try:
            await asyncio.wait_for(self._closed.wait(), patience)
        except TimeoutError:
            self.close()

    def close(self) -> None:
        """Stop reading."""
        if not self._closed.is_set():
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._closed.set()

    def _readable(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._kept.append(data)
        else:
            self.close()


async def readable(descriptor: int) -> None:
    """Wait until a descriptor (a pipe, a pidfd) can be read or has ended."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def read_until(descriptor: int, end: bytes) -> bytes:
    """Read from a pipe until `end` has come, however many pieces it comes in; empty when the pipe ends before."""
    data = b""
    while end not in data:
        await readable(descriptor)
        piece = os.read(descriptor, _CHUNK)
        if not piece:
            return b""
        data += piece
    return data
