"""What a bot package may hold, and the error for everything that is refused."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.errors import UsageError


class PackageError(UsageError):
    """A package, or a folder that is to become one, is refused; one line says what, where, and what would be right."""


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """Bounds of one package. All of them hold before anything is written."""

    archive_bytes: int = 64 << 20
    """Of the archive as it is sent."""
    unpacked_bytes: int = 256 << 20
    """Of all files together."""
    file_bytes: int = 128 << 20
    """Of one file."""
    entries: int = 5000
    """Files and folders."""
    depth: int = 16
    """Parts of a path."""
    name_bytes: int = 128
    """Of one part of a path, in UTF-8."""
    path_bytes: int = 512
    """Of a path, in UTF-8."""
    manifest_bytes: int = 64 << 10
    """Of ``bot.toml``."""
    ratio: int = 200
    """How many bytes may come of one compressed byte, once more than `RATIO_FLOOR` bytes came."""


RATIO_FLOOR = 16 << 20
"""Bytes below which nobody is harmed, however well they were compressed."""
CHUNK = 1 << 16
"""Bytes that are read, decompressed and written at a time: what a package costs in memory does not grow with it."""


class RatioGuard:
    """Stops a stream out of which far more comes than was put in."""

    def __init__(self, limits: PackageLimits, what: str) -> None:
        self._ratio = limits.ratio
        self._what = what

    def check(self, consumed: int, produced: int) -> None:
        """Look at a stream's totals until now, in bytes.

        Raises:
            PackageError: too much came of too little.
        """
        if produced > RATIO_FLOOR and produced > self._ratio * consumed:
            raise PackageError(
                f"{self._what}: more than {self._ratio} bytes came of each compressed byte, as in a bomb; "
                "leave out what is that empty"
            )
