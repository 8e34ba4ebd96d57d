"""The log of a bot: bounded, with its beginning and its end."""

from __future__ import annotations

import asyncio
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.cage.pipes import BoundedLog, LogPipe


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(2, 60))
def test_keeps_all_when_it_fits_else_both_ends_and_the_count_of_what_was_cut(chunks: list[bytes], limit: int) -> None:
    log = BoundedLog(limit)
    for chunk in chunks:
        log.append(chunk)
    whole = b"".join(chunks)
    assert log.taken == len(whole)
    if len(whole) <= limit:
        assert log.text() == whole
    else:
        head, tail = whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :]
        assert log.text() == head + b"\n[... %d bytes cut ...]\n" % (len(whole) - limit) + tail


def test_a_limit_below_two_is_refused() -> None:
    with pytest.raises(ValueError, match="limit is 1"):
        BoundedLog(1)


def test_a_pipe_that_someone_else_holds_open_is_closed_after_a_while() -> None:
    async def scenario() -> bytes:
        reading, writing = os.pipe()
        log = LogPipe(reading, 100)
        os.write(writing, b"words")
        await log.finish(0.05)
        with pytest.raises(BrokenPipeError):
            os.write(writing, b"more")
        os.close(writing)
        return log.text

    assert asyncio.run(scenario()) == b"words"
