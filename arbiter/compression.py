"""zstd (RFC 8878), with a bound on what comes out."""

from __future__ import annotations

from typing import Final

from backports import zstd

from arbiter.errors import ArbiterError

LARGEST_WINDOW: Final = 23
"""Binary logarithm of the memory in bytes that reading may take: what no level up to 19 goes beyond."""


class CompressionError(ArbiterError):
    """Data that is no whole zstd frame, or holds more than is allowed."""


def compress(data: bytes) -> bytes:
    """The data as one frame."""
    return zstd.compress(data)


def decompress(data: bytes, most: int) -> bytes:
    """What a frame holds. However much that is, no more than ``most`` bytes and the window are taken of memory.

    Raises:
        CompressionError: it is no frame, is cut off, holds more than ``most`` bytes, or something follows it.
    """
    reader = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW})
    try:
        content = reader.decompress(data, max_length=most)
        # A frame that is full to the last byte allowed is known to end only once more is asked for.
        over = bool(content) and not reader.eof and bool(reader.decompress(b"", max_length=1))
    except zstd.ZstdError as error:
        raise CompressionError(f"no zstd data: {error}") from error
    if over:
        raise CompressionError(f"holds more than {most} bytes")
    if not reader.eof:
        raise CompressionError("is cut off")
    if reader.unused_data:
        raise CompressionError("bytes follow its end")
    return content
