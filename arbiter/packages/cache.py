"""A worker's copies of bot versions: fetched when they are needed, checked at each use, bounded.

Several processes of one machine may share a cache. Each entry is a folder called by its digest. Whoever uses one holds
a shared lock on that folder itself, which the system releases when the process ends in any way; what is evicted must
not be locked. Nothing is changed in place: entries come and go by a rename.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from arbiter.cage import verify_snapshot
from arbiter.packages.versions import VersionMissing, checked_digest

log = logging.getLogger(__name__)

DEFAULT_BYTES: Final = 4 << 30
"""Bytes that a cache holds at the most, what is in use apart."""

_WORK: Final = ".work-"
_LOCKS: Final = ".locks"
_TRIES: Final = 10  # others may evict in between, when the cache is far too small
_POLL: Final = 0.02  # seconds between looks at a lock that another process holds

Fetch = Callable[[str, Path], Awaitable[None]]
"""Writes the version of a digest into a folder, which it makes; raises when the content is not that version's."""


class BotCache:
    """Versions on this machine.

    Args:
        root: the cache's folder, made when missing.
        fetch: gets a version that is not there.
        max_bytes: beyond this, what was used longest ago is deleted, unless it is in use.
    """

    def __init__(self, root: Path, fetch: Fetch, max_bytes: int = DEFAULT_BYTES) -> None:
        self._root: Final = root
        self._fetch: Final = fetch
        self._max_bytes: Final = max_bytes

    @asynccontextmanager
    async def holding(self, digests: Sequence[str]) -> AsyncIterator[list[Path]]:
        """The folders of these versions, there and whole, and not evicted before this is left.

        Raises:
            VersionMissing: one is no digest, or does not stay whole on this disk.
            Exception: whatever ``fetch`` raises.
        """
        async with AsyncExitStack() as stack:
            held: dict[str, Path] = {}
            for digest in digests:
                if digest not in held:
                    lock = await self._acquire(checked_digest(digest))
                    stack.callback(os.close, lock)
                    held[digest] = self._root / digest
            yield [held[digest] for digest in digests]

    async def _acquire(self, digest: str) -> int:
        """A lock on the folder of a version that is there and whole."""
        for _ in range(_TRIES):
            lock = _share(self._root / digest)
            if lock is not None:
                try:
                    if await asyncio.to_thread(verify_snapshot, self._root / digest):
                        os.utime(self._root / digest)  # the order in which entries are evicted
                        return lock
                except BaseException:
                    os.close(lock)
                    raise
                os.close(lock)
            await self._renew(digest)
        raise VersionMissing(f"{self._root / digest}: damaged again and again after it was fetched; look at the disk")

    async def _renew(self, digest: str) -> None:
        """Fetch a version, unless another process has done so meanwhile."""
        self._root.mkdir(parents=True, exist_ok=True)
        (self._root / _LOCKS).mkdir(exist_ok=True)
        target = self._root / digest
        # One of 256 files: two processes do not fetch the same, and the number of files stays bounded.
        async with _alone(self._root / _LOCKS / digest[:2]):
            if await asyncio.to_thread(verify_snapshot, target):
                return
            with _work_folder(self._root) as work:
                log.info("version %s: fetching", digest)
                await self._fetch(digest, work / digest)
                await asyncio.to_thread(self._make_room, digest)
                if target.exists():
                    log.error("%s: damaged; it is fetched again", target)
                    # A sitting that has begun with it may still read it: it is deleted once nobody does.
                    os.rename(target, tempfile.mkdtemp(prefix=_WORK, dir=self._root))
                os.rename(work / digest, target)

    def _make_room(self, coming: str) -> None:
        """Delete what killed processes left, and what was used longest ago, until everything is within the bound."""
        for folder in self._root.glob(f"{_WORK}*"):
            with suppress(OSError), _only_user(folder) as only:
                if only:
                    shutil.rmtree(folder)
        entries = [path for path in self._root.iterdir() if not path.name.startswith(".") and path.name != coming]
        sizes = {path: _size(path) for path in entries}
        total = sum(sizes.values()) + sum(_size(path) for path in self._root.glob(f"{_WORK}*"))
        for path in sorted(entries, key=_used_at):
            if total <= self._max_bytes:
                return
            with suppress(OSError), _only_user(path) as only:
                if only:
                    log.info("version %s: deleted from the cache to make room", path.name)
                    grave = Path(tempfile.mkdtemp(prefix=_WORK, dir=self._root))
                    os.rename(path, grave / path.name)
                    shutil.rmtree(grave)
                    total -= sizes[path]
        if total > self._max_bytes:
            log.warning("%s: %d bytes are in use, more than the bound of %d", self._root, total, self._max_bytes)


def _share(folder: Path) -> int | None:
    """A shared lock on a folder; None when it is not there, or is being deleted."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(folder)):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


@contextmanager
def _only_user(folder: Path) -> Iterator[bool]:
    """Whether nobody else uses a folder; nobody else gets to while this is entered."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Hold an exclusive lock; waiting for it can be cancelled."""
    with path.open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_POLL)
        yield


@contextmanager
def _work_folder(root: Path) -> Iterator[Path]:
    """A folder for what is on its way, known to be in use for as long as this process lives."""
    lock = None
    while lock is None:  # until then it looks like one that a killed process left
        folder = Path(tempfile.mkdtemp(prefix=_WORK, dir=root))
        lock = _share(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _used_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _size(folder: Path) -> int:
    """Bytes in the files below a folder, as far as they are still there."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
