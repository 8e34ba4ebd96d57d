"""A worker's copies of bot versions: fetched once, checked, bounded, and never taken from under a sitting."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from arbiter.cage import Snapshot, take_snapshot, verify_snapshot
from arbiter.errors import InfrastructureError
from arbiter.packages import BotCache, FileHeader, Receiver, TransferError, VersionMissing, parts_of_version
from tests.patience import PATIENCE

SIZE = 1000


class Source:
    """Versions that can be fetched, and which of them were, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.fetched: list[str] = []

    def make(self, name: str) -> str:
        bot = self.folder / f"{name}.source"
        bot.mkdir()
        (bot / "bot.py").write_bytes(name.encode().ljust(SIZE))
        return take_snapshot(bot, self.folder).digest

    async def fetch(self, digest: str, folder: Path) -> None:
        self.fetched.append(digest)
        await asyncio.sleep(0)
        shutil.copytree(self.folder / digest, folder)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "source")


def held(cache: BotCache, *digests: str) -> list[Path]:
    """Use versions for a moment."""

    async def use() -> list[Path]:
        async with cache.holding(digests) as folders:
            assert all(verify_snapshot(folder) for folder in folders)
            return folders

    return asyncio.run(use())


def entries(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.name != ".locks"}


def test_a_version_is_fetched_once(source: Source, tmp_path: Path) -> None:
    one, two = source.make("one"), source.make("two")
    cache = BotCache(tmp_path / "cache", source.fetch)
    folders = held(cache, one, two, one)
    assert [folder.name for folder in folders] == [one, two, one]
    assert held(BotCache(tmp_path / "cache", source.fetch), one) == folders[:1]
    assert source.fetched == [one, two]
    assert entries(tmp_path / "cache") == {one, two}


@pytest.mark.parametrize("damage", ["changed", "cut", "more", "mode", "gone"])
def test_what_is_damaged_is_fetched_again(source: Source, tmp_path: Path, damage: str) -> None:
    one = source.make("one")
    cache = BotCache(tmp_path / "cache", source.fetch)
    (folder,) = held(cache, one)
    file = folder / "bot.py"
    match damage:
        case "changed":
            file.write_bytes(b"x" + file.read_bytes()[1:])
        case "cut":
            os.truncate(file, 10)
        case "more":
            (folder / "more.py").touch()
        case "mode":
            file.chmod(0o755)
        case _:
            file.unlink()
    assert held(cache, one) == [folder]
    assert source.fetched == [one, one]
    held(cache, source.make("two"))
    assert one in entries(tmp_path / "cache")
    assert len(entries(tmp_path / "cache")) == 2, "the damaged copy went with the next fetch"


def test_what_was_used_longest_ago_makes_room(source: Source, tmp_path: Path) -> None:
    digests = [source.make(name) for name in ("one", "two", "three", "four")]
    cache = BotCache(tmp_path / "cache", source.fetch, max_bytes=3 * SIZE)
    for age, digest in enumerate(digests[:3]):
        (folder,) = held(cache, digest)
        os.utime(folder, (0, 1000 + age))
    held(cache, digests[0])
    held(cache, digests[3])
    assert entries(tmp_path / "cache") == {digests[0], digests[2], digests[3]}


def test_what_a_sitting_uses_is_never_evicted(source: Source, tmp_path: Path) -> None:
    used, other, third = (source.make(name) for name in ("used", "other", "third"))
    root = tmp_path / "cache"

    async def test() -> None:
        cache = BotCache(root, source.fetch, max_bytes=SIZE)
        async with cache.holding([used]) as (folder,):
            os.utime(folder, (0, 0))
            async with BotCache(root, source.fetch, max_bytes=SIZE).holding([other]):
                assert verify_snapshot(folder)
            async with cache.holding([third]):
                assert entries(root) == {used, third}
                assert verify_snapshot(folder)
        async with cache.holding([other]):
            assert entries(root) == {other}

    asyncio.run(test())


