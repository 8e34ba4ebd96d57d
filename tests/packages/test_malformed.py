"""Every malformed archive is refused with its own message, before anything is written."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbiter.cage import ManifestError, SnapshotLimits
from arbiter.packages import FileVersions, PackageError, PackageLimits, unpacked
from arbiter.packages import staging as staging_module
from arbiter.packages.zip import read_zip
from tests.packages import archives as a
from tests.packages.archives import Make, Member, header, member, targz, zipped
from tests.packages.malformed import BY_NAME, OTHERS, TARS, ZIPS

CASES = {
    **BY_NAME,
    **{f"tar: {name}": case for name, case in TARS.items()},
    **{f"zip: {name}": case for name, case in ZIPS.items()},
    **OTHERS,
}


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder: modes, sizes, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, content)
    return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Path]:
    """A folder with a decoy, and the staging folder's place within; nothing of it may change."""
    (tmp_path / "decoy").write_text("as it was")
    (tmp_path / "staging").mkdir()
    before = tree(tmp_path)
    yield tmp_path
    assert tree(tmp_path) == before


def test_there_are_many() -> None:
    assert len(CASES) >= 100


@pytest.mark.parametrize(("make", "expected"), CASES.values(), ids=CASES.keys())
def test_refused(make: Make, expected: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was unpacked")

    monkeypatch.setattr(staging_module.Staging, "__enter__", never)
    with (
        pytest.raises((PackageError, ManifestError), match=expected) as caught,
        unpacked(io.BytesIO(make()), world / "staging"),
    ):
        pass
    message = str(caught.value)
    assert message.isprintable(), "one line, without control characters"
    assert len(message) < 400


SMALL = PackageLimits(
    archive_bytes=4000, unpacked_bytes=1000, file_bytes=900, entries=5, depth=3, manifest_bytes=100, ratio=2
)
BEYOND: dict[str, tuple[bytes, str]] = {
    "archive": (a.tar_of({**a.GOOD, "x": os.urandom(4000)}), r"an archive of \d+ bytes; at most 4000"),
    "file of a tar": (targz(member("x", bytes(901))), r"^x: a file of 901 bytes; at most 900"),
    "file of a zip": (zipped(Member(b"x", bytes(901))), r"^x: a file of 901 bytes; at most 900"),
    "all files of a tar": (targz(member("x", bytes(800)), member("y", bytes(200))), r"^y: more than 1000 bytes in all"),
    "all files of a zip": (
        zipped(Member(b"x", bytes(800)), Member(b"y", bytes(200))),
        r"^y: more than 1000 bytes in all",
    ),
    "entries of a tar": (targz(*(header(f"f{number}") for number in range(4))), r"more than 5 files and folders"),
    "entries of a zip": (zipped(*(Member(b"%d" % number) for number in range(4))), r"more than 5 files and folders"),
    "folders count": (targz(*(header(f"f{number}/", kind=b"5") for number in range(4))), r"more than 5 files"),
    "depth": (targz(member("a/b/c/d")), r"4 folders deep; at most 3"),
    "manifest": (a.tar_of({"bot.toml": a.MANIFEST + b"#" * 99}), r"bot\.toml: \d+ bytes; at most 100"),
}


@pytest.mark.parametrize(("data", "expected"), BEYOND.values(), ids=BEYOND.keys())
def test_bounds_are_those_that_are_given(data: bytes, expected: str, world: Path) -> None:
    with pytest.raises(PackageError, match=expected), unpacked(io.BytesIO(data), world / "staging", SMALL):
        pass


def test_everything_within_bounds_passes(world: Path) -> None:
    within = targz(member("x", bytes(800)), member("y/z/w"))
    with unpacked(io.BytesIO(within), world / "staging", SMALL) as made:
        assert len(made.contents.files) == 4


@pytest.mark.parametrize("make", [TARS["bomb"][0], ZIPS["bomb"][0], a.overlapping], ids=["tar", "zip", "overlapping"])
def test_a_bomb_costs_no_memory(make: Make, world: Path) -> None:
    """Halite#236."""
    source = io.BytesIO(make())
    tracemalloc.start()
    try:
        with pytest.raises(PackageError), unpacked(source, world / "staging"):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def test_no_more_is_read_than_an_entry_declares() -> None:
    data = zipped(Member(b"o", bytes(1 << 20), size=70_000), good=False)
    _, content = next(read_zip(io.BytesIO(data), len(data), PackageLimits()))
    read: list[int] = []
    with pytest.raises(PackageError, match="has another size"):
        read.extend(map(len, content))
    assert 0 < sum(read) <= 70_000


def test_many_manifests_are_not_all_kept(world: Path) -> None:
    limits = PackageLimits(ratio=10_000)
    source = io.BytesIO(a.tar_of({f"{number}/bot.toml": b"#" * 65536 for number in range(200)}))
    tracemalloc.start()
    try:
        with pytest.raises(PackageError, match=r"bot\.toml is at 0/bot\.toml"), unpacked(source, world / "s", limits):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


def test_a_package_refused_by_the_store_leaves_nothing(world: Path) -> None:
    data = io.BytesIO(a.tar_of(a.GOOD))
    with (
        pytest.raises(Exception, match="more than 1 files"),
        unpacked(data, world / "staging") as made,
    ):
        FileVersions(made.folder / "never").put(made.folder, SnapshotLimits(max_files=1))
