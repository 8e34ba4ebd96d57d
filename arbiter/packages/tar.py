"""Reads tar archives: files and folders in the formats ustar, pax and GNU, and nothing else.

Layout: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; the GNU manual, "Basic Tar Format".
docs/decisions/archives.md says why this is not left to ``tarfile``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from arbiter.packages.entries import Entries, Entry, entry_of
from arbiter.packages.gzipped import MAGIC as GZIP_MAGIC
from arbiter.packages.gzipped import GunzipStream
from arbiter.packages.limits import CHUNK, PackageError, PackageLimits
from arbiter.packages.names import shown_name

_BLOCK = 512
_END = bytes(_BLOCK)
# Archives are padded to whole records; the longest that tar is commonly told to write have 1 MiB.
_PADDING = 1 << 20
_EXTENSION_BYTES = 64 << 10
_OWNER_EXECUTES = 0o100
_REFUSED = {
    b"1": "a hard link; put a copy in its place",
    b"2": "a symbolic link; put a copy in its place",
    b"3": "a character device; a package holds files and folders",
    b"4": "a block device; a package holds files and folders",
    b"6": "a pipe (fifo); a package holds files and folders",
    b"7": "a contiguous file; write it as an ordinary one",
    b"S": "a sparse file; write it in full",
    b"D": "an incremental dump's folder; make an ordinary archive",
    b"M": "the rest of a file of several volumes; make one archive",
    b"V": "a volume label; make the archive without",
    b"K": "a long link; put a copy of the file in its place",
}


class _Header(NamedTuple):
    name: bytes
    kind: bytes
    size: int
    mode: int


def read_tar(stream: GunzipStream, limits: PackageLimits) -> Entries:
    """The entries of an archive."""
    return _TarReader(stream, limits).entries()


class _TarReader:
    def __init__(self, stream: GunzipStream, limits: PackageLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._headers = 0

    def entries(self) -> Entries:
        name: bytes | None = None  # from an extension header, for the entry that follows it
        begun = False
        while (header := self._header(begun)) is not None:
            begun = True
            if header.kind == b"g":
                self._global(self._extension(header))
            elif header.kind in (b"x", b"L"):
                if name is not None:
                    raise PackageError(
                        f"{shown_name(name)}: two extension headers for one entry; make the archive again"
                    )
                name = self._extended_name(header)
            else:
                entry = self._entry(header, name or header.name)
                name = None
                content = self._content(entry)
                yield entry, content
                for _ in content:  # what the caller did not read
                    pass
                self._skip_padding(entry.size)
        if name is not None:
            raise PackageError("an extension header at the end belongs to no entry; make the archive again")
        self._finish()

    def _header(self, begun: bool) -> _Header | None:
        block = self._stream.exactly(_BLOCK)
        if not begun:
            _check_begin(block)
        if len(block) < _BLOCK:
            raise PackageError("the tar archive ends without its end mark (truncated); make the archive again")
        if block == _END:
            return None
        # Extension headers count, or an archive of nothing else would be read for ever.
        self._headers += 1
        if self._headers > 3 * self._limits.entries:
            raise PackageError(
                f"more than {self._limits.entries} files and folders; leave out what the bot does not need to play"
            )
        if _number(block[148:156], "checksum") != sum(block) - sum(block[148:156]) + 8 * ord(" "):
            raise PackageError("a tar header's checksum is wrong; the archive is damaged, make it again")
        if block[257:265] not in (b"ustar\x0000", b"ustar  \x00"):
            raise PackageError("an old kind of tar; write it as pax, ustar or gnu (tar --format=pax)")
        name = block[:100].split(b"\0", 1)[0]
        prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
        return _Header(
            name=prefix + b"/" + name if prefix else name,
            kind=block[156:157],
            size=_number(block[124:136], "size"),
            mode=_number(block[100:108], "mode"),
        )

    def _entry(self, header: _Header, name: bytes) -> Entry:
        shown = shown_name(name)
        if header.kind in _REFUSED:
            raise PackageError(f"{shown}: {_REFUSED[header.kind]}")
        if header.kind not in (b"0", b"\0", b"5"):
            raise PackageError(
                f"{shown}: an entry of the unknown type {header.kind!r}; a package holds files and folders"
            )
        return entry_of(name, header.kind == b"5", bool(header.mode & _OWNER_EXECUTES), header.size, self._limits)

    def _content(self, entry: Entry) -> Iterator[bytes]:
        left = entry.size
        while left:
            piece = self._stream.read(min(left, CHUNK))
            if not piece:
                raise PackageError(f"{entry.path}: the tar archive ends within it (truncated); make the archive again")
            left -= len(piece)
            yield piece

    def _skip_padding(self, size: int) -> None:
        padding = -size % _BLOCK
        if len(self._stream.exactly(padding)) < padding:
            raise PackageError("the tar archive ends without its end mark (truncated); make the archive again")

    def _extension(self, header: _Header) -> bytes:
        if header.size > _EXTENSION_BYTES:
            raise PackageError(f"an extension header of {header.size} bytes; at most {_EXTENSION_BYTES} are allowed")
        data = self._stream.exactly(header.size)
        self._skip_padding(header.size)
        return data

    def _extended_name(self, header: _Header) -> bytes:
        data = self._extension(header)
        if header.kind == b"L":
            return data.removesuffix(b"\0")
        records = _pax_records(data)
        _refuse_sparse(records)
        if b"size" in records:
            raise PackageError("an extension header that changes a file's size; make the archive again")
        return records.get(b"path", b"")

    def _global(self, data: bytes) -> None:
        records = _pax_records(data)
        _refuse_sparse(records)
        if b"path" in records or b"size" in records:
            raise PackageError("an extension header that renames or resizes all files; make the archive again")

    def _finish(self) -> None:
        """After the first block of zeros: a second, padding, nothing else."""
        padding = 0
        while piece := self._stream.read(CHUNK):
            padding += len(piece)
            if any(piece):
                raise PackageError("bytes follow the end of the tar archive; make the archive again")
            if padding > _PADDING:
                raise PackageError(f"more than {_PADDING} bytes of padding follow the tar archive; make it again")
        if padding < _BLOCK:
            raise PackageError("the tar archive ends without its end mark (truncated); make the archive again")


def _check_begin(block: bytes) -> None:
    if block.startswith(GZIP_MAGIC):
        raise PackageError("a gzip stream within a gzip stream; compress the tar once")
    if block[257:262] != b"ustar" and block[:_BLOCK] != _END:
        raise PackageError("the gzip stream holds no tar archive; pack the bot's folder with tar -cz")


def _number(field: bytes, what: str) -> int:
    """An octal number, ended by a space or NUL."""
    if field[0] & 0x80:
        raise PackageError(f"a tar header with a {what} in base 256, which only files over 8 GiB need; make it again")
    digits = field.rstrip(b" \0").lstrip(b" ")
    if not digits or digits.strip(b"01234567"):
        raise PackageError(f"a tar header with a {what} that is no octal number; the archive is damaged, make it again")
    return int(digits, 8)


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """``length key=value newline``, where the length counts the whole record in decimal."""
    records: dict[bytes, bytes] = {}
    while data:
        digits, space, _ = data[:8].partition(b" ")
        length = int(digits) if space and digits.isdigit() else 0
        record = data[len(digits) + 1 : length]
        key, equals, value = record.partition(b"=")
        if length > len(data) or not equals or not value.endswith(b"\n"):
            raise PackageError("a malformed extension header (pax); the archive is damaged, make it again")
        if key in records:
            raise PackageError(f"an extension header that says {shown_name(key)} twice; make the archive again")
        records[key] = value[:-1]
        data = data[length:]
    return records


def _refuse_sparse(records: dict[bytes, bytes]) -> None:
    if any(key.startswith(b"GNU.sparse.") for key in records):
        raise PackageError("a sparse file; write it in full (tar without --sparse)")
