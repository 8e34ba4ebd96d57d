"""A bot's version on its way to another machine: its files in order, checked against the digest while they arrive."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, Final

from arbiter.cage import SnapshotLimits
from arbiter.cage.snapshot import bot_files, digest_record, open_bot_file
from arbiter.errors import InfrastructureError
from arbiter.packages.limits import CHUNK

KEPT: Final = SnapshotLimits(max_bytes=1 << 40, max_files=1 << 20)
"""What is sent was accepted once: only what could not have been is refused here."""


class TransferError(InfrastructureError):
    """What arrived is not the version that was asked for; it is thrown away."""


@dataclass(frozen=True, slots=True)
class FileHeader:
    """What a file is beside its content: its path's bytes below the folder, with ``/``."""

    path: bytes
    executable: bool
    size: int


def parts_of_version(folder: Path) -> Iterator[FileHeader | bytes]:
    """The files of a version's folder in the order of their paths' bytes: a header each, then its content in chunks.

    Raises:
        SnapshotError: it can't be read.
    """
    for file in bot_files(folder, KEPT):
        with open_bot_file(file.source) as source:
            yield FileHeader(os.fsencode(file.relative), file.executable, os.fstat(source.fileno()).st_size)
            while chunk := source.read(CHUNK):
                yield chunk


class Receiver:
    """Writes the parts of a version into a new folder and checks them; close it by leaving its ``with`` statement.

    Args:
        digest: of the version that was asked for.
        folder: where it goes; made here.
    """

    def __init__(self, digest: str, folder: Path) -> None:
        self._wanted: Final = digest
        self._folder: Final = folder
        self._total: Final = hashlib.sha256()
        self._header: FileHeader | None = None
        self._sink: BinaryIO | None = None
        self._content = hashlib.sha256()
        self._left = 0
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)

    def __enter__(self) -> Receiver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sink is not None:
            self._sink.close()

    def take(self, part: FileHeader | bytes) -> None:
        """Take the next part.

        Raises:
            TransferError: it can't be part of this version, or not here.
        """
        if isinstance(part, FileHeader):
            self._begin(part)
            return
        self._left -= len(part)
        if self._sink is None or self._left < 0:
            raise TransferError(f"version {self._wanted}: more bytes came than its files have; fetch it again")
        self._content.update(part)
        self._sink.write(part)

    def finish(self) -> None:
        """Nothing more comes; the folder is complete when this returns.

        Raises:
            TransferError: something is missing, or the content has another digest.
        """
        self._end()
        if self._total.hexdigest() != self._wanted:
            raise TransferError(
                f"version {self._wanted}: what came has the digest {self._total.hexdigest()}; fetch it again"
            )

    def _begin(self, header: FileHeader) -> None:
        self._end()
        relative = PurePosixPath(os.fsdecode(header.path))
        in_order = self._header is None or self._header.path < header.path
        # Written by hand, the path would have another form: no "..", no "//", nothing that leaves the folder.
        plain = os.fsencode(str(relative)) == header.path and not relative.is_absolute() and ".." not in relative.parts
        if not (in_order and plain and relative.parts) or b"\0" in header.path:
            raise TransferError(f"version {self._wanted}: no path of a version: {header.path!r}")
        target = self._folder / relative
        for parent in reversed([each for each in target.parents if each.is_relative_to(self._folder)]):
            if not parent.is_dir():
                parent.mkdir()
                parent.chmod(0o755)
        self._header, self._content, self._left = header, hashlib.sha256(), header.size
        self._sink = target.open("xb")
        target.chmod(0o755 if header.executable else 0o644)

    def _end(self) -> None:
        if self._header is None or self._sink is None:
            return
        self._sink.close()
        self._sink = None
        if self._left:
            raise TransferError(f"version {self._wanted}: {self._left} bytes are missing; fetch it again")
        path, size = os.fsdecode(self._header.path), self._header.size
        self._total.update(digest_record(path, self._header.executable, size, self._content.digest()))
