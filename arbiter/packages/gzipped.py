"""A gzip stream that is decompressed in small pieces, and refused for everything that a plain ``tar -z`` has not."""

from __future__ import annotations

import zlib
from typing import BinaryIO

from arbiter.packages.limits import CHUNK, PackageError, PackageLimits, RatioGuard

MAGIC = b"\x1f\x8b"
_TRUNCATED = "the archive ends in the middle (truncated); send it again"


class GunzipStream:
    """The content of the one gzip member that a file holds (RFC 1952).

    Args:
        source: at its beginning.
        limits: of them, the ratio.
    """

    def __init__(self, source: BinaryIO, limits: PackageLimits) -> None:
        self._source = source
        self._member = zlib.decompressobj(wbits=31)
        self._guard = RatioGuard(limits, "the archive")
        self._consumed = 0
        self._produced = 0
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """The next `size` bytes at the most, at most `CHUNK`; nothing at the end.

        Raises:
            PackageError: the stream is damaged, cut, a bomb, or something follows it.
        """
        while not self._member.eof:
            if not self._waiting:
                self._waiting = self._source.read(CHUNK)
                self._consumed += len(self._waiting)
            if not self._waiting:
                raise PackageError(_TRUNCATED)
            try:
                data = self._member.decompress(self._waiting, min(size, CHUNK))
            except zlib.error as error:
                raise PackageError(_damage(str(error))) from None
            self._waiting = self._member.unconsumed_tail
            self._produced += len(data)
            self._guard.check(self._consumed - len(self._waiting), self._produced)
            if data:
                return data
        self._end()
        return b""

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end of the stream; `size` is small."""
        data = bytearray()
        while len(data) < size and (piece := self.read(size - len(data))):
            data += piece
        return bytes(data)

    def _end(self) -> None:
        rest = self._member.unused_data or self._source.read(CHUNK)
        if rest.startswith(MAGIC):
            raise PackageError("a second gzip stream follows the first; compress the tar as one")
        if rest:
            raise PackageError("bytes follow the end of the gzip stream; make the archive again")


def _damage(said: str) -> str:
    if "data check" in said or "length check" in said:
        return "the archive's checksum (CRC) does not fit its content; send it again"
    return "the archive's compressed data is damaged; send it again"
