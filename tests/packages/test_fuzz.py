"""Archives changed at random: each is refused in one line or unpacked whole; nothing else is ever raised."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.cage import ManifestError
from arbiter.packages import PackageError, unpacked
from tests.packages.archives import END, GOOD, Member, good_members, header, member, pax, zip_of, zipped

TAR = (
    pax(kind=b"g", comment="x")
    + good_members()
    + header("lib/", kind=b"5")
    + pax(path="lib/ä")
    + member("x", b"y")
    + END
)
ZIPS = [
    zip_of({**GOOD, "lib/ä": b"y" * 99}),
    zipped(Member(b"x", b"", flags=8, descriptor=b"PK\7\x08" + bytes(4) + b"\2\0\0\0" + bytes(4)), comment=b"x" * 9),
]
# The fields of headers matter more than names and padding, and so do small and extreme values.
byte = st.sampled_from([0, 1, 8, 0x20, 0x2F, 0x30, 0x37, 0x80, 0xFF]) | st.integers(0, 255)
edit = st.tuples(st.sampled_from(["set", "cut", "insert", "repeat"]), st.integers(0, 1 << 16), byte)


def changed(data: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    for what, place, value in edits:
        at = place % (len(data) + 1)
        match what:
            case "set":
                data = data[:at] + bytes([value]) + data[at + 1 :]
            case "cut":
                data = data[:at] + data[at + value :]
            case "insert":
                data = data[:at] + bytes([value]) * (1 + value % 40) + data[at:]
            case "repeat":
                data = data[:at] + data[max(0, at - 46) :]
    return data


def try_it(data: bytes, place: Path) -> None:
    staging = place / "staging"
    try:
        with unpacked(io.BytesIO(data), staging) as made:
            found = [path for path in made.folder.rglob("*") if path.is_file()]
            assert len(found) == len(made.contents.files)
            assert sum(path.stat().st_size for path in found) == made.contents.size
    except (PackageError, ManifestError) as error:
        if not str(error).isprintable():
            raise AssertionError(f"not one line: {error!r}") from error
    assert os.listdir(place) in ([], ["staging"])
    assert not staging.exists() or os.listdir(staging) == []


@settings(max_examples=400)
@given(edits=st.lists(edit, min_size=1, max_size=4), whole=st.booleans())
def test_changed_tars(tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int]], whole: bool) -> None:
    """Changed before they are compressed, where the checksum still fits, or after."""
    data = gzip.compress(changed(TAR, edits), 1, mtime=0) if whole else changed(gzip.compress(TAR, mtime=0), edits)
    try_it(data, tmp_path_factory.mktemp("x"))


@settings(max_examples=400)
@given(edits=st.lists(edit, min_size=1, max_size=4), kind=st.sampled_from(ZIPS))
def test_changed_zips(tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, int, int]], kind: bytes) -> None:
    try_it(changed(kind, edits), tmp_path_factory.mktemp("x"))


@settings(max_examples=100)
@given(data=st.binary(max_size=1200), begin=st.sampled_from([b"", b"\x1f\x8b\x08", b"PK\3\4", b"PK\5\6"]))
def test_noise(tmp_path_factory: pytest.TempPathFactory, data: bytes, begin: bytes) -> None:
    try_it(begin + data, tmp_path_factory.mktemp("x"))
