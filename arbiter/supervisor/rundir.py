"""Private folders of a running service, with paths short enough for sockets; and locks between processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from arbiter.errors import InfrastructureError, UsageError

SOCKET_PATH_LIMIT = 107
"""Bytes that the path of a unix socket may have: 108 with the closing zero (unix(7))."""

FOLDER_PATH_LIMIT = 60
"""Bytes that the path of a run directory may have, which leaves 46 for the names of sockets inside."""

LOOK_PATIENCE = 1.0
"""Seconds for which a lock is waited for whose holder does not say who it is."""

_PREFIX = "hearts-arbiter-"
_LOCK = "lock"


def check_socket_path(path: Path) -> None:
    """Refuse a path at which no unix socket can be.

    Raises:
        UsageError: it is too long.
    """
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise UsageError(
            f"{path}: {length} bytes are too many for the path of a unix socket; at most {SOCKET_PATH_LIMIT} will do"
        )


class RunDirectory:
    """``with RunDirectory() as folder:`` makes a folder for one run, mode 0700, and removes it in the end.

    A run holds a lock on its folder. What killed runs of the same user left is found by the lack of it, and removed
    when the next one begins.
    """

    def __init__(self, below: Path | None = None) -> None:
        """`below` is where to make it: by default the system's folder for temporary files (TMPDIR)."""
        self._below = Path(os.path.abspath(below or tempfile.gettempdir()))
        self._folder: Path | None = None
        self._lock: int | None = None

    def __enter__(self) -> Path:
        """Make the folder.

        Raises:
            UsageError: its path would be too long.
            InfrastructureError: it can't be made.
        """
        length = len(os.fsencode(self._below / _PREFIX)) + 8  # what mkdtemp adds
        if length > FOLDER_PATH_LIMIT:
            raise UsageError(
                f"{self._below}: too long a path for a folder with sockets, {length - FOLDER_PATH_LIMIT} bytes "
                f"beyond what is possible; set TMPDIR to a shorter one, e.g. TMPDIR=/tmp"
            )
        try:
            self._remove_stale()
            while self._lock is None:
                self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._below))
                self._lock = _claim(self._folder)
        except OSError as error:
            raise InfrastructureError(
                f"{self._below}: no folder can be made there ({error.strerror}); set TMPDIR to one that can be written"
            ) from error
        assert self._folder is not None
        return self._folder

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the folder and all that is in it."""
        assert self._folder is not None
        assert self._lock is not None
        _remove(self._folder)
        os.close(self._lock)
        self._lock = None

    def _remove_stale(self) -> None:
        for folder in self._below.glob(f"{_PREFIX}*"):
            try:
                status = folder.lstat()
                if status.st_uid != os.geteuid() or not folder.is_dir() or folder.is_symlink():
                    continue
                lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except OSError:  # gone meanwhile, or not one of ours
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            except BlockingIOError:  # in use
                continue
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    # What can't be removed now is tried again by the next run; nobody has to stop for it.
    shutil.rmtree(folder, ignore_errors=True)


def _claim(folder: Path) -> int | None:
    """The lock of a new folder; None if another run took the folder for a stale one before it was locked."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink == 0:
        os.close(lock)
        return None
    return lock


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of `lock_file`."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@contextmanager
def lock_file(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock by way of the file `path`, which is made when missing and stays.

    The system releases the lock of a process that ends in any way.

    Args:
        path: the lock's file; while the lock is held, it holds the process id.
        what: what the lock stands for, e.g. ``the database arbiter.db``.

    Raises:
        UsageError: someone has it; the message has the process id.
        InfrastructureError: the file can't be opened or locked.
    """
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InfrastructureError(f"{what}: can't lock it by way of {path}: {error.strerror}") from error
    try:
        try:
            holder = _lock(lock)
        except OSError as error:
            raise InfrastructureError(f"{what}: can't lock it by way of {path}: {error.strerror}") from error
        if holder is not None:
            who, remedy = (f"process {holder}", f"kill {holder}") if holder else ("another process", "end it")
            raise UsageError(f"{what} is in use by {who}, which holds {path}; wait for its end, or: {remedy}")
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(lock, 0)  # unlinking it would let two later processes hold different files of this name
    finally:
        os.close(lock)


def _lock(lock: int) -> str | None:
    """Take the lock of an open file; else the id of the process that holds it, empty where it does not say.

    Who only looks whether a lock is held has it for a moment, and does not say so: that is waited for.
    """
    end = time.monotonic() + LOOK_PATIENCE
    last = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(lock, 32, 0).decode(errors="replace").strip()
            holder = pid if pid.isdigit() else ""
            if (holder and _lives(int(holder))) or last:
                return holder
            last = time.monotonic() > end  # and once more: on a machine that stood still nobody has let go meanwhile
            time.sleep(0.01)
        else:
            return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
