"""Reads zip archives in which every byte has one meaning: entry after entry without a gap, then the directory, the end.

What overlaps, hides in gaps or is described in two ways can't be written in that layout. Fields: PKWARE's APPNOTE.TXT,
sections 4.3 and 4.4. docs/decisions/archives.md says why this is not left to ``zipfile``.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from arbiter.packages.entries import Entries, Entry, entry_of, read_at
from arbiter.packages.limits import CHUNK, PackageError, PackageLimits, RatioGuard
from arbiter.packages.names import shown_name

MAGIC = b"PK\x03\x04"
END_MAGIC = b"PK\x05\x06"
_CENTRAL_MAGIC = b"PK\x01\x02"
_DESCRIPTOR_MAGIC = b"PK\x07\x08"
_ZIP64_LOCATOR = b"PK\x06\x07"

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_COMMENT_BYTES = 65535

_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13
_DESCRIPTOR = 1 << 3
_UTF8 = 1 << 11
_KNOWN_FLAGS = 1 << 1 | 1 << 2 | _DESCRIPTOR | _UTF8
_STORED, _DEFLATED = 0, 8
_UNIX = (3, 19)
_ZIP64_FIELD, _UNICODE_PATH = 0x0001, 0x7075
_REPARSE_POINT = 0x400
_BIG = 0xFFFFFFFF
_AGAIN = "make the archive again"
_GAP = f"its parts overlap, or bytes between them belong to none; {_AGAIN}"


class _Directory(NamedTuple):
    offset: int
    size: int
    entries: int


class _Listed(NamedTuple):
    """An entry as the directory has it."""

    raw: bytes
    flags: int
    method: int
    crc: int
    packed: int
    entry: Entry
    offset: int


def find_end(source: BinaryIO, size: int) -> int | None:
    """Where a zip archive's end record is, whose comment reaches to the file's last byte; None when there is none.

    Raises:
        PackageError: there are several, so that readers would disagree.
    """
    start = max(0, size - _END.size - _COMMENT_BYTES)
    tail = read_at(source, start, size - start)
    found: list[int] = []
    at = tail.rfind(END_MAGIC)
    while at >= 0:
        comment = int.from_bytes(tail[at + _END.size - 2 : at + _END.size], "little")
        if at + _END.size + comment == len(tail):
            found.append(start + at)
        at = tail.rfind(END_MAGIC, 0, at + 3)
    if len(found) > 1:
        raise PackageError(f"two ends of a zip archive; {_AGAIN}")
    return found[0] if found else None


def read_zip(source: BinaryIO, size: int, limits: PackageLimits) -> Entries:
    """The entries of an archive of `size` bytes, in the order of their bytes."""
    end = find_end(source, size)
    if end is None:
        raise PackageError("the zip archive has no end record (truncated, or bytes follow its end); send it again")
    directory = _directory(source, end, limits)
    listed = sorted(_list(source, directory, limits), key=lambda item: item.offset)
    place = 0
    for index, item in enumerate(listed):
        if item.offset != place:
            raise PackageError(f"{item.entry.path}: {_GAP}")
        data = _data_offset(source, item)
        following = listed[index + 1].offset if index + 1 < len(listed) else directory.offset
        if data + item.packed > following:
            raise PackageError(f"{item.entry.path}: {_GAP}")
        content = _content(source, data, item, limits)
        yield item.entry, content
        for _ in content:  # what the caller did not read
            pass
        place = data + item.packed
        if item.flags & _DESCRIPTOR:
            place += _descriptor_size(source, place, item)
    if place != directory.offset:
        raise PackageError(f"the directory: {_GAP}")


def _directory(source: BinaryIO, end: int, limits: PackageLimits) -> _Directory:
    _, disk, first_disk, here, count, size, offset, _ = _END.unpack(read_at(source, end, _END.size))
    if _BIG in (size, offset) or 0xFFFF in (here, count) or read_at(source, max(0, end - 20), 4) == _ZIP64_LOCATOR:
        raise PackageError("a zip64 archive, which only archives over 4 GiB need; write an ordinary zip")
    if disk or first_disk or here != count:
        raise PackageError("one of several parts of a zip archive; make one archive")
    if count > limits.entries:
        raise PackageError(
            f"more than {limits.entries} files and folders; leave out what the bot does not need to play"
        )
    if offset + size != end:
        raise PackageError(f"the directory: {_GAP}")
    return _Directory(offset, size, count)


def _list(source: BinaryIO, directory: _Directory, limits: PackageLimits) -> Iterator[_Listed]:
    place, end = directory.offset, directory.offset + directory.size
    for _ in range(directory.entries):
        fixed = read_at(source, place, _CENTRAL.size)
        if place + _CENTRAL.size > end or not fixed.startswith(_CENTRAL_MAGIC):
            raise PackageError(f"the directory of the zip archive is damaged; {_AGAIN}")
        (_, made, _, flags, method, _, _, crc, packed, size, name_length, extra_length, comment_length, disk, _) = (
            _CENTRAL.unpack(fixed)[:15]
        )
        attributes, offset = _CENTRAL.unpack(fixed)[15:]
        variable = read_at(source, place + _CENTRAL.size, name_length + extra_length)
        place += _CENTRAL.size + name_length + extra_length + comment_length
        if place > end or disk:
            raise PackageError(f"the directory of the zip archive is damaged; {_AGAIN}")
        raw, extra = variable[:name_length], variable[name_length:]
        _check_coding(raw, flags, method, (packed, size, offset), extra)
        entry = _entry(raw, made >> 8, attributes, size, limits)
        yield _Listed(raw, flags, method, crc, packed, entry, offset)
    if place != end:
        raise PackageError(f"the directory of the zip archive is damaged; {_AGAIN}")


def _check_coding(raw: bytes, flags: int, method: int, numbers: tuple[int, int, int], extra: bytes) -> None:
    shown = shown_name(raw)
    fields = _extra_fields(extra, shown)
    if _BIG in numbers or _ZIP64_FIELD in fields:
        raise PackageError(f"{shown}: a zip64 entry, which only files over 4 GiB need; write an ordinary zip")
    if flags & _ENCRYPTED:
        raise PackageError(f"{shown}: encrypted; write it without a password")
    if flags & ~_KNOWN_FLAGS:
        raise PackageError(f"{shown}: needs a feature of zip that is not supported (flags {flags:#06x}); {_AGAIN}")
    if method not in (_STORED, _DEFLATED):
        raise PackageError(f"{shown}: compressed by method {method}; only stored and deflated files are read")
    if not flags & _UTF8 and not raw.isascii():
        raise PackageError(f"{shown}: the name is not marked as UTF-8; rename it, or write the zip with UTF-8 names")
    # Its name follows a version and a checksum, five bytes.
    if _UNICODE_PATH in fields and fields[_UNICODE_PATH][5:] != raw:
        raise PackageError(f"{shown}: has a second, different name; {_AGAIN}")


def _extra_fields(extra: bytes, shown: str) -> dict[int, bytes]:
    fields: dict[int, bytes] = {}
    while extra:
        if len(extra) < 4 or len(extra) < 4 + int.from_bytes(extra[2:4], "little"):
            raise PackageError(f"{shown}: a malformed extra field; {_AGAIN}")
        length = int.from_bytes(extra[2:4], "little")
        fields[int.from_bytes(extra[:2], "little")] = extra[4 : 4 + length]
        extra = extra[4 + length :]
    return fields


def _entry(raw: bytes, system: int, attributes: int, size: int, limits: PackageLimits) -> Entry:
    shown = shown_name(raw)
    folder = raw.endswith(b"/")
    mode = attributes >> 16 if system in _UNIX else 0
    kind = stat.S_IFMT(mode)
    if stat.S_ISLNK(mode) or (system not in _UNIX and attributes & _REPARSE_POINT):
        raise PackageError(f"{shown}: a symbolic link; put a copy in its place")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise PackageError(f"{shown}: a device, pipe or socket; a package holds files and folders")
    if (kind == stat.S_IFDIR) > folder or (kind == stat.S_IFREG and folder):
        raise PackageError(f"{shown}: both a file and a folder; {_AGAIN}")
    return entry_of(raw, folder, bool(mode & stat.S_IXUSR), size, limits)


def _data_offset(source: BinaryIO, item: _Listed) -> int:
    """Where an entry's data begins, once its local header says what the directory says."""
    fixed = read_at(source, item.offset, _LOCAL.size)
    if len(fixed) < _LOCAL.size or not fixed.startswith(MAGIC):
        raise PackageError(f"{item.entry.path}: {_GAP}")
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack(fixed)
    variable = read_at(source, item.offset + _LOCAL.size, name_length + extra_length)
    if _ZIP64_FIELD in _extra_fields(variable[name_length:], item.entry.path):
        raise PackageError(f"{item.entry.path}: a zip64 entry, which only files over 4 GiB need; write an ordinary zip")
    numbers = (crc, packed, size)
    same = numbers == (item.crc, item.packed, item.entry.size) or (flags & _DESCRIPTOR and numbers == (0, 0, 0))
    if (flags, method, variable[:name_length]) != (item.flags, item.method, item.raw) or not same:
        raise PackageError(f"{item.entry.path}: described in two different ways; {_AGAIN}")
    return item.offset + _LOCAL.size + len(variable)


