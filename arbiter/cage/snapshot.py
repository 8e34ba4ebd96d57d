"""Fixes a bot's version: a content-addressed, read-only copy of its folder.

The digest is SHA-256 over, for each file in the order of its path's bytes::

    b"x" or b"-" (executable or not) | u64 length of path | path | u64 length of content | SHA-256 of content

with big-endian lengths and ``/`` between the parts of a path. Empty folders do not count: a bot can't write to them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arbiter.errors import UsageError

EXCLUDED = frozenset({"__pycache__", ".git"})
COPYING = ".new-"
"""How a folder is called into which a snapshot is being copied, up to what is drawn."""

_CHUNK = 1 << 20


class SnapshotError(UsageError):
    """A bot's folder can't be copied as it is; the message names the file."""


@dataclass(frozen=True)
class SnapshotLimits:
    """What a bot's folder may hold: bytes in all files together, and number of files."""

    max_bytes: int = 512 << 20
    max_files: int = 10_000


@dataclass(frozen=True)
class Snapshot:
    """A bot's version: the digest of its content (64 hex digits) and the folder that holds the copy."""

    digest: str
    path: Path


@dataclass(frozen=True)
class BotFile:
    """One file of a bot's folder: its path below it with ``/``, where it is, whether it is executable."""

    relative: str
    source: Path
    executable: bool


def take_snapshot(folder: Path, store: Path, limits: SnapshotLimits | None = None) -> Snapshot:
    """Copy a bot's folder to ``store/<digest>``; the same content gives the same snapshot, made once.

    ``__pycache__`` and ``.git`` are left out. A symbolic link inside the folder is replaced by what it points to.
    The copy has modes 0755 and 0644 whatever the umask, appears whole or not at all, and what is hashed are the bytes
    that were copied, so a folder that changes meanwhile can't give a digest that does not fit.
    When this returns, the copy is on the disk.

    Raises:
        SnapshotError: not a folder, a link that leaves the folder or leads nowhere, a special file, a bound exceeded.
    """
    bounds = limits or SnapshotLimits()
    entries = bot_files(folder, bounds)
    store.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=COPYING, dir=store))
    try:
        copy = work / "copy"
        digest = _copy(entries, copy, bounds, folder)
        target = store / digest
        if target.exists() and not verify_snapshot(target):
            with suppress(FileNotFoundError):  # another process mends it too
                os.rename(target, work / "damaged")
        if not target.exists():
            _flush(copy)
            _move(copy, target)
            _flush_one(store)
    finally:
        shutil.rmtree(work)
    return Snapshot(digest=digest, path=target)


def verify_snapshot(path: Path) -> bool:
    """Tell whether a snapshot's folder still holds exactly what its name, the digest, says."""
    if not path.is_dir() or path.is_symlink():
        return False
    try:
        return _digest_of(path) == path.name
    except FileNotFoundError:  # it is being deleted
        return False


def _digest_of(path: Path) -> str | None:
    """The digest of a snapshot's folder; None when something in it is neither a file nor a folder."""
    total = hashlib.sha256()
    files: list[tuple[str, Path, os.stat_result]] = []
    for parent, folders, names in os.walk(path):
        for name in [*folders, *names]:
            item = Path(parent, name)
            status = item.lstat()
            if stat.S_ISREG(status.st_mode):
                files.append((item.relative_to(path).as_posix(), item, status))
            elif not stat.S_ISDIR(status.st_mode):
                return None
    for relative, item, status in sorted(files, key=lambda file: os.fsencode(file[0])):
        content = hashlib.sha256()
        with item.open("rb") as source:
            while chunk := source.read(_CHUNK):
                content.update(chunk)
        total.update(digest_record(relative, bool(status.st_mode & 0o111), status.st_size, content.digest()))
    return total.hexdigest()


def digest_record(relative: str, executable: bool, size: int, content: bytes) -> bytes:
    """What a file adds to its version's digest; `content` is the SHA-256 of its content."""
    name = os.fsencode(relative)
    kind = b"x" if executable else b"-"
    return kind + len(name).to_bytes(8, "big") + name + size.to_bytes(8, "big") + content


