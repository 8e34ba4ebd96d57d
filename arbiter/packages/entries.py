"""What the readers of archives have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from arbiter.packages.limits import PackageError, PackageLimits
from arbiter.packages.names import parts_of, shown_name


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or folder of an archive."""

    parts: tuple[str, ...]
    """Its path; empty for the top folder."""
    folder: bool
    executable: bool
    size: int
    """Bytes, as declared; a reader gives exactly that many or refuses the archive."""

    @property
    def path(self) -> str:
        """The path with ``/``."""
        return "/".join(self.parts)


Entries: TypeAlias = Iterator[tuple[Entry, Iterator[bytes]]]
"""What a reader gives: each entry with its content in pieces, to be read before the next entry. Reading on raises a
`PackageError` as soon as the archive is not as it should be."""


def entry_of(raw: bytes, folder: bool, executable: bool, size: int, limits: PackageLimits) -> Entry:
    """An entry by its name in the archive.

    Raises:
        PackageError: the name is not allowed, or does not fit what it names.
    """
    parts = parts_of(raw, limits)
    if not folder and (raw.endswith(b"/") or not parts):
        raise PackageError(f"{shown_name(raw)}: a file with the name of a folder; make the archive again")
    if folder and size:
        raise PackageError(f"{shown_name(raw)}: a folder with content of its own; make the archive again")
    return Entry(parts, folder, executable and not folder, size)


def read_at(source: BinaryIO, offset: int, size: int) -> bytes:
    """Bytes at a place; fewer at the end of the file."""
    source.seek(offset)
    return source.read(size)