def _descriptor_size(source: BinaryIO, place: int, item: _Listed) -> int:
    """Size of what follows the data of an entry that was written as a stream."""
    data = read_at(source, place, 16)
    numbers = struct.pack("<3L", item.crc, item.packed, item.entry.size)
    if data == _DESCRIPTOR_MAGIC + numbers:
        return 16
    if data[:12] == numbers:
        return 12
    raise PackageError(f"{item.entry.path}: described in two different ways; {_AGAIN}")


def _content(source: BinaryIO, offset: int, item: _Listed, limits: PackageLimits) -> Iterator[bytes]:
    guard = RatioGuard(limits, item.entry.path)
    crc = produced = 0
    for consumed, piece in _pieces(source, offset, item):
        produced += len(piece)
        guard.check(consumed, produced)
        if produced > item.entry.size:
            break
        crc = zlib.crc32(piece, crc)
        yield piece
    if produced != item.entry.size:
        raise PackageError(f"{item.entry.path}: has another size than the archive says; {_AGAIN}")
    if crc != item.crc:
        raise PackageError(f"{item.entry.path}: the checksum (CRC) does not fit its content; send the archive again")


def _pieces(source: BinaryIO, offset: int, item: _Listed) -> Iterator[tuple[int, bytes]]:
    """The content in pieces, each with the number of compressed bytes that went in until then."""
    stream = zlib.decompressobj(wbits=-15) if item.method == _DEFLATED else None
    consumed = 0
    while consumed < item.packed:
        waiting = read_at(source, offset + consumed, min(CHUNK, item.packed - consumed))
        consumed += len(waiting)
        if stream is None:
            yield consumed, waiting
            continue
        while waiting:
            try:
                piece = stream.decompress(waiting, CHUNK)
            except zlib.error:
                raise PackageError(
                    f"{item.entry.path}: the compressed data is damaged; send the archive again"
                ) from None
            waiting = stream.unconsumed_tail
            yield consumed - len(waiting), piece
            if stream.unused_data:
                raise PackageError(f"{item.entry.path}: bytes follow the end of its compressed data; {_AGAIN}")
    while stream is not None and not stream.eof:  # what it had no room to give yet
        piece = stream.decompress(b"", CHUNK)
        if piece:
            yield consumed, piece
            continue
        raise PackageError(f"{item.entry.path}: its compressed data ends in the middle; {_AGAIN}")
