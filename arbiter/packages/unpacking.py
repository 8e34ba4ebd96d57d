"""Checks a bot package, a tar.gz or a zip, from its first byte to its last, and only then unpacks it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from arbiter.cage import Manifest, Runtimes
from arbiter.cage.manifest import MANIFEST_FILE, parse_manifest
from arbiter.packages.entries import Entries, read_at
from arbiter.packages.gzipped import MAGIC as GZIP_MAGIC
from arbiter.packages.gzipped import GunzipStream
from arbiter.packages.limits import PackageError, PackageLimits
from arbiter.packages.names import Tree
from arbiter.packages.staging import Staging
from arbiter.packages.tar import read_tar
from arbiter.packages.zip import END_MAGIC, find_end, read_zip
from arbiter.packages.zip import MAGIC as ZIP_MAGIC

IGNORED_TOPS: Final = frozenset({"__MACOSX"})
"""Folders beside the bot's that are checked and then left out: what macOS adds to a zip."""
_OTHERS: Final = {
    b"BZh": "a bzip2 stream",
    b"\xfd7zXZ\0": "an xz stream",
    b"\x28\xb5\x2f\xfd": "a zstd stream",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x1f\x9d": "a compress (.Z) stream",
    END_MAGIC: "an empty zip archive, or one of several parts",
}
_USTAR_AT: Final = 257


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a package, after all of it was read and found good. Also the `BotFiles` of its manifest."""

    place: str
    """What messages call the package."""
    top: str | None
    """The one folder that holds everything, and that is taken off; None where the files are at the top."""
    files: dict[PurePosixPath, bool]
    """Every file of the bot by its path below its folder, and whether it is executable."""
    size: int
    """Bytes of all files together."""
    manifest: bytes = field(repr=False)
    """``bot.toml``."""

    def executable(self, path: PurePosixPath) -> bool | None:
        """Whether a file is executable; None when there is no such file."""
        return self.files.get(path)

    def names(self) -> list[str]:
        """The files directly in the bot's folder."""
        return [path.name for path in self.files if len(path.parts) == 1]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """An unpacked package; its folder is gone when the ``with`` statement ends."""

    folder: Path
    manifest: Manifest
    contents: Contents


def inspect(source: BinaryIO, limits: PackageLimits, place: str = "the package") -> Contents:
    """Read a whole package and write nothing.

    Args:
        source: a seekable file.
        limits: what it may hold.
        place: what messages call it.

    Raises:
        PackageError: it is refused; ``bot.toml`` was found, but not read.
    """
    files: dict[tuple[str, ...], bool] = {}
    tops: dict[str, None] = {}
    manifests: dict[tuple[str, ...], bytes] = {}
    elsewhere: str | None = None
    size = 0
    for entry, content in _checked(source, limits):
        if not entry.parts or entry.parts[0] in IGNORED_TOPS:
            continue
        tops[entry.parts[0]] = None
        if entry.folder:
            continue
        files[entry.parts] = entry.executable
        size += entry.size
        if entry.parts[-1] != MANIFEST_FILE:
            continue
        if len(entry.parts) == 1 or (len(entry.parts) == 2 and len(tops) == 1):
            if entry.size > limits.manifest_bytes:
                raise PackageError(
                    f"{entry.path}: {entry.size} bytes; at most {limits.manifest_bytes} are allowed, and a few lines do"
                )
            manifests[entry.parts] = b"".join(content)
        elsewhere = elsewhere or entry.path
    top = next(iter(tops)) if len(tops) == 1 and (MANIFEST_FILE,) not in files else None
    prefix = () if top is None else (top,)
    manifest = manifests.get((*prefix, MANIFEST_FILE))
    if manifest is None:
        if elsewhere is not None:
            raise PackageError(
                f"{MANIFEST_FILE} is at {elsewhere}; it belongs at the top of the archive, or into its one top folder"
            )
        raise PackageError(f"no {MANIFEST_FILE} in it; pack the bot's folder, the one that holds {MANIFEST_FILE}")
    bots = {PurePosixPath(*parts[len(prefix) :]): executable for parts, executable in files.items()}
    return Contents(place, top, bots, size, manifest)


