"""The store of bot versions in an object store, such as S3, through fsspec; with copies on this machine.

A version is one object, ``<digest>.tar.gz``, as `arbiter.packages.packing.pack` writes it. Needs the extra ``objects``,
and for S3 the extra ``s3``.
"""

from __future__ import annotations

import contextlib
import errno
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import fsspec  # type: ignore[import-untyped]  # has no types of its own, and nobody publishes stubs
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]  # likewise

from arbiter.cage import Snapshot, SnapshotLimits
from arbiter.errors import InfrastructureError
from arbiter.packages.limits import CHUNK, PackageError, PackageLimits
from arbiter.packages.marking import first_word
from arbiter.packages.packing import pack
from arbiter.packages.unpacking import unpacked_files
from arbiter.packages.versions import DIGEST, MARK, UNREFERENCED_AGE, FileVersions, VersionMissing, check_owner

try:
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]  # has no types of its own
except ImportError:  # then it is no S3
    _FOREIGN: tuple[type[Exception], ...] = ()
else:
    _FOREIGN = (BotoCoreError,)

_SUFFIX: Final = ".tar.gz"
STORED: Final = PackageLimits(
    archive_bytes=1 << 30, unpacked_bytes=512 << 20, file_bytes=512 << 20, entries=10_000, ratio=1100
)
"""What a version may be when it comes back: what was accepted once, whatever the host allows now."""


class ObjectVersions:
    """Versions in an object store; see `arbiter.packages.versions.Versions`.

    Args:
        url: where, such as ``s3://bucket/versions``.
        cache: copies on this machine, which are checked at each use and may be deleted at any time.
        options: for the file system, such as an endpoint; see fsspec.
    """

    def __init__(self, url: str, cache: FileVersions, staging: Path, **options: Any) -> None:
        # A file system of its own: a transaction belongs to the file system object, which fsspec shares otherwise.
        self._files, self._root = fsspec.core.url_to_fs(url, skip_instance_cache=True, **options)
        self._cache: Final = cache
        self._staging: Final = staging
        self._writing: Final = threading.Lock()

    def claim(self, database: str) -> None:
        """See `Versions.claim`. Of two that take an empty store at one moment one has it, where the store can write on
        condition that nothing is there, as S3 can. Elsewhere the later one has it, as the other's next claim finds.

        Raises:
            InfrastructureError: the store can't be reached.
        """
        mark = f"{self._root}/{MARK}"
        with self._reaching(OSError):
            self._files.invalidate_cache()
            try:
                held = self._files.cat_file(mark)
            except FileNotFoundError:
                with self._writing:
                    self._files.makedirs(self._root, exist_ok=True)
                    self._take(mark, database)
                self._files.invalidate_cache()
                held = self._files.cat_file(mark)
        check_owner(held.decode().strip(), database, *map(self._files.unstrip_protocol, (self._root, mark)))

    def _take(self, mark: str, database: str) -> None:
        """Write whose the store is, unless somebody was quicker."""
        if isinstance(self._files, LocalFileSystem):  # which would look first and then write
            first_word(Path(mark), database)
            return
        try:
            self._files.pipe_file(mark, database.encode(), mode="create")
        except FileExistsError:
            return
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
            self._files.pipe_file(mark, database.encode())

    def put(self, folder: Path, limits: SnapshotLimits | None = None) -> Snapshot:
        """See `Versions.put`. The object appears whole or not at all, as fsspec's transactions see to it."""
        snapshot = self._cache.put(folder, limits)
        key = self._key(snapshot.digest)
        with self._writing, self._reaching(), self._files.transaction:
            # Again though it may be there: its age counts from now, and a damaged one is mended.
            self._files.makedirs(self._root, exist_ok=True)
            with self._files.open(key, "wb") as sink:
                pack(snapshot.path, cast("BinaryIO", sink), STORED)
        return snapshot

    def open(self, digest: str) -> Path:
        """See `Versions.open`."""
        try:
            return self._cache.open(digest)
        except VersionMissing:
            if not DIGEST.fullmatch(digest):
                raise
        place = f"{self._root}/{digest}{_SUFFIX}"
        with tempfile.TemporaryFile() as archive:
            try:
                with self._reaching(), self._files.open(place, "rb") as source:
                    while data := source.read(CHUNK):
                        archive.write(data)
            except FileNotFoundError:
                raise VersionMissing(f"{self._root}: there is no version {digest}; submit it again") from None
            try:
                with unpacked_files(cast("BinaryIO", archive), self._staging, STORED, place) as (folder, _):
                    snapshot = self._cache.put(folder)
            except PackageError as error:
                raise VersionMissing(f"{place}: damaged ({error}); submit the version again") from error
        if snapshot.digest != digest:
            raise VersionMissing(f"{place}: damaged, its content has another digest; submit the version again")
        return snapshot.path

    def digests(self) -> list[str]:
        """See `Versions.digests`."""
        with self._reaching():
            return sorted(self._modified())

    def sweep(self, referenced: Collection[str], age: float = UNREFERENCED_AGE) -> list[str]:
        """See `Versions.sweep`. Copies on this machine go with them."""
        kept = set(referenced)
        with self._reaching():
            deleted = self._delete(kept, age)
        self._cache.sweep(kept, age)
        return deleted

    def _delete(self, kept: Collection[str], age: float) -> list[str]:
        now = time.time()
        deleted = sorted(
            digest for digest, modified in self._modified().items() if digest not in kept and now - modified >= age
        )
        with self._writing:
            for digest in list(deleted):
                # Looked at again, for somebody may have put or deleted it meanwhile.
                modified = self._modified_at(self._key(digest))
                if modified is not None and time.time() - modified >= age:
                    with contextlib.suppress(FileNotFoundError):
                        self._files.rm_file(self._key(digest))
                else:
                    deleted.remove(digest)
        return deleted

    @contextlib.contextmanager
    def _reaching(self, *more: type[Exception]) -> Iterator[None]:
        """Turn errors that a kind of store has of its own into one that everybody knows."""
        try:
            yield
        except (*_FOREIGN, *more) as error:
            raise InfrastructureError(f"{self._files.unstrip_protocol(self._root)}: can't be used: {error}") from error

    def _key(self, digest: str) -> str:
        return f"{self._root}/{digest}{_SUFFIX}"

    def _modified(self) -> dict[str, float]:
        """By digest: when its object was last written, in seconds since 1970."""
        self._files.invalidate_cache()
        try:
            listed = self._files.ls(self._root, detail=True)
        except FileNotFoundError:
            return {}
        found = {}
        for path in (item["name"] for item in listed):
            digest = path.rsplit("/", 1)[-1].removesuffix(_SUFFIX)
            if path.endswith(_SUFFIX) and DIGEST.fullmatch(digest):
                modified = self._modified_at(path)
                if modified is not None:
                    found[digest] = modified
        return found

    def _modified_at(self, path: str) -> float | None:
        """When an object was last written, in seconds since 1970; None when it is gone."""
        try:
            moment: datetime = self._files.modified(path)
        except FileNotFoundError:
            return None
        # File systems that give no time zone mean UTC.
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
