"""Archives made byte by byte: good ones of both formats, and parts of which bad ones are put together."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

MANIFEST = b'[bot]\nname = "tiny"\nruntime = "python"\nrun = ["python", "bot.py"]\n'
GOOD = {"bot.toml": MANIFEST, "bot.py": b"print()\n"}

# --- tar ---------------------------------------------------------------------------------------------------------


def header(
    name: str | bytes,
    *,
    kind: bytes = b"0",
    size: int = 0,
    mode: bytes = b"0000644\0",
    link: bytes = b"",
    magic: bytes = b"ustar\x0000",
    size_field: bytes | None = None,
    prefix: bytes = b"",
    checksum: int | None = None,
) -> bytes:
    """A tar header."""
    raw = name.encode() if isinstance(name, str) else name
    block = bytearray(512)
    block[:100] = raw.ljust(100, b"\0")
    block[100:108] = mode
    block[108:124] = b"0000000\0" * 2
    block[124:136] = size_field or b"%011o\0" % size
    block[136:148] = b"%011o\0" % 0
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[157:257] = link.ljust(100, b"\0")
    block[257:265] = magic
    block[345:500] = prefix.ljust(155, b"\0")
    block[148:156] = b"%06o\0 " % (sum(block) if checksum is None else checksum)
    return bytes(block)


def member(name: str | bytes, content: bytes = b"", **fields: object) -> bytes:
    """A tar header and its content."""
    made = header(name, **{"size": len(content), **fields})  # type: ignore[arg-type]  # a test's own keywords
    return made + content + bytes(-len(content) % 512)


def pax(kind: bytes = b"x", **records: str | bytes) -> bytes:
    """A pax extension header."""
    return member("x", b"".join(pax_record(key, value) for key, value in records.items()), kind=kind)


def pax_record(key: str, value: str | bytes) -> bytes:
    """``length key=value newline``."""
    body = b" " + key.encode() + b"=" + (value.encode() if isinstance(value, str) else value) + b"\n"
    length = len(body) + 1
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


END = bytes(1024)


def good_members() -> bytes:
    """The two files of a bot."""
    return b"".join(member(name, content) for name, content in GOOD.items())


def targz(*members: bytes, end: bytes = END, good: bool = True) -> bytes:
    """A tar.gz of a good bot and these members after it."""
    return gzip.compress((good_members() if good else b"") + b"".join(members) + end, mtime=0)


def tar_of(files: dict[str, bytes], kind: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar.gz as Python's library writes it."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w:gz", format=kind) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return output.getvalue()


# --- zip ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """One entry of a zip archive; what is not given follows from the content."""

    name: bytes
    content: bytes = b""
    data: bytes | None = None
    method: int = 8
    flags: int = 0
    size: int | None = None
    packed: int | None = None
    crc: int | None = None
    mode: int = stat.S_IFREG | 0o644
    system: int = 3
    attributes: int | None = None
    extra: bytes = b""
    local_name: bytes | None = None
    local_extra: bytes = b""
    local_size: int | None = None
    descriptor: bytes = b""
    offset: int | None = None
    without_local: bool = False

    @property
    def stored(self) -> bytes:
        if self.data is not None:
            return self.data
        if self.method == 0:
            return self.content
        compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
        return compressor.compress(self.content) + compressor.flush()

    @property
    def numbers(self) -> tuple[int, int, int]:
        return (
            zlib.crc32(self.content) if self.crc is None else self.crc,
            len(self.stored) if self.packed is None else self.packed,
            len(self.content) if self.size is None else self.size,
        )

    def local(self) -> bytes:
        crc, packed, size = (0, 0, 0) if self.flags & 8 else self.numbers
        name = self.name if self.local_name is None else self.local_name
        size = size if self.local_size is None else self.local_size
        fixed = struct.pack(
            "<4s5H3L2H",
            b"PK\3\4",
            20,
            self.flags,
            self.method,
            0,
            33,
            crc,
            packed,
            size,
            len(name),
            len(self.local_extra),
        )
        return fixed + name + self.local_extra + self.stored + self.descriptor

    def central(self, offset: int) -> bytes:
        crc, packed, size = self.numbers
        attributes = self.mode << 16 if self.attributes is None else self.attributes
        return (
            struct.pack(
                "<4s6H3L5H2L",
                b"PK\1\2",
                self.system << 8 | 20,
                20,
                self.flags,
                self.method,
                0,
                33,
                crc,
                packed,
                size,
                len(self.name),
                len(self.extra),
                0,
                0,
                0,
                attributes,
                offset if self.offset is None else self.offset,
            )
            + self.name
            + self.extra
        )


BOT = [Member(name.encode(), content) for name, content in GOOD.items()]


def zipped(
    *members: Member,
    good: bool = True,
    before: bytes = b"",
    gap: bytes = b"",
    comment: bytes = b"",
    after: bytes = b"",
    count: int | None = None,
    disk: int = 0,
    before_end: bytes = b"",
) -> bytes:
    """A zip archive of a good bot and these members after it."""
    every: Sequence[Member] = [*(BOT if good else []), *members]
    body, central = before, b""
    for item in every:
        central += item.central(len(body))
        body += b"" if item.without_local else item.local()
    body += gap
    number = len(every) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\5\6", disk, 0, number, number, len(central), len(body), len(comment))
    return body + central + before_end + end + comment + after


def zip_of(files: dict[str, bytes]) -> bytes:
    """A zip archive as Python's library writes it."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


# --- both ---------------------------------------------------------------------------------------------------------


def overlapping() -> bytes:
    """Many entries that share one piece of compressed zeros, as in the zip bombs of David Fifield (2019)."""
    kernel = Member(b"big0", bytes(1 << 20))
    place = sum(len(item.local()) for item in BOT)
    more = [replace(kernel, name=b"big%d" % number, offset=place, without_local=True) for number in range(1, 9)]
    return zipped(kernel, *more)


def gzip_quine_like(depth: int = 3) -> bytes:
    """A gzip stream that holds a gzip stream that holds one."""
    data = targz()
    for _ in range(depth):
        data = gzip.compress(data, mtime=0)
    return data


def gzip_and_zip() -> bytes:
    """A valid gzip stream whose last stored block holds a zip archive; the stream's trailer is the zip's comment."""
    inner = good_members() + END
    holder = zipped(comment=bytes(8))[:-8]  # its comment will be the trailer
    data = inner + holder
    raw = zlib.compressobj(0, zlib.DEFLATED, -15)
    packed = raw.compress(data) + raw.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<2L", zlib.crc32(data), len(data) & 0xFFFFFFFF)


Make = Callable[[], bytes]
