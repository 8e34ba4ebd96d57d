"""Good packages, as common tools write them, and what becomes of them; unpacking under a race."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arbiter.cage import ManifestError
from arbiter.packages import PackageError, StagingError, unpacked
from arbiter.packages.staging import EPOCH, Staging
from tests.packages import archives as a
from tests.packages.archives import GOOD, Member, header, member, pax, tar_of, targz, zip_of, zipped


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def contents(data: bytes, staging: Path) -> dict[str, bytes]:
    with unpacked(io.BytesIO(data), staging) as made:
        files = read(made.folder)
        assert sorted(path.as_posix() for path in made.contents.files) == sorted(files)
        assert sum(map(len, files.values())) == made.contents.size
    assert list(staging.iterdir()) == [], "the staging folder is gone"
    return files


LONG = "a" * 90 + "/" + "b" * 90
GOOD_ARCHIVES: dict[str, tuple[bytes, dict[str, bytes]]] = {
    "pax": (tar_of({**GOOD, LONG: b"x", "ä.py": b"y"}), {**GOOD, LONG: b"x", "ä.py": b"y"}),
    "gnu": (tar_of({**GOOD, LONG: b"x"}, tarfile.GNU_FORMAT), {**GOOD, LONG: b"x"}),
    "ustar": (tar_of({**GOOD, LONG: b"x"}, tarfile.USTAR_FORMAT), {**GOOD, LONG: b"x"}),
    "tar with ./": (
        targz(
            header("./", kind=b"5"),
            *(member(f"./{name}", content) for name, content in GOOD.items()),
            good=False,
        ),
        GOOD,
    ),
    "tar with a global comment": (targz(pax(kind=b"g", comment="0123abcd"), a.good_members(), good=False), GOOD),
    "tar with one top folder": (tar_of({f"bot-1.0/{name}": content for name, content in GOOD.items()}), GOOD),
    "zip": (zip_of({**GOOD, "ä/b": b"x"}), {**GOOD, "ä/b": b"x"}),
    "zip with one top folder": (zip_of({f"bot-main/{name}": content for name, content in GOOD.items()}), GOOD),
    "zip with macOS's folder": (
        zip_of({**{f"bot/{name}": content for name, content in GOOD.items()}, "__MACOSX/bot/._bot.py": b"x"}),
        GOOD,
    ),
    "zip with a comment": (zipped(comment=b"0123abcd" * 5), GOOD),
    "zip of Windows": (zipped(Member(b"lib/x", b"y", system=0, attributes=0x20)), {**GOOD, "lib/x": b"y"}),
    "zip as a stream": (
        zipped(Member(b"x", b"", flags=8, descriptor=b"PK\7\x08" + bytes(4) + b"\2\0\0\0" + bytes(4))),
        {**GOOD, "x": b""},
    ),
    "stored": (zipped(Member(b"x", b"y" * 200_000, method=0)), {**GOOD, "x": b"y" * 200_000}),
    "large and random": (tar_of({**GOOD, "x": bytes(range(256)) * 3000}), {**GOOD, "x": bytes(range(256)) * 3000}),
}


@pytest.mark.parametrize(("data", "files"), GOOD_ARCHIVES.values(), ids=GOOD_ARCHIVES.keys())
def test_good_packages_are_unpacked(data: bytes, files: dict[str, bytes], tmp_path: Path) -> None:
    assert contents(data, tmp_path / "staging") == files


@pytest.mark.parametrize(
    "command",
    [["tar", "-czf", "out", "-C", "bot", "."], ["tar", "--format=gnu", "-czf", "out", "bot"]],
    ids=["tar of the files", "tar of the folder"],
)
def test_what_tar_writes_is_read(command: list[str], tmp_path: Path) -> None:
    for name, content in GOOD.items():
        path = tmp_path / "bot" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    subprocess.run(command, cwd=tmp_path, check=True)
    assert contents((tmp_path / "out").read_bytes(), tmp_path / "staging") == GOOD


def test_what_git_writes_is_read(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for name, content in GOOD.items():
        (tmp_path / name).write_bytes(content)
    subprocess.run([*git, "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run([*git, "add", "."], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-qm", "x"], cwd=tmp_path, check=True)
    for kind in ("tar.gz", "zip"):
        done = subprocess.run(
            [*git, "archive", f"--format={kind}", "--prefix=bot/", "HEAD"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        assert contents(done.stdout, tmp_path / "staging") == GOOD


def test_modes_and_times_are_fixed(tmp_path: Path) -> None:
    data = targz(
        member("lib/run", b"#!", mode=b"0006755\0"),
        header("empty/", kind=b"5", mode=b"0000000\0"),
        member("w", b"", mode=b"0001666\0"),
    )
    before = os.umask(0o077)
    try:
        with unpacked(io.BytesIO(data), tmp_path / "staging") as made:
            found = {p.relative_to(made.folder).as_posix(): p.stat() for p in made.folder.rglob("*")}
    finally:
        os.umask(before)
    modes = {name: oct(status.st_mode) for name, status in found.items()}
    assert modes == {
        "bot.toml": "0o100644",
        "bot.py": "0o100644",
        "lib": "0o40755",
        "lib/run": "0o100755",
        "empty": "0o40755",
        "w": "0o100644",
    }
    assert {status.st_mtime for status in found.values()} == {EPOCH}


def test_zip_keeps_who_may_execute_and_drops_setuid(tmp_path: Path) -> None:
    data = zipped(Member(b"run", b"#!", mode=stat.S_IFREG | 0o6755), Member(b"d/", mode=stat.S_IFDIR | 0o700))
    with unpacked(io.BytesIO(data), tmp_path / "staging") as made:
        assert oct((made.folder / "run").stat().st_mode) == "0o100755"
        assert oct((made.folder / "d").stat().st_mode) == "0o40755"


def test_which_top_folder_was_taken_off_is_told(tmp_path: Path) -> None:
    with unpacked(io.BytesIO(tar_of({f"bot-1.0/{n}": c for n, c in GOOD.items()})), tmp_path) as made:
        assert made.contents.top == "bot-1.0"
        assert made.manifest.name == "tiny"
    with unpacked(io.BytesIO(tar_of(GOOD)), tmp_path) as made:
        assert made.contents.top is None


def test_what_a_build_makes_need_not_be_there_before(tmp_path: Path) -> None:
    manifest = b'[bot]\nname = "c"\nruntime = "cpp"\nrun = ["./bot"]\n'
    data = tar_of({"bot.toml": manifest, "main.cpp": b""})
    with unpacked(io.BytesIO(data), tmp_path) as made:
        assert made.manifest.runtime == "cpp"
    with (
        pytest.raises(ManifestError, match="not a file of the package"),
        unpacked(io.BytesIO(data), tmp_path, built=True),
    ):
        pass


def test_the_archive_that_is_two_is_read_by_both_readers() -> None:
    """Else its refusal would show nothing."""
    data = a.gzip_and_zip()
    assert gzip.decompress(data)
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == list(GOOD)


class Replacing(io.BytesIO):
    """A package that does something each time that it is read from its beginning."""

    def __init__(self, data: bytes, act: Callable[[], None]) -> None:
        super().__init__(data)
        self._act = act
        self._begun = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset == 0 and whence == os.SEEK_END:
            self._begun += 1
            if self._begun == 2:  # checked; about to be unpacked
                self._act()
        return super().seek(offset, whence)


def test_an_archive_that_changes_after_its_check_is_refused(tmp_path: Path) -> None:
    bad = targz(member("../evil", b"x"))
    source: Replacing
    data = tar_of(GOOD)

    def change() -> None:
        source.truncate(0)
        io.BytesIO.seek(source, 0)
        source.write(bad)

    source = Replacing(data, change)
    with pytest.raises(PackageError, match=r"\.\. in the path"), unpacked(source, tmp_path / "staging"):
        pass
    assert list((tmp_path / "staging").iterdir()) == []
    assert not list(tmp_path.rglob("evil"))


def test_a_link_put_in_a_folders_place_leads_nowhere(tmp_path: Path) -> None:
    """Between two files of one folder somebody puts a link to another folder in its place."""
    outside = tmp_path / "outside"
    outside.mkdir()
    with Staging(tmp_path / "staging") as staging:
        staging.add_file(("lib", "one"), False, [b"x"])
        shutil.rmtree(staging.path / "lib")
        (staging.path / "lib").symlink_to(outside)
        with pytest.raises(StagingError, match=r"lib: can't be unpacked"):
            staging.add_file(("lib", "two"), False, [b"x"])
        (staging.path / "three").symlink_to(outside / "three")
        with pytest.raises(StagingError, match=r"three: can't be unpacked"):
            staging.add_file(("three",), False, [b"x"])
    assert list(outside.iterdir()) == []
    assert list((tmp_path / "staging").iterdir()) == []


def test_nothing_gets_outside_while_somebody_swaps_folders(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    over = threading.Event()

    def swap(folder: Path) -> None:
        while not over.is_set():
            for name in ("a", "b"):
                path = folder / name
                try:
                    os.rename(path, folder / f"was-{name}-{os.urandom(4).hex()}")
                    path.symlink_to(outside)
                    path.unlink()
                except OSError:  # the other side was faster
                    continue

    with Staging(tmp_path / "staging") as staging:
        thread = threading.Thread(target=swap, args=(staging.path,))
        thread.start()
        try:
            for number in range(500):
                try:
                    staging.add_file(("ab"[number % 2], f"{number}"), False, [b"x"])
                except StagingError:
                    continue
        finally:
            over.set()
            thread.join()
    assert list(outside.iterdir()) == []


def test_a_full_disk_is_no_fault_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StagingError, match="nothing can be unpacked there"),
        unpacked(io.BytesIO(tar_of(GOOD)), tmp_path / "file"),
    ):
        pass
