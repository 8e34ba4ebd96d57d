"""Makes a package of a bot's folder, on the contestant's side: the same bytes for the same content."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arbiter.cage import SnapshotLimits
from arbiter.cage.manifest import MANIFEST_FILE
from arbiter.cage.snapshot import BotFile, bot_files, digest_record, open_bot_file
from arbiter.packages.limits import PackageError, PackageLimits
from arbiter.packages.names import Tree, parts_of

_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed."""

    version_digest: str
    """The version's own digest, by content alone: what a snapshot of the folder has. 64 hexadecimal digits."""
    archive_digest: str
    """SHA-256 of the archive. It may differ where another zlib compresses; the version's digest may not."""
    archive_bytes: int
    files: int


def pack(folder: Path, sink: BinaryIO, limits: PackageLimits | None = None) -> Packed:
    """Write a bot's folder as a tar.gz: sorted, without times, owners, and what snapshots leave out.

    Args:
        folder: the bot's, with its ``bot.toml``.
        sink: where the archive goes.
        limits: those of the service; None: the defaults.

    Raises:
        PackageError: something in it would be refused by the service.
        SnapshotError: it holds what no snapshot takes; see `arbiter.cage.take_snapshot`.
    """
    bounds = limits or PackageLimits()
    files = bot_files(folder, SnapshotLimits(bounds.unpacked_bytes, bounds.entries))
    if MANIFEST_FILE not in {file.relative for file in files}:
        raise PackageError(f"{folder}: no {MANIFEST_FILE} in it; give the folder of a bot")
    tree = Tree()
    for file in files:
        tree.add(parts_of(os.fsencode(file.relative), bounds), folder=False)
    output = _Output(sink, bounds)
    version = hashlib.sha256()
    left = bounds.unpacked_bytes
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=output, mtime=0) as stream,
        tarfile.open(mode="w", fileobj=stream, format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            size, content = _add(archive, file, bounds)
            left -= size
            if left < 0:
                raise PackageError(
                    f"{folder}: more than {bounds.unpacked_bytes} bytes in all files together; leave out what the bot "
                    "does not need to play"
                )
            version.update(digest_record(file.relative, file.executable, size, content))
    return Packed(version.hexdigest(), output.digest.hexdigest(), output.size, len(files))


class _Output:
    """Counts and hashes what goes to the sink."""

    def __init__(self, sink: BinaryIO, limits: PackageLimits) -> None:
        self._sink = sink
        self._limit = limits.archive_bytes
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > self._limit:
            raise PackageError(
                f"an archive of more than {self._limit} bytes; leave out what the bot does not need to play"
            )
        self.digest.update(data)
        self._sink.write(data)
        return len(data)

    def flush(self) -> None:
        self._sink.flush()


class _Hashing:
    """Hashes what is read."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self.digest.update(data)
        return data


def _add(archive: tarfile.TarFile, file: BotFile, limits: PackageLimits) -> tuple[int, bytes]:
    """Write one file; its size and the SHA-256 of its content."""
    with open_bot_file(file.source) as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > limits.file_bytes:
            raise PackageError(f"{file.source}: a file of {size} bytes; at most {limits.file_bytes} are allowed")
        member = tarfile.TarInfo(file.relative)
        member.size = size
        member.mode = 0o755 if file.executable else 0o644
        source = _Hashing(opened)
        try:
            archive.addfile(member, source)
        except OSError as error:
            if opened.tell() == size:  # then it was the sink that failed
                raise
            raise PackageError(f"{file.source}: became shorter while it was packed; pack again") from error
    return size, source.digest.digest()
