"""The store of versions, in files and in objects: one suite for both."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import shutil
import socket
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import fsspec  # type: ignore[import-untyped]  # has no types of its own, and nobody publishes stubs
import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]  # likewise
from moto.server import ThreadedMotoServer

from arbiter.cage import Snapshot, take_snapshot, verify_snapshot
from arbiter.errors import InfrastructureError
from arbiter.packages import FileVersions, ForeignContents, VersionMissing, Versions
from arbiter.packages.objects import ObjectVersions
from tests.packages.archives import GOOD
from tests.patience import PATIENCE

Make = Callable[[], Versions]
NOWHERE = "0" * 64


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Where a server is that speaks S3."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else it writes a line for each request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture(params=["files", "objects in memory", "objects in files", "objects in S3"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Opens the same store again and again, each time as another machine would: with a cache of its own."""
    bucket = f"memory://{uuid.uuid4().hex}/bots" if "memory" in request.param else f"file://{tmp_path}/bucket/bots"
    options: dict[str, object] = {}
    if "S3" in request.param:
        endpoint, name = request.getfixturevalue("s3"), f"bucket-{uuid.uuid4().hex}"
        with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")):
            bucket = f"s3://{name}/bots"
        options = {"key": "ada", "secret": "lovelace", "endpoint_url": endpoint}

    def opened() -> Versions:
        if request.param == "files":
            return FileVersions(tmp_path / "versions")
        machine = tmp_path / uuid.uuid4().hex
        return ObjectVersions(bucket, FileVersions(machine / "cache"), machine / "staging", **options)

    return opened


def bot(folder: Path, text: str = "print()") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in GOOD.items():
        (folder / name).write_bytes(content)
    (folder / "bot.py").write_text(text)
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "lib" / "run").write_text("#!")
    (folder / "lib" / "run").chmod(0o755)
    return folder


def test_what_was_put_is_opened_elsewhere(make: Make, tmp_path: Path) -> None:
    snapshot = make().put(bot(tmp_path / "bot"))
    path = make().open(snapshot.digest)
    assert verify_snapshot(path)
    assert (path / "bot.py").read_text() == "print()"
    assert (path / "lib" / "run").stat().st_mode & 0o777 == 0o755
    assert make().digests() == [snapshot.digest]


def test_the_same_content_is_the_same_version(make: Make, tmp_path: Path) -> None:
    store = make()
    first = store.put(bot(tmp_path / "one"))
    assert store.put(bot(tmp_path / "two")).digest == first.digest
    assert store.put(bot(tmp_path / "three", "print(3)")).digest != first.digest
    assert len(store.digests()) == 2


def test_what_is_not_there(make: Make) -> None:
    assert make().digests() == []
    assert make().sweep([], age=0) == []
    with pytest.raises(VersionMissing, match=f"there is no version {NOWHERE}"):
        make().open(NOWHERE)
    for wrong in ("../../etc", NOWHERE.upper().replace("0", "A"), ""):
        with pytest.raises(VersionMissing, match="no version's digest"):
            make().open(wrong)


def test_sweeping_deletes_what_is_old_and_not_referenced(make: Make, tmp_path: Path) -> None:
    store = make()
    kept, lost = (store.put(bot(tmp_path / text, text)).digest for text in ("kept", "lost"))
    assert store.sweep([kept]) == [], "too young"
    assert store.sweep([kept], age=0) == [lost]
    assert store.digests() == [kept]
    assert verify_snapshot(make().open(kept))
    with pytest.raises(VersionMissing):
        store.open(lost)
    assert store.put(bot(tmp_path / "lost", "lost")).digest == lost


def test_sweeping_deletes_what_killed_processes_left(make: Make, tmp_path: Path) -> None:
    """A copy that was never finished, and what was being deleted."""
    store = make()
    digest = store.put(bot(tmp_path / "bot")).digest
    root = store.open(digest).parent
    for name in (".new-abc", ".deleted-abc"):
        (root / name / "half").mkdir(parents=True)
    store.sweep([digest])
    assert sorted(path.name for path in root.iterdir() if path.name != ".lock") == [digest]