HOLDER = """
import asyncio, sys
from pathlib import Path
from arbiter.packages import BotCache

async def hold():
    async with BotCache(Path(sys.argv[1]), None).holding([sys.argv[2]]):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


def test_another_process_holds_until_it_ends_however_it_ends(source: Source, tmp_path: Path) -> None:
    used, other = source.make("used"), source.make("other")
    cache = BotCache(tmp_path / "cache", source.fetch, max_bytes=SIZE)
    (folder,) = held(cache, used)
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "cache"), used]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        held(cache, other)
        assert verify_snapshot(folder)
        holder.send_signal(signal.SIGKILL)
    held(cache, source.make("third"))
    assert not folder.exists()


def test_many_at_once_fetch_once_and_all_get_it(source: Source, tmp_path: Path) -> None:
    digests = [source.make(str(number)) for number in range(3)]

    async def use(cache: BotCache, wanted: Iterable[str]) -> None:
        async with cache.holding(list(wanted)) as folders:
            assert all(verify_snapshot(folder) for folder in folders)

    async def test() -> None:
        caches = [BotCache(tmp_path / "cache", source.fetch) for _ in range(8)]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(use(cache, digests) for cache in caches))

    asyncio.run(test())
    assert sorted(source.fetched) == sorted(digests)


def test_a_cache_that_is_far_too_small_serves_all_the_same(source: Source, tmp_path: Path) -> None:
    digests = [source.make(str(number)) for number in range(6)]

    async def use(digest: str) -> None:
        cache = BotCache(tmp_path / "cache", source.fetch, max_bytes=1)
        for _ in range(5):
            async with cache.holding([digest]) as (folder,):
                await asyncio.sleep(0.001)
                assert verify_snapshot(folder)

    async def test() -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(use(digest) for digest in digests))

    asyncio.run(test())


def test_a_fetch_that_fails_or_is_cancelled_leaves_nothing(source: Source, tmp_path: Path) -> None:
    one = source.make("one")
    root = tmp_path / "cache"

    async def fail(digest: str, folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise InfrastructureError("the link is cut")

    async def hang(digest: str, folder: Path) -> None:
        folder.mkdir()
        await asyncio.sleep(600)

    with pytest.raises(InfrastructureError, match="the link is cut"):
        held(BotCache(root, fail), one)
    assert entries(root) == set()

    async def cancel() -> None:
        async with asyncio.timeout(0.05), BotCache(root, hang).holding([one]):
            raise AssertionError

    with pytest.raises(TimeoutError):
        asyncio.run(cancel())
    assert entries(root) == set()
    assert held(BotCache(root, source.fetch), one)


def test_what_a_killed_process_left_half_is_swept(source: Source, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    (root / ".work-killed").mkdir(parents=True)
    (root / ".work-killed" / "half").write_bytes(bytes(SIZE))
    held(BotCache(root, source.fetch), source.make("one"))
    assert not (root / ".work-killed").exists()


@pytest.mark.parametrize("digest", ["", "../../etc", "0" * 63, "A" * 64])
def test_what_is_no_digest_reaches_no_file(tmp_path: Path, source: Source, digest: str) -> None:
    with pytest.raises(VersionMissing, match="is no version's digest"):
        held(BotCache(tmp_path / "cache", source.fetch), digest)
    assert source.fetched == []


# -- on the way --------------------------------------------------------------------------------------------------------


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    bot = tmp_path / "bot"
    (bot / "deep" / "er").mkdir(parents=True)
    (bot / "deep" / "er" / "data").write_bytes(os.urandom(3 << 20))
    (bot / "empty").touch()
    (bot / "run").write_text("#!/bin/sh\n")
    (bot / "run").chmod(0o755)
    (bot / os.fsdecode(b"no-utf8-\xff")).touch()
    return take_snapshot(bot, tmp_path / "kept")


def received(parts: Iterable[FileHeader | bytes], digest: str, folder: Path) -> Path:
    with Receiver(digest, folder / digest) as receiver:
        for part in parts:
            receiver.take(part)
        receiver.finish()
    return folder / digest


def test_what_arrives_is_what_was_sent(snapshot: Snapshot, tmp_path: Path) -> None:
    assert verify_snapshot(received(parts_of_version(snapshot.path), snapshot.digest, tmp_path))


def test_every_change_on_the_way_is_noticed(snapshot: Snapshot, tmp_path: Path) -> None:
    parts = list(parts_of_version(snapshot.path))
    (tmp_path / "changed").mkdir()

    def changed(index: int) -> Iterable[list[FileHeader | bytes]]:
        part = parts[index]
        before, after = parts[:index], parts[index + 1 :]
        yield [*before, *after]
        yield [*before, part, part, *after]
        if isinstance(part, bytes):
            yield [*before, part[:-1], *after]
            yield [*before, part[:-1] + bytes([part[-1] ^ 1]), *after]
            yield [*before, part + b"x", *after]
        else:
            yield [*before, FileHeader(part.path, not part.executable, part.size), *after]
            yield [*before, FileHeader(part.path + b"x", part.executable, part.size), *after]
            yield [*before, FileHeader(part.path, part.executable, part.size + 1), *after]

    for number, wrong in enumerate(each for index in range(len(parts)) for each in changed(index)):
        place = tmp_path / "changed" / str(number)
        place.mkdir()
        with pytest.raises(TransferError, match=snapshot.digest):
            received(wrong, snapshot.digest, place)
        shutil.rmtree(place)


@pytest.mark.parametrize("path", [b"", b".", b"..", b"../x", b"/x", b"a//b", b"a/../b", b"a/", b"./a", b"a\0b"])
def test_no_path_leaves_the_folder(path: bytes, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="no path of a version"):
        received([FileHeader(path, False, 0)], "0" * 64, tmp_path)


def test_a_change_that_leaves_size_and_times_alone_is_found(source: Source, tmp_path: Path) -> None:
    one = source.make("one")
    cache = BotCache(tmp_path / "cache", source.fetch)
    (folder,) = held(cache, one)
    file = folder / "bot.py"
    status = file.stat()
    file.write_bytes(b"x" + file.read_bytes()[1:])
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    held(cache, one)
    assert len(source.fetched) == 2
