"""zstd with a bound on what comes out."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.compression import CompressionError, compress, decompress

DATA = b"again and " * 1000


@given(st.binary(max_size=300))
def test_what_was_compressed_comes_out_again(data: bytes) -> None:
    assert decompress(compress(data), max(1, len(data))) == data


def test_as_much_as_is_allowed_and_no_byte_more() -> None:
    assert decompress(compress(DATA), len(DATA)) == DATA
    with pytest.raises(CompressionError, match=f"holds more than {len(DATA) - 1} bytes"):
        decompress(compress(DATA), len(DATA) - 1)


def test_a_bomb_takes_no_memory() -> None:
    bomb = compress(bytes(200_000_000))
    assert len(bomb) < 20_000
    tracemalloc.start()
    with pytest.raises(CompressionError, match="holds more than 100000 bytes"):
        decompress(bomb, 100_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is cut off"),
        (compress(DATA)[:-1], "is cut off"),
        (compress(DATA) + b"x", "bytes follow its end"),
        (compress(DATA) * 2, "bytes follow its end"),
        (b"no frame", "no zstd data"),
        (compress(DATA)[:-1] + b"\0", "no zstd data|is cut off"),
    ],
)
def test_what_is_no_whole_frame_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(CompressionError, match=message):
        decompress(data, 1 << 20)