def test_what_goes_while_it_is_looked_at_is_missing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make()
    digest = store.put(bot(tmp_path / "bot")).digest
    path = store.open(digest)
    look = Path.lstat

    def swept(item: Path) -> os.stat_result:
        if item.parent == path and path.exists():
            shutil.rmtree(path)
        return look(item)

    monkeypatch.setattr(Path, "lstat", swept)
    assert not verify_snapshot(path)


def test_a_store_is_one_databases(make: Make, tmp_path: Path) -> None:
    first, second = "1" * 32, "2" * 32
    make().claim(first)
    make().put(bot(tmp_path / "bot"))
    make().claim(first)
    with pytest.raises(ForeignContents, match=r"holds the bots of another database.*delete .*/\.database$"):
        make().claim(second)
    assert len(make().digests()) == 1, "the mark is no version"


def test_of_databases_that_take_a_folder_at_once_one_has_it(tmp_path: Path) -> None:
    won: list[str] = []
    barrier = threading.Barrier(8)

    def take(database: str) -> None:
        barrier.wait()
        with contextlib.suppress(ForeignContents):
            FileVersions(tmp_path / "versions").claim(database)
            won.append(database)

    threads = [threading.Thread(target=take, args=(str(number) * 32,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (tmp_path / "versions" / ".database").read_text() == f"{won[0]}\n"


@pytest.mark.parametrize("make", ["objects in memory", "objects in files", "objects in S3"], indirect=True)
def test_of_databases_that_both_found_an_empty_store_of_objects_one_has_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = "1" * 32, "2" * 32
    later = make()
    assert isinstance(later, ObjectVersions)
    make_folders = later._files.makedirs

    def quicker(*arguments: object, **options: object) -> None:
        make().claim(first)
        make_folders(*arguments, **options)

    monkeypatch.setattr(later._files, "makedirs", quicker)
    with pytest.raises(ForeignContents):
        later.claim(second)
    make().claim(first)


def test_a_store_that_can_not_write_on_a_condition_is_taken_all_the_same(tmp_path: Path) -> None:
    """Such as an S3 of other makers."""

    class Unconditional(MemoryFileSystem):  # type: ignore[misc]  # has no types
        protocol = "unconditional"

        def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: object) -> None:
            if mode == "create":
                raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
            super().pipe_file(path, value, **options)

    fsspec.register_implementation("unconditional", Unconditional, clobber=True)
    url = f"unconditional://{uuid.uuid4().hex}/bots"
    ObjectVersions(url, FileVersions(tmp_path / "cache"), tmp_path / "staging").claim("1" * 32)
    with pytest.raises(ForeignContents):
        ObjectVersions(url, FileVersions(tmp_path / "cache"), tmp_path / "staging").claim("2" * 32)


def test_a_store_of_objects_that_is_away_is_said(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        options = {
            "key": "ada",
            "secret": "lovelace",
            "endpoint_url": f"http://127.0.0.1:{nobody.getsockname()[1]}",
            "config_kwargs": {"retries": {"total_max_attempts": 1}},
        }
        store = ObjectVersions("s3://bucket/bots", FileVersions(tmp_path / "cache"), tmp_path / "staging", **options)
        uses: list[Callable[[], object]] = [
            lambda: store.claim("1" * 32),
            lambda: store.put(bot(tmp_path / "bot")),
            lambda: store.open(NOWHERE),
            store.digests,
            lambda: store.sweep([], age=0),
        ]
        for use in uses:
            with pytest.raises(InfrastructureError, match="s3://bucket/bots: can't be used: Could not connect"):
                use()


def test_many_at_once(make: Make, tmp_path: Path) -> None:
    folders = [bot(tmp_path / f"bot{number}", f"print({number % 2})") for number in range(8)]
    stores = [make() for _ in range(4)]
    failures: list[BaseException] = []

    def put(number: int) -> None:
        try:
            for _ in range(3):
                store = stores[number % 4]
                assert verify_snapshot(store.open(store.put(folders[number]).digest))
        except BaseException as error:  # noqa: BLE001  # shown by the test itself, with its kind
            failures.append(error)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(make().digests()) == 2


def test_what_was_put_again_is_young_again(tmp_path: Path) -> None:
    store = FileVersions(tmp_path / "versions")
    again, old = (store.put(bot(tmp_path / text, text)) for text in ("again", "old"))
    for snapshot in (again, old):
        os.utime(snapshot.path, (1, 1))
    store.put(tmp_path / "again")
    assert store.sweep([]) == [old.digest]
    assert store.digests() == [again.digest]


def test_nothing_is_swept_while_it_is_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put is stopped between finding that a version is there and making it young again."""
    store = FileVersions(tmp_path / "versions")
    folder = bot(tmp_path / "bot")
    os.utime(store.put(folder).path, (1, 1))
    found, locked = threading.Event(), threading.Event()

    def slow(*arguments: object) -> Snapshot:
        snapshot = take_snapshot(*arguments)  # type: ignore[arg-type]  # the store's own
        found.set()
        assert locked.wait(PATIENCE), "the sweep did not get as far as the lock"
        return snapshot

    def lock(file: IO[bytes], how: int) -> None:
        if how == fcntl.LOCK_EX:
            assert found.wait(PATIENCE)
            with pytest.raises(BlockingIOError):  # what it would wait for is held
                original(file, how | fcntl.LOCK_NB)
            locked.set()
        original(file, how)

    original = fcntl.flock
    monkeypatch.setattr("arbiter.packages.versions.take_snapshot", slow)
    monkeypatch.setattr("arbiter.packages.versions.fcntl.flock", lock)
    swept: list[str] = []
    thread = threading.Thread(target=lambda: swept.extend(store.sweep([])))
    thread.start()
    try:
        snapshot = store.put(folder)
    finally:
        thread.join()
    assert swept == []
    assert verify_snapshot(store.open(snapshot.digest))


def test_damage_in_files_is_refused_and_mended_by_the_next_put(tmp_path: Path) -> None:
    store = FileVersions(tmp_path / "versions")
    folder = bot(tmp_path / "bot")
    snapshot = store.put(folder)
    (snapshot.path / "bot.py").write_text("PRINT()")
    with pytest.raises(VersionMissing, match="damaged"):
        store.open(snapshot.digest)
    assert store.put(folder) == snapshot
    assert verify_snapshot(store.open(snapshot.digest))


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "another version"])
def test_damage_in_objects_is_refused_and_mended_by_the_next_put(damage: bytes | None, tmp_path: Path) -> None:
    def machine(name: str) -> ObjectVersions:
        cache = FileVersions(tmp_path / name / "cache")
        return ObjectVersions(f"file://{tmp_path}/bucket", cache, tmp_path / name / "staging")

    store = machine("one")
    folder = bot(tmp_path / "bot")
    digest = store.put(folder).digest
    other = store.put(bot(tmp_path / "other", "other")).digest
    place = tmp_path / "bucket" / f"{digest}.tar.gz"
    place.write_bytes((tmp_path / "bucket" / f"{other}.tar.gz").read_bytes() if damage is None else damage)
    with pytest.raises(VersionMissing, match="damaged"):
        machine("two").open(digest)
    assert store.put(folder).digest == digest
    assert verify_snapshot(machine("three").open(digest))


def test_an_object_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectVersions(f"file://{tmp_path}/bucket", FileVersions(tmp_path / "cache"), tmp_path / "staging")

    def half(folder: Path, sink: object, limits: object) -> None:
        assert hasattr(sink, "write")
        sink.write(b"half")
        raise OSError("the network is gone")

    monkeypatch.setattr("arbiter.packages.objects.pack", half)
    with pytest.raises(OSError, match="the network is gone"):
        store.put(bot(tmp_path / "bot"))
    assert list((tmp_path / "bucket").iterdir()) == []
    assert store.digests() == []


def test_other_objects_are_no_versions(tmp_path: Path) -> None:
    files = fsspec.filesystem("file")
    files.makedirs(f"{tmp_path}/bucket")
    (tmp_path / "bucket" / "notes.txt").write_text("mine")
    store = ObjectVersions(f"file://{tmp_path}/bucket", FileVersions(tmp_path / "cache"), tmp_path / "staging")
    assert store.digests() == []
    assert store.sweep([], age=0) == []
    assert (tmp_path / "bucket" / "notes.txt").exists()
