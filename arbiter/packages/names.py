"""Which paths a package may hold: those that mean the same one file on every system, and in every reader."""

from __future__ import annotations

import re
import unicodedata

from arbiter.packages.limits import PackageError, PackageLimits

_DRIVE = re.compile(r"[A-Za-z]:")
# Names that Windows gives to devices, with any extension and whatever the case:
# https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)


def parts_of(raw: bytes, limits: PackageLimits) -> tuple[str, ...]:
    """The parts of a path as an archive has it; none for the top folder itself, which some archives list.

    A leading ``./`` and a trailing ``/`` are taken off.

    Raises:
        PackageError: the path is not allowed; says why.
    """
    shown = shown_name(raw)
    if not raw:
        raise PackageError("an entry without a name; make the archive again")
    if b"\0" in raw:
        raise PackageError(f"{shown}: a NUL byte in the name; rename it")
    if len(raw) > limits.path_bytes:
        raise PackageError(f"{shown}: a path of {len(raw)} bytes; at most {limits.path_bytes} are allowed")
    try:
        path = raw.decode()
    except UnicodeDecodeError:
        raise PackageError(f"{shown}: the name is not valid UTF-8; rename it") from None
    if "\\" in path:
        raise PackageError(f"{shown}: a backslash in the name; parts of a path are separated by /")
    if path.startswith("/"):
        raise PackageError(f"{shown}: an absolute path; paths begin at the bot's folder")
    if _DRIVE.match(path):
        raise PackageError(f"{shown}: begins with a drive letter; paths begin at the bot's folder")
    path = path.removeprefix("./").removesuffix("/")
    if path in ("", "."):
        return ()
    parts = tuple(path.split("/"))
    if len(parts) > limits.depth:
        raise PackageError(f"{shown}: {len(parts)} folders deep; at most {limits.depth} are allowed")
    for part in parts:
        _check_part(part, shown, limits)
    return parts


def _check_part(part: str, shown: str, limits: PackageLimits) -> None:
    if part == "..":
        raise PackageError(f"{shown}: .. in the path leads out of a folder; paths only lead down")
    if part in ("", "."):
        raise PackageError(f"{shown}: an empty part or . within the path; write it without")
    if len(part.encode()) > limits.name_bytes:
        raise PackageError(
            f"{shown}: a name of {len(part.encode())} bytes within the path; at most {limits.name_bytes} are allowed"
        )
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp") for letter in part):
        raise PackageError(f"{shown}: a control or invisible character in the name; rename it")
    if unicodedata.normalize("NFC", part) != part:
        raise PackageError(f"{shown}: the name is not in Unicode's form NFC; rename it, macOS writes such names")
    if part[-1] in ". ":
        raise PackageError(f"{shown}: a name that ends with a dot or a space, which Windows drops; rename it")
    if _DEVICE.fullmatch(part):
        raise PackageError(f"{shown}: {part!r} names a device on Windows; rename it")


def shown_name(raw: bytes) -> str:
    """A name for a message: on one line, without control characters, cut when long."""
    text = raw.decode(errors="backslashreplace")
    text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return text if len(text) <= 120 else text[:80] + "..." + text[-30:]


class Tree:
    """The paths seen so far, to refuse those that some system could not tell apart."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, ...], str] = {}
        self._spelt: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._listed: set[tuple[str, ...]] = set()

    def add(self, parts: tuple[str, ...], folder: bool) -> None:
        """Take a path, and the folders above it.

        Raises:
            PackageError: it is there already, differs from another by case or normalisation alone, or is both a file
                and a folder.
        """
        shown = "/".join(parts) or "."
        if parts in self._listed:
            raise PackageError(f"{shown}: listed twice; make the archive again")
        self._listed.add(parts)
        for length in range(1, len(parts) + 1):
            prefix = parts[:length]
            kind = "folder" if folder or length < len(parts) else "file"
            if self._kinds.setdefault(prefix, kind) != kind:
                raise PackageError(f"{'/'.join(prefix)}: both a file and a folder; make the archive again")
            spelt = self._spelt.setdefault(tuple(map(_caseless, prefix)), prefix)
            if spelt != prefix:
                raise PackageError(
                    f"{'/'.join(prefix)}: differs from {'/'.join(spelt)} by case alone; rename one of the two"
                )


def _caseless(part: str) -> str:
    """The key of canonical caseless matching (The Unicode Standard, section 3.13, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", part).casefold())
