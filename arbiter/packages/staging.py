"""A folder into which a package is unpacked, whoever else may be at work around it.

Every file and folder is opened below the descriptor of the one above it, never by a path, without following links and,
for files, only if it is new. So nothing is written outside, even if somebody puts a link in a folder's place meanwhile.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.packages.removal import remove

EPOCH: Final = 315532800
"""Modification time of all that is unpacked: 1 January 1980, the earliest that every archive format can hold."""
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class StagingError(InfrastructureError):
    """A package can't be unpacked, for a reason that is not its own."""


class Staging:
    """A new folder below `root`, gone when its ``with`` statement ends.

    Args:
        root: the service's own; made when missing.
    """

    def __init__(self, root: Path) -> None:
        self._root: Final = root
        self._folders: Final[dict[tuple[str, ...], None]] = {}

    def __enter__(self) -> Staging:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=".staging-", dir=self._root))
            self._top = os.open(self.path, _FOLDER_FLAGS)
        except OSError as error:
            raise StagingError(f"{self._root}: nothing can be unpacked there ({error.strerror})") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._top)
        remove(self.path)

    def add_folder(self, parts: tuple[str, ...]) -> None:
        """Make a folder, and those above it, unless it is there.

        Raises:
            StagingError: it can't be made.
        """
        os.close(self._open_folder(parts))

    def add_file(self, parts: tuple[str, ...], executable: bool, content: Iterable[bytes]) -> None:
        """Write a new file. Its mode is 0755 or 0644, whatever the umask; its time is `EPOCH`.

        Raises:
            StagingError: it can't be written.
            PackageError: what `content` raises.
        """
        folder = self._open_folder(parts[:-1])
        try:
            with os.fdopen(os.open(parts[-1], _FILE_FLAGS, 0o600, dir_fd=folder), "wb") as sink:
                for piece in content:
                    sink.write(piece)
                sink.flush()
                os.fchmod(sink.fileno(), 0o755 if executable else 0o644)
                os.utime(sink.fileno(), (EPOCH, EPOCH))
        except OSError as error:
            raise self._failure(parts, error) from error
        finally:
            os.close(folder)

    def finish(self) -> None:
        """Set the times of the folders, after the last file."""
        for parts in self._folders:
            descriptor = self._open_folder(parts)
            os.utime(descriptor, (EPOCH, EPOCH))
            os.close(descriptor)

    def _open_folder(self, parts: tuple[str, ...]) -> int:
        """The descriptor of a folder, which the caller closes."""
        descriptor = os.dup(self._top)
        try:
            for length, part in enumerate(parts, start=1):
                above = descriptor
                if parts[:length] not in self._folders:
                    os.mkdir(part, 0o700, dir_fd=above)
                descriptor = os.open(part, _FOLDER_FLAGS, dir_fd=above)
                os.close(above)
                if parts[:length] not in self._folders:
                    os.fchmod(descriptor, 0o755)
                    self._folders[parts[:length]] = None
        except OSError as error:
            os.close(descriptor)
            raise self._failure(parts, error) from error
        return descriptor

    def _failure(self, parts: tuple[str, ...], error: OSError) -> StagingError:
        return StagingError(f"{'/'.join(parts)}: can't be unpacked below {self._root} ({error.strerror})")
