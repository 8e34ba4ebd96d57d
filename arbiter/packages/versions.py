"""The store of bot versions: each under the digest of its content, never changed, in files of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, Protocol

from arbiter.cage import Snapshot, SnapshotLimits, take_snapshot, verify_snapshot
from arbiter.cage.snapshot import COPYING
from arbiter.errors import InfrastructureError, UsageError
from arbiter.packages.marking import first_word
from arbiter.packages.removal import remove

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
MARK: Final = ".database"
"""What says in a store of versions which database's it is."""
_GRAVE: Final = ".deleted-"
UNREFERENCED_AGE: Final = 24 * 3600.0
"""Seconds for which a version that nothing refers to is kept: whoever put it may be about to record it."""


class VersionMissing(InfrastructureError):
    """A version is not in the store, or no longer what it was."""


class ForeignContents(UsageError):
    """A store of versions is another database's, and either would delete what the other needs."""


class Versions(Protocol):
    """A store of versions. Every method may be called at once from many threads and processes."""

    def claim(self, database: str) -> None:
        """Take the store for a database, told by its id, which says what is needed. It is noted in the store.

        Raises:
            ForeignContents: it is another's.
        """

    def put(self, folder: Path, limits: SnapshotLimits | None = None) -> Snapshot:
        """Keep a copy of a folder; the same content is the same version, kept once. On the disk when this returns.

        Raises:
            SnapshotError: the folder can't be taken as it is; see `arbiter.cage.take_snapshot`.
        """

    def open(self, digest: str) -> Path:
        """The read-only folder of a version on this machine, checked against its digest.

        Raises:
            VersionMissing: it is not there, or damaged.
        """

    def digests(self) -> list[str]:
        """All versions, sorted."""

    def sweep(self, referenced: Collection[str], age: float = UNREFERENCED_AGE) -> list[str]:
        """Delete the versions that are not referenced and were last put `age` seconds ago or earlier; their digests."""


class FileVersions:
    """Versions in folders below `root`, each called by its digest."""

    def __init__(self, root: Path) -> None:
        self._root: Final = root

    def claim(self, database: str) -> None:
        """See `Versions.claim`."""
        self._root.mkdir(parents=True, exist_ok=True)
        check_owner(first_word(self._root / MARK, database), database, f"{self._root}", f"{self._root / MARK}")

    def put(self, folder: Path, limits: SnapshotLimits | None = None) -> Snapshot:
        """See `Versions.put`."""
        with self._locked(fcntl.LOCK_SH):
            snapshot = take_snapshot(folder, self._root, limits)
            os.utime(snapshot.path)  # its age counts from the last time that somebody put it
        return snapshot

    def open(self, digest: str) -> Path:
        """See `Versions.open`."""
        path = self._root / checked_digest(digest)
        if not path.is_dir():
            raise VersionMissing(f"{self._root}: there is no version {digest}; submit it again")
        if not verify_snapshot(path):
            raise VersionMissing(f"{path}: damaged, its content has another digest; submit the version again")
        return path

    def digests(self) -> list[str]:
        """See `Versions.digests`."""
        if not self._root.is_dir():
            return []
        return sorted(name for name in os.listdir(self._root) if DIGEST.fullmatch(name))

    def sweep(self, referenced: Collection[str], age: float = UNREFERENCED_AGE) -> list[str]:
        """See `Versions.sweep`."""
        kept = set(referenced)
        deleted: list[str] = []
        with self._locked(fcntl.LOCK_EX):
            for left in (*self._root.glob(f"{COPYING}*"), *self._root.glob(f"{_GRAVE}*")):
                remove(left)  # by who was killed, for who puts or sweeps holds the lock
            # Away under another name in one step: nobody finds a version of which a part is deleted.
            grave = Path(tempfile.mkdtemp(prefix=_GRAVE, dir=self._root))
            for digest in self.digests():
                path = self._root / digest
                if digest not in kept and time.time() - path.stat().st_mtime >= age:
                    os.rename(path, grave / digest)
                    deleted.append(digest)
        remove(grave)
        return deleted

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Putting goes on side by side, and sweeping alone: no version is swept while it is being put."""
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / ".lock").open("ab") as lock:
            fcntl.flock(lock, how)
            yield


def check_owner(held: str, database: str, where: str, mark: str) -> None:
    """Raise `ForeignContents` unless the database that holds a store is this one."""
    if held != database:
        raise ForeignContents(
            f"{where}: holds the bots of another database, and each would delete what only the other needs; name"
            f" another place or that database, or, if that is gone for good, delete {mark}"
        )


def checked_digest(digest: str) -> str:
    """The digest; raises `VersionMissing` when it has not the form of one."""
    if not DIGEST.fullmatch(digest):
        raise VersionMissing(f"{digest!r} is no version's digest; it is 64 hexadecimal digits")
    return digest