def bot_files(folder: Path, limits: SnapshotLimits) -> list[BotFile]:
    """The files of a bot's folder in the order of their paths' bytes, as `take_snapshot` takes them.

    Raises:
        SnapshotError: not a folder, a link that leaves the folder or leads nowhere, a special file, too many files.
    """
    if not folder.is_dir():
        raise SnapshotError(f"{folder}: no such folder; give the folder of a bot")
    root = folder.resolve()
    files: list[BotFile] = []
    for entry in _walk(root, "", root, (root,)):
        if len(files) == limits.max_files:
            raise SnapshotError(
                f"{folder}: more than {limits.max_files} files; leave out what the bot does not need to play"
            )
        files.append(entry)
    return sorted(files, key=lambda file: os.fsencode(file.relative))


def _walk(directory: Path, prefix: str, root: Path, above: tuple[Path, ...]) -> Iterator[BotFile]:
    for name in sorted(os.listdir(directory)):
        if name in EXCLUDED:
            continue
        item, relative = directory / name, prefix + name
        if item.is_symlink():
            item = _follow(item, root)
        mode = item.stat().st_mode
        if stat.S_ISDIR(mode):
            if item in above:
                raise SnapshotError(f"{directory / name}: a symbolic link to a folder that holds it; remove it")
            yield from _walk(item, relative + "/", root, (*above, item))
        elif stat.S_ISREG(mode):
            yield BotFile(relative, item, bool(mode & 0o111))
        else:
            raise SnapshotError(
                f"{item}: a socket, pipe or device; a bot's folder may hold only files and folders, remove it"
            )


def _follow(link: Path, root: Path) -> Path:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        raise SnapshotError(f"{link}: a symbolic link that leads nowhere; remove it or add its target") from None
    if not target.is_relative_to(root):
        raise SnapshotError(
            f"{link}: a symbolic link that leaves the bot's folder (to {target}); put a copy in its place"
        )
    return target


def _copy(entries: list[BotFile], copy: Path, limits: SnapshotLimits, folder: Path) -> str:
    copy.mkdir()
    copy.chmod(0o755)
    total = hashlib.sha256()
    bytes_left = limits.max_bytes
    for entry in entries:
        target = copy / entry.relative
        _make_parents(target.parent, copy)
        content = hashlib.sha256()
        size = 0
        with open_bot_file(entry.source) as source, target.open("xb") as sink:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > bytes_left:
                    raise SnapshotError(
                        f"{folder}: more than {limits.max_bytes} bytes in all (at {entry.relative}); "
                        "leave out what the bot does not need to play"
                    )
                content.update(chunk)
                sink.write(chunk)
        bytes_left -= size
        target.chmod(0o755 if entry.executable else 0o644)
        total.update(digest_record(entry.relative, entry.executable, size, content.digest()))
    return total.hexdigest()


def _make_parents(directory: Path, top: Path) -> None:
    missing = []
    while directory != top and not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for item in reversed(missing):
        item.mkdir()
        item.chmod(0o755)


def open_bot_file(path: Path) -> BinaryIO:
    """Open a file that its author may be changing.

    Raises:
        SnapshotError: it can't be read, or is no plain file any more.
    """
    # Not blocking and not following: between the look and the opening the author may have put a pipe or a link there.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SnapshotError(f"{path}: can't be read ({error.strerror}); a bot's files must be readable") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SnapshotError(f"{path}: no longer a plain file; do not change the folder while it is copied")
    return os.fdopen(descriptor, "rb")


def _flush(folder: Path) -> None:
    """Bring a folder and all that is in it to the disk, so that a power failure leaves no version without content."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _flush_one(Path(parent, name))
        _flush_one(Path(parent))


def _flush_one(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move(copy: Path, target: Path) -> None:
    try:
        os.rename(copy, target)
    except OSError:
        if not target.is_dir():  # else another process made the same snapshot first: that one stands
            raise