@contextmanager
def unpacked_files(
    source: BinaryIO, staging: Path, limits: PackageLimits, place: str = "the package"
) -> Iterator[tuple[Path, Contents]]:
    """Check a package, then unpack it into a new folder below `staging`; ``bot.toml`` is not read.

    The whole package is read twice; nothing is written before the first reading found it good.

    Raises:
        PackageError: it is refused.
        StagingError: it can't be written.
    """
    contents = inspect(source, limits, place)
    with _written(source, staging, limits, contents) as folder:
        yield folder, contents


@contextmanager
def unpacked(
    source: BinaryIO,
    staging: Path,
    limits: PackageLimits | None = None,
    runtimes: Runtimes | None = None,
    place: str = "the package",
    built: bool = False,
) -> Iterator[Unpacked]:
    """Check a package and its ``bot.toml``, then unpack it into a new folder below `staging`.

    Args:
        source: a seekable file.
        staging: the service's own folder; made when missing.
        limits: what it may hold; None: the defaults.
        runtimes: those that it may name; None: the host's.
        place: what messages call it.
        built: what ``run`` names has to be there although its runtime has a build.

    Raises:
        PackageError: it is refused.
        ManifestError: its ``bot.toml`` is.
        StagingError: it can't be written.
    """
    bounds = limits or PackageLimits()
    contents = inspect(source, bounds, place)
    manifest = parse_manifest(contents.manifest, MANIFEST_FILE, contents, runtimes, built)
    with _written(source, staging, bounds, contents) as folder:
        yield Unpacked(folder, manifest, contents)


@contextmanager
def _written(source: BinaryIO, root: Path, limits: PackageLimits, contents: Contents) -> Iterator[Path]:
    with Staging(root) as staging:
        strip = 0 if contents.top is None else 1
        for entry, content in _checked(source, limits):
            parts = entry.parts[strip:]
            if not parts or entry.parts[0] in IGNORED_TOPS:
                continue
            if entry.folder:
                staging.add_folder(parts)
            else:
                staging.add_file(parts, entry.executable, content)
        staging.finish()
        yield staging.path


def _checked(source: BinaryIO, limits: PackageLimits) -> Entries:
    """The entries of an archive of either format, within bounds, each path once."""
    tree = Tree()
    size = 0
    for count, (entry, content) in enumerate(_entries(source, limits), start=1):
        size += entry.size
        if count > limits.entries:
            raise PackageError(
                f"more than {limits.entries} files and folders; leave out what the bot does not need to play"
            )
        if entry.size > limits.file_bytes:
            raise PackageError(f"{entry.path}: a file of {entry.size} bytes; at most {limits.file_bytes} are allowed")
        if size > limits.unpacked_bytes:
            raise PackageError(
                f"{entry.path}: more than {limits.unpacked_bytes} bytes in all files together; leave out what the bot "
                "does not need to play"
            )
        tree.add(entry.parts, entry.folder)
        yield entry, content


def _entries(source: BinaryIO, limits: PackageLimits) -> Entries:
    size = source.seek(0, os.SEEK_END)
    if size > limits.archive_bytes:
        raise PackageError(f"an archive of {size} bytes; at most {limits.archive_bytes} are allowed")
    begin = read_at(source, 0, 512)
    tar = begin[_USTAR_AT:].startswith(b"ustar")
    if begin.startswith(GZIP_MAGIC):
        if find_end(source, size) is not None:
            raise PackageError("a gzip stream and a zip archive at once; send one of the two")
        source.seek(0)
        return read_tar(GunzipStream(source, limits), limits)
    if begin.startswith(ZIP_MAGIC):
        if tar:
            raise PackageError("a zip archive and a tar archive at once; send one of the two")
        return read_zip(source, size, limits)
    if tar:
        raise PackageError("a tar archive that is not compressed; compress it with gzip")
    kind = next((what for magic, what in _OTHERS.items() if begin.startswith(magic)), "no archive that is known here")
    raise PackageError(f"{kind if begin else 'an empty file'}; a package is a tar.gz or a zip of the bot's folder")
