"""Packing: the same bytes for the same content, nothing that would be refused, and back again."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbiter.cage import SnapshotError, take_snapshot
from arbiter.packages import PackageError, PackageLimits, pack, unpacked
from arbiter.packages.names import Tree, parts_of
from tests.packages.archives import GOOD

ROOT = Path(__file__).resolve().parents[2]
Files = dict[str, tuple[bytes, bool]]


def build(folder: Path, files: Files) -> Path:
    for relative, (content, executable) in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if executable else 0o644)
    return folder


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    return build(tmp_path / "bot", {name: (content, False) for name, content in GOOD.items()})


names = st.sampled_from(["a", "b b", "ä", "c.py", "n" * 120])
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=4).map("/".join),
    st.tuples(st.binary(max_size=2000), st.booleans()),
    max_size=6,
).filter(lambda files: not any(one != other and other.startswith(one + "/") for one in files for other in files))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(files=trees)
def test_what_was_packed_comes_out_as_the_same_version(tmp_path_factory: pytest.TempPathFactory, files: Files) -> None:
    place = tmp_path_factory.mktemp("x")
    folder = build(place / "bot", {**{name: (content, False) for name, content in GOOD.items()}, **files})
    archive = io.BytesIO()
    packed = pack(folder, archive)
    assert packed.archive_digest == hashlib.sha256(archive.getvalue()).hexdigest()
    assert packed.archive_bytes == len(archive.getvalue())
    with unpacked(archive, place / "staging") as made:
        snapshot = take_snapshot(made.folder, place / "versions")
    assert snapshot.digest == packed.version_digest == take_snapshot(folder, place / "others").digest
    assert packed.files == len(files) + 2


def test_neither_time_nor_owner_nor_order_nor_leftovers_change_a_byte(bot: Path, tmp_path: Path) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    pack(bot, first)
    other = tmp_path / "elsewhere"
    for name in reversed(GOOD):
        build(other, {name: (GOOD[name], False)})
        os.utime(other / name, (1, 1))
        (other / name).chmod(0o600)
    build(other, {"__pycache__/x": (b"x", False), ".git/HEAD": (b"x", False)})
    pack(other, second)
    assert first.getvalue() == second.getvalue()
    assert first.getvalue()[4:8] == bytes(4), "the time in gzip's header"


def test_the_executable_bit_does(bot: Path) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    one = pack(bot, first)
    (bot / "bot.py").chmod(0o755)
    two = pack(bot, second)
    assert one.version_digest != two.version_digest


REFUSED: dict[str, tuple[Files, str]] = {
    "backslash": ({"a\\b": (b"", False)}, r"a backslash in the name"),
    "case": ({"BOT.py": (b"", False)}, r"bot\.py: differs from BOT\.py by case alone"),
    "device": ({"aux.py": (b"", False)}, r"'aux\.py' names a device"),
    "large file": ({"x": (bytes(101), False)}, r"x: a file of 101 bytes; at most 100"),
    "too many": ({f"{number}": (b"", False) for number in range(6)}, r"more than 6 files"),
    "all together": ({"x": (bytes(99), False), "y": (bytes(99), False)}, r"more than 200 bytes in all files"),
    "archive": ({"x": (os.urandom(90), False)}, r"an archive of more than 250 bytes"),
}


@pytest.mark.parametrize(("files", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_service_would_refuse_is_refused_before_it_is_sent(files: Files, expected: str, bot: Path) -> None:
    limits = PackageLimits(archive_bytes=250, unpacked_bytes=200, file_bytes=100, entries=6)
    build(bot, files)
    with pytest.raises((PackageError, SnapshotError), match=expected):
        pack(bot, io.BytesIO(), limits)


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=r"no bot\.toml in it"):
        pack(tmp_path, io.BytesIO())


def test_a_name_that_is_no_utf8(bot: Path) -> None:
    Path(os.fsdecode(os.fsencode(bot) + b"/caf\xe9")).write_bytes(b"")
    with pytest.raises(PackageError, match="not valid UTF-8"):
        pack(bot, io.BytesIO())


def test_packing_needs_the_standard_library_alone(bot: Path) -> None:
    """So that a contestant's base install can submit."""
    code = (
        "import importlib.abc, sys\n"
        "class Refuse(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] not in sys.stdlib_module_names | {'arbiter'}:\n"
        "            raise ModuleNotFoundError(f'refused: {name}', name=name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import io, pathlib\n"
        "from arbiter.packages import pack\n"
        "print(pack(pathlib.Path(sys.argv[1]), io.BytesIO()).version_digest)\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(bot)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == pack(bot, io.BytesIO()).version_digest


LIMITS = PackageLimits()


@given(st.binary(max_size=60) | st.text(max_size=30).map(str.encode))
def test_a_path_is_refused_or_safe(raw: bytes) -> None:
    try:
        parts = parts_of(raw, LIMITS)
    except PackageError as error:
        message = str(error)
        if not message.isprintable():
            raise AssertionError(f"not one line: {message!r}") from error
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
    normal = os.path.normpath(os.path.join("/top", *parts))
    assert normal == "/".join(["/top", *parts])


@given(st.lists(st.sampled_from(["a", "A", "b", "a/b", "A/b", "b/c", "straße", "strasse", "a/B"]), max_size=6))
def test_paths_that_pass_stay_apart_on_every_system(paths: list[str]) -> None:
    tree = Tree()
    try:
        for path in paths:
            tree.add(tuple(path.split("/")), folder=False)
    except PackageError:
        return
    every = {"/".join(path.split("/")[:length]) for path in paths for length in range(1, path.count("/") + 2)}
    assert len({path.casefold() for path in every}) == len(every)
    assert len(set(paths)) == len(paths)
    assert not any(other.startswith(path + "/") for path in paths for other in paths)
