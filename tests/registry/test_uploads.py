"""Uploads: continued where they broke off, and nothing but what was declared."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import InfrastructureError, UsageError
from arbiter.registry.uploads import (
    MAX_AGE,
    MAX_PENDING,
    Declared,
    TooManyUploads,
    UploadRefused,
    Uploads,
    WrongOffset,
)

DATA = bytes(range(256)) * 4


def declared(data: bytes = DATA, owner: str = "ada", request_id: str = "one") -> Declared:
    return Declared(owner, request_id, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path / "uploads", 10_000)


def files(uploads: Uploads) -> list[Path]:
    return [path for path in uploads._folder.rglob("*") if path.is_file()]


class Broken(Exception):
    """The connection is gone."""


def send(uploads: Uploads, what: Declared, data: bytes, offset: int = 0) -> bytes:
    with uploads.open(what, offset) as upload:
        upload.write(data)
        return upload.whole().read()


def break_off(uploads: Uploads, what: Declared, data: bytes, offset: int) -> None:
    def begin() -> None:
        with uploads.open(what, offset) as upload:
            upload.write(data)
            raise Broken

    with pytest.raises(Broken):
        begin()


def test_what_was_sent_arrives_and_nothing_stays(uploads: Uploads) -> None:
    assert send(uploads, declared(), DATA) == DATA
    assert files(uploads) == []


@given(st.lists(st.integers(0, len(DATA)), max_size=5).map(sorted))
def test_a_broken_upload_is_continued_where_it_broke(tmp_path_factory: pytest.TempPathFactory, ends: list[int]) -> None:
    uploads = Uploads(tmp_path_factory.mktemp("uploads"), 10_000)
    for end in ends:
        at = uploads.received("ada", "one")
        break_off(uploads, declared(), DATA[at:end], at)
    at = uploads.received("ada", "one")
    assert at == max(ends, default=0)
    assert send(uploads, declared(), DATA[at:], at) == DATA


def test_another_offset_is_refused_with_where_it_stands(uploads: Uploads) -> None:
    break_off(uploads, declared(), DATA[:100], 0)
    for offset in (0, 99, 101):
        with pytest.raises(WrongOffset, match=f"100 bytes have arrived; go on there, not at {offset}"):
            send(uploads, declared(), DATA, offset)
    assert uploads.received("ada", "one") == 100


def test_two_streams_do_not_mix(uploads: Uploads) -> None:
    with uploads.open(declared(), 0) as upload:
        with pytest.raises(WrongOffset, match="another stream sends this upload"):
            send(uploads, declared(), DATA)
        upload.write(DATA)
        assert upload.whole().read() == DATA


def test_a_stream_that_comes_as_another_gives_up_does_not_write_into_what_that_deletes(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ExitStack()
    first.enter_context(uploads.open(declared(), 0))

    def give_up_before(file: IO[bytes], how: int, lock: Callable[[IO[bytes], int], None] = fcntl.flock) -> None:
        first.close()  # of which nothing came, so that its file goes
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", give_up_before)
    break_off(uploads, declared(), DATA[:100], 0)
    assert uploads.received("ada", "one") == 100


def test_owners_do_not_meet(uploads: Uploads) -> None:
    break_off(uploads, declared(), DATA[:100], 0)
    assert uploads.received("bob", "one") == 0
    assert send(uploads, declared(owner="bob"), DATA) == DATA
    assert uploads.received("ada", "one") == 100


def test_content_that_was_not_declared_is_refused_and_forgotten(uploads: Uploads) -> None:
    other = DATA[:-1] + b"!"
    with pytest.raises(UploadRefused, match=r"the package has SHA-256 \w{64}, but \w{64} was declared; send it anew"):
        send(uploads, declared(), other)
    assert uploads.received("ada", "one") == 0
    with pytest.raises(UploadRefused, match="more than the 1024 bytes came"):
        send(uploads, declared(), DATA + b"!")
    with pytest.raises(UploadRefused, match="1023 of 1024 bytes came; go on with the same request id"):
        send(uploads, declared(), DATA[:-1])
    assert uploads.received("ada", "one") == 1023


def test_a_whole_upload_that_is_refused_does_not_stay(uploads: Uploads) -> None:
    def refuse(error: Exception) -> None:
        with uploads.open(declared(), uploads.received("ada", "one")) as upload:
            upload.write(DATA[uploads.received("ada", "one") :])
            upload.whole()
            raise error

    with pytest.raises(InfrastructureError):
        refuse(InfrastructureError("the disk is full"))
    assert uploads.received("ada", "one") == len(DATA), "it can be tried again"
    with pytest.raises(UsageError, match="no bot"):
        refuse(UsageError("no bot"))
    assert files(uploads) == []


@pytest.mark.parametrize("request_id", ["", "a" * 65, "../up", "a/b", ".", "..", "a\0", "ä"])
def test_an_id_that_is_no_file_name_is_refused(uploads: Uploads, request_id: str) -> None:
    with pytest.raises(UsageError, match="write 1 to 64 letters"):
        uploads.received("ada", request_id)
    with pytest.raises(UsageError, match="write 1 to 64 letters"):
        send(uploads, declared(request_id=request_id), DATA)


@pytest.mark.parametrize("owner", ["..", "../..", "a/b", "\0"])
def test_no_owner_leaves_the_folder(uploads: Uploads, owner: str) -> None:
    break_off(uploads, declared(owner=owner), DATA, 0)
    (file,) = files(uploads)
    assert file.parent.parent == uploads._folder


@pytest.mark.parametrize(("size", "sha256"), [(0, "0" * 64), (10_001, "0" * 64), (5, "0" * 63), (5, "G" * 64)])
def test_what_can_not_be_is_refused_before_a_byte(uploads: Uploads, size: int, sha256: str) -> None:
    with pytest.raises(UploadRefused), uploads.open(Declared("ada", "one", size, sha256), 0):
        pytest.fail("it was taken")
    assert not uploads._folder.exists()


def test_unfinished_uploads_are_bounded_and_do_not_stay_for_ever(uploads: Uploads) -> None:
    for number in range(MAX_PENDING):
        break_off(uploads, declared(request_id=f"r{number}"), b"x", 0)
    with pytest.raises(TooManyUploads, match="has 4 unfinished uploads"):
        send(uploads, declared(request_id="another"), DATA)
    assert send(uploads, declared(owner="bob"), DATA) == DATA
    break_off(uploads, declared(request_id="r0"), b"y", 1)  # which is no further one
    old = files(uploads)[0]
    os.utime(old, (old.stat().st_mtime - MAX_AGE - 1,) * 2)
    assert send(uploads, declared(request_id="another"), DATA) == DATA
    assert old not in files(uploads)
