"""Uploads on their way in: kept in pieces under the id that their sender chose, until all of it has arrived.

An upload that breaks off is continued where it broke, whoever restarts. Nothing of it is looked at before its size and
digest are what was declared.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import BinaryIO, Final

from arbiter.errors import UsageError
from arbiter.packages import last_changed, remove
from arbiter.store import check_request_id

MAX_PENDING: Final = 4
"""Unfinished uploads that one sender may have."""

MAX_AGE: Final = 24 * 3600.0
"""Seconds after which an upload of which nothing came is forgotten."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class UploadRefused(UsageError):
    """What was declared can't be taken, or what came is not what was declared."""


class WrongOffset(UsageError):
    """The sender goes on at another place than where the upload stands, or another stream sends it right now."""


class TooManyUploads(UsageError):
    """The sender has too many unfinished uploads."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What a sender says of an upload before it begins."""

    owner: str
    request_id: str
    size: int
    """Bytes."""
    sha256: str
    """Of all of it, in hexadecimal digits."""


class Upload:
    """An upload that is being received; at the end of its ``with`` statement it is whole, or kept for another try."""

    def __init__(self, declared: Declared, file: BufferedRandom, at: int) -> None:
        self._declared = declared
        self._file = file
        self._at = at
        self.complete = False
        """All of it has arrived and is what was declared."""

    def write(self, chunk: bytes) -> None:
        """Take the next bytes; raises `UploadRefused` when they are more than was declared."""
        if self._at + len(chunk) > self._declared.size:
            raise UploadRefused(f"more than the {self._declared.size} bytes came that were declared; begin anew")
        self._file.write(chunk)
        self._at += len(chunk)

    def whole(self) -> BinaryIO:
        """All of it, to read from its beginning.

        Raises:
            UploadRefused: it is not all there, or not what was declared; in the second case it is forgotten.
        """
        declared = self._declared
        if self._at < declared.size:
            raise UploadRefused(f"{self._at} of {declared.size} bytes came; go on with the same request id")
        self._file.flush()
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256").hexdigest()
        if digest != declared.sha256:
            self._file.truncate(0)
            raise UploadRefused(f"the package has SHA-256 {digest}, but {declared.sha256} was declared; send it anew")
        self._file.seek(0)
        self.complete = True
        return self._file


class Uploads:
    """Uploads below a folder of the service's own.

    Args:
        folder: made when missing.
        max_bytes: largest upload.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder: Final = folder
        self._max_bytes: Final = max_bytes

    def received(self, owner: str, request_id: str) -> int:
        """Bytes of an upload that have arrived; raises `UsageError` for an id of another form."""
        try:
            return self._path(owner, request_id).stat().st_size
        except FileNotFoundError:  # not begun, or just finished by another stream
            return 0

    @contextmanager
    def open(self, declared: Declared, offset: int) -> Iterator[Upload]:
        """Receive an upload from `offset` on. It is removed once the block is left without an
        exception, or its whole content was refused.

        Raises:
            UploadRefused: what is declared is out of its range.
            WrongOffset: the upload stands elsewhere, or another stream sends it.
            TooManyUploads: the sender has too many.
        """
        if not 0 < declared.size <= self._max_bytes:
            raise UploadRefused(f"a package has 1 to {self._max_bytes} bytes, not {declared.size}")
        if not _SHA256.fullmatch(declared.sha256):
            raise UploadRefused("sha256: write the package's SHA-256 in 64 hexadecimal digits, small letters")
        path = self._path(declared.owner, declared.request_id)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._forget_old(path.parent)
        if not path.exists() and len(list(path.parent.iterdir())) >= MAX_PENDING:
            raise TooManyUploads(f"{declared.owner} has {MAX_PENDING} unfinished uploads; finish one, or wait a day")
        with _locked(path) as file:
            stands = file.seek(0, os.SEEK_END)
            if stands != offset:
                raise WrongOffset(f"{stands} bytes have arrived; go on there, not at {offset}")
            upload = Upload(declared, file, offset)
            try:
                yield upload
            except UsageError:
                if upload.complete:  # and refused all the same: the same bytes would be again
                    path.unlink(missing_ok=True)
                raise
            else:
                path.unlink(missing_ok=True)
            finally:
                file.flush()
                if not os.fstat(file.fileno()).st_size:  # nothing to go on with
                    path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Forget all uploads of which nothing came for `MAX_AGE`."""
        if self._folder.is_dir():
            for folder in self._folder.iterdir():
                self._forget_old(folder)

    def _path(self, owner: str, request_id: str) -> Path:
        check_request_id(request_id)
        # Owners are named by the host, and could be called "..".
        return self._folder / hashlib.sha256(owner.encode()).hexdigest()[:32] / request_id

    def _forget_old(self, folder: Path) -> None:
        for path in list(folder.iterdir()):
            changed = last_changed(path)
            if changed is not None and changed < time.time() - MAX_AGE:
                remove(path)


@contextmanager
def _locked(path: Path) -> Iterator[BufferedRandom]:
    """The file of an upload, made when missing; raises `WrongOffset` while another stream has it."""
    while True:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise WrongOffset("another stream sends this upload; wait for it, or choose a new id") from error
            if os.fstat(file.fileno()).st_nlink:  # else its last stream deleted it before it was locked here
                yield file
                return
