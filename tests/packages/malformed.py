"""Malformed and hostile archives, each with what its refusal has to say."""

from __future__ import annotations

import gzip
import stat
import struct

from tests.packages import archives as a
from tests.packages.archives import Make, Member, header, member, pax, tar_of, targz, zip_of, zipped

LINK = stat.S_IFLNK | 0o777
MANY = 5001


def bent(data: bytes, at: int) -> bytes:
    """One bit turned around."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def sparse_of_pax() -> bytes:
    return targz(member("x", a.pax_record("GNU.sparse.major", "1"), kind=b"x"), member("hole", b"x"))


def zip_and_tar() -> bytes:
    """A zip in whose first extra field a reader of tar finds its mark."""
    extra = struct.pack("<2H", 0x9999, 230) + bytes(222) + b"ustar\x0000"
    return zipped(Member(b"o", b"x", local_extra=extra), *a.BOT, good=False)


# Name of the archive: how it is made, a regular expression that its refusal matches.
NAMES: dict[str, tuple[bytes, str]] = {
    "traversal": (b"../evil", r"\.\./evil: \.\. in the path"),
    "traversal within": (b"a/../../evil", r"a/\.\./\.\./evil: \.\. in the path"),
    "absolute": (b"/etc/passwd", r"/etc/passwd: an absolute path"),
    "drive letter": (b"C:/evil", r"C:/evil: begins with a drive letter"),
    "backslash": (b"..\\evil", r"a backslash in the name"),
    "control character": (b"a\x1b[2Jb", r"a\\x1b\[2Jb: a control or invisible character"),
    "newline": (b"a\nb", r"a\\nb: a control or invisible character"),
    "bidirectional override": ("a\u202egnp.py".encode(), r"a control or invisible character"),
    "long part": (b"a" * 129 + b"/b", r"a name of 129 bytes within the path"),
    "long path": (b"/".join([b"a" * 100] * 6), r"a path of 605 bytes; at most 512"),
    "deep": (b"/".join([b"a"] * 17), r"17 folders deep; at most 16"),
    "empty part": (b"a//b", r"an empty part or \. within"),
    "dot within": (b"a/./b", r"an empty part or \. within"),
    "not NFC": ("cafe\u0301.py".encode(), r"not in Unicode's form NFC"),
    "not UTF-8": (b"caf\xe9.py", r"caf\\xe9\.py: the name is not valid UTF-8"),
    "trailing dot": (b"bot.py.", r"ends with a dot or a space"),
    "Windows device": (b"lib/nul.txt", r"'nul\.txt' names a device"),
    "Windows port": (b"COM1", r"'COM1' names a device"),
    "case clash": (b"BOT.py", r"BOT\.py: differs from bot\.py by case alone"),
    "case clash of folders": (b"Bot.PY/x", r"Bot\.PY: differs from bot\.py by case alone"),
    "file and folder": (b"bot.py/x", r"bot\.py: both a file and a folder"),
    "twice": (b"bot.py", r"bot\.py: listed twice"),
    "twice through a dot": (b"./bot.py", r"bot\.py: listed twice"),
}


def _named(name: bytes, kind: str) -> bytes:
    if kind == "zip":
        return zipped(Member(name, b"x", flags=0 if name.isascii() else 1 << 11))
    # In a pax header, where it may be long and hold anything.
    return targz(pax(path=name), member("short", b"x"))


def _of_name(name: bytes, kind: str) -> Make:
    return lambda: _named(name, kind)


BY_NAME: dict[str, tuple[Make, str]] = {
    f"{kind}: {case}": (_of_name(name, kind), expected)
    for kind in ("tar", "zip")
    for case, (name, expected) in NAMES.items()
}

TARS: dict[str, tuple[Make, str]] = {
    "symbolic link": (lambda: targz(header("l", kind=b"2", link=b"/etc/passwd")), r"^l: a symbolic link"),
    "hard link": (lambda: targz(header("l", kind=b"1", link=b"bot.py")), r"^l: a hard link"),
    "character device": (lambda: targz(header("null", kind=b"3")), r"^null: a character device"),
    "block device": (lambda: targz(header("sda", kind=b"4")), r"^sda: a block device"),
    "fifo": (lambda: targz(header("pipe", kind=b"6")), r"^pipe: a pipe"),
    "contiguous": (lambda: targz(member("c", b"x", kind=b"7")), r"^c: a contiguous file"),
    "sparse of GNU": (lambda: targz(member("s", b"x", kind=b"S")), r"^s: a sparse file"),
    "sparse of pax": (sparse_of_pax, r"a sparse file"),
    "long link": (lambda: targz(member("././@LongLink", b"x\0", kind=b"K")), r"a long link"),
    "volume": (lambda: targz(header("v", kind=b"V")), r"^v: a volume label"),
    "several volumes": (lambda: targz(header("v", kind=b"M")), r"^v: the rest of a file of several"),
    "unknown type": (lambda: targz(header("u", kind=b"Z")), r"^u: an entry of the unknown type b'Z'"),
    "folder with content": (lambda: targz(member("d", b"x", kind=b"5")), r"^d: a folder with content"),
    "file called as a folder": (lambda: targz(member("d/", b"x")), r"^d/: a file with the name of a folder"),
    "file as the top folder": (lambda: targz(member("./", b"x")), r"^\./: a file with the name of a folder"),
    "no name": (lambda: targz(member("", b"x")), r"an entry without a name"),
    "NUL in a name": (lambda: targz(pax(path="a\0b"), member("x")), r"a\\x00b: a NUL byte in the name"),
    "old magic": (lambda: targz(header("o", magic=bytes(8))), r"an old kind of tar"),
    "wrong checksum": (lambda: targz(header("o", checksum=1)), r"a tar header's checksum is wrong"),
    "size in base 256": (lambda: targz(header("o", size_field=b"\x80" + bytes(10) + b"\x09")), r"size in base 256"),
    "negative size": (lambda: targz(header("o", size_field=b"-0000000001\0")), r"a size that is no octal number"),
    "huge size": (lambda: targz(header("o", size=1 << 32)), r"^o: a file of 4294967296 bytes; at most 134217728"),
    "end within a file": (lambda: targz(header("o", size=5000), end=b""), r"^o: the tar archive ends within it"),
    "no end mark": (lambda: targz(end=b""), r"ends without its end mark"),
    "half an end mark": (lambda: targz(end=bytes(512)), r"ends without its end mark"),
    "bytes after the end": (
        lambda: targz(end=a.END + member("late", b"x") + a.END),
        r"bytes follow the end of the tar",
    ),
    "endless padding": (lambda: targz(end=bytes(2 << 20)), r"more than 1048576 bytes of padding"),
    "huge extension": (lambda: targz(pax(comment="x" * 70000), member("o")), r"an extension header of \d+ bytes"),
    "extension of nothing": (lambda: targz(pax(path="o")), r"belongs to no entry"),
    "two extensions": (lambda: targz(pax(path="o"), pax(path="p"), member("q")), r"two extension headers for one"),
    "malformed extension": (lambda: targz(member("x", b"99 path=o\n", kind=b"x"), member("o")), r"malformed extension"),
    "extension without length": (
        lambda: targz(member("x", b"path=o\n", kind=b"x"), member("o")),
        r"malformed extension",
    ),
    "extension says twice": (
        lambda: targz(member("x", a.pax_record("path", "o") + a.pax_record("path", "p"), kind=b"x"), member("q")),
        r"says path twice",
    ),
    "other size in extension": (lambda: targz(pax(size="9999"), member("o", b"x")), r"changes a file's size"),
    "global rename": (lambda: targz(pax(kind=b"g", path="../o"), member("p")), r"renames or resizes all"),
    "too many": (lambda: targz(*(header(f"f{number}") for number in range(MANY))), r"more than 5000 files and folders"),
    "too many headers": (
        lambda: targz(*([pax(kind=b"g", comment="x")] * (3 * MANY))),
        r"more than 5000 files and folders",
    ),
    "bomb": (lambda: targz(member("zeros", bytes(24 << 20))), r"more than 200 bytes came of each compressed byte"),
    "gzip within gzip": (lambda: a.gzip_quine_like(1), r"a gzip stream within a gzip stream"),
    "nested gzip": (lambda: a.gzip_quine_like(3), r"a gzip stream within a gzip stream"),
    "gzip of something else": (lambda: gzip.compress(b"hello " * 200), r"holds no tar archive"),
    "gzip of nothing": (lambda: gzip.compress(b""), r"holds no tar archive"),
    "truncated": (lambda: targz()[:-20], r"ends in the middle \(truncated\)"),
    "truncated trailer": (lambda: targz()[:-4], r"ends in the middle \(truncated\)"),
    "trailing bytes": (lambda: targz() + b"garbage", r"bytes follow the end of the gzip stream"),
    "second member": (lambda: targz() + gzip.compress(b"x"), r"a second gzip stream follows"),
    "wrong CRC": (lambda: bent(targz(), -8), r"checksum \(CRC\) does not fit"),
    "wrong length": (lambda: bent(targz(), -1), r"checksum \(CRC\) does not fit"),
    "damaged": (lambda: targz()[:40] + b"\xff" * 8 + targz()[48:], r"compressed data is damaged|checksum"),
    "gzip and zip": (a.gzip_and_zip, r"a gzip stream and a zip archive at once"),
}

ZIPS: dict[str, tuple[Make, str]] = {
    "symbolic link": (lambda: zipped(Member(b"l", b"/etc/passwd", mode=LINK)), r"^l: a symbolic link"),
    "reparse point": (lambda: zipped(Member(b"l", b"x", system=0, attributes=0x400)), r"^l: a symbolic link"),
    "fifo": (lambda: zipped(Member(b"p", mode=stat.S_IFIFO | 0o644)), r"^p: a device, pipe or socket"),
    "device": (lambda: zipped(Member(b"d", mode=stat.S_IFBLK | 0o644)), r"^d: a device, pipe or socket"),
    "folder without slash": (lambda: zipped(Member(b"d", mode=stat.S_IFDIR | 0o755)), r"^d: both a file and a folder"),
    "file with slash": (lambda: zipped(Member(b"d/")), r"^d/: both a file and a folder"),
    "folder with content": (
        lambda: zipped(Member(b"d/", b"x", mode=stat.S_IFDIR | 0o755)),
        r"^d/: a folder with content",
    ),
    "NUL in a name": (lambda: zipped(Member(b"a\0b", b"x")), r"a\\x00b: a NUL byte in the name"),
    "no name": (lambda: zipped(Member(b"", b"x")), r"an entry without a name"),
    "name in an old code page": (lambda: zipped(Member(b"caf\x82", b"x")), r"not marked as UTF-8"),
    "two names": (
        lambda: zipped(Member(b"o", b"x", extra=struct.pack("<2HBL", 0x7075, 6, 1, 0) + b"p")),
        r"^o: has a second, different name",
    ),
    "malformed extra": (lambda: zipped(Member(b"o", b"x", extra=b"\1\2\xff\xff")), r"^o: a malformed extra field"),
    "encrypted": (lambda: zipped(Member(b"o", b"x", flags=1)), r"^o: encrypted"),
    "strongly encrypted": (lambda: zipped(Member(b"o", b"x", flags=1 << 6 | 1)), r"^o: encrypted"),
    "patched": (lambda: zipped(Member(b"o", b"x", flags=1 << 5)), r"^o: needs a feature of zip"),
    "bzip2 inside": (lambda: zipped(Member(b"o", b"x", method=12)), r"^o: compressed by method 12"),
    "zip64 size": (lambda: zipped(Member(b"o", b"x", size=0xFFFFFFFF)), r"^o: a zip64 entry"),
    "zip64 field": (lambda: zipped(Member(b"o", b"x", extra=struct.pack("<2HQ", 1, 8, 1))), r"^o: a zip64 entry"),
    "zip64 field in the local header": (
        lambda: zipped(Member(b"o", b"x", local_extra=struct.pack("<2HQ", 1, 8, 1))),
        r"^o: a zip64 entry",
    ),
    "zip64 count": (lambda: zipped(count=0xFFFF), r"a zip64 archive"),
    "zip64 locator": (lambda: zipped(before_end=b"PK\6\7" + bytes(16)), r"a zip64 archive"),
    "several parts": (lambda: zipped(disk=1), r"one of several parts"),
    "too many": (
        lambda: zipped(*(Member(b"f%d" % number, method=0) for number in range(MANY))),
        r"more than 5000 files and folders",
    ),
    "wrong count": (lambda: zipped(count=1), r"the directory of the zip archive is damaged"),
    "count too high": (lambda: zipped(count=4), r"the directory of the zip archive is damaged"),
    "overlapping entries": (a.overlapping, r"^big0: its parts overlap"),
    "bytes between": (lambda: zipped(gap=b"hidden"), r"the directory: its parts overlap, or bytes between"),
    "bytes before the end": (lambda: zipped(before_end=b"hidden"), r"the directory: its parts overlap, or"),
    "offset wrong": (lambda: zipped(Member(b"o", b"x", offset=7)), r"its parts overlap"),
    "bytes before": (lambda: zipped(before=b"PK\3\4" + bytes(60)), r"^bot\.toml: its parts overlap, or bytes between"),
    "bytes after": (lambda: zipped(after=b"garbage"), r"no end record \(truncated, or bytes follow"),
    "truncated": (lambda: zipped()[:-10], r"no end record \(truncated"),
    "two ends": (
        lambda: zipped(comment=struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)),
        r"two ends of a zip archive",
    ),
    "another name in the local header": (
        lambda: zipped(Member(b"o", b"x", local_name=b"p")),
        r"^o: described in two different ways",
    ),
    "another size in the local header": (
        lambda: zipped(Member(b"o", b"x", local_size=2)),
        r"^o: described in two different ways",
    ),
    "wrong data descriptor": (
        lambda: zipped(Member(b"o", b"x", flags=8, descriptor=bytes(12))),
        r"^o: described in two different ways",
    ),
    "wrong CRC": (lambda: zipped(Member(b"o", b"x", crc=1)), r"^o: the checksum \(CRC\) does not fit"),
    "larger than it says": (lambda: zipped(Member(b"o", bytes(5000), size=4)), r"^o: has another size"),
    "smaller than it says": (lambda: zipped(Member(b"o", b"x", size=4)), r"^o: has another size"),
    "stored with another size": (lambda: zipped(Member(b"o", b"xy", method=0, size=1)), r"^o: has another size"),
    "damaged": (lambda: zipped(Member(b"o", b"x", data=b"\xff\xff\xff")), r"^o: the compressed data is damaged"),
    "compressed data cut": (
        lambda: zipped(Member(b"o", b"x" * 99, data=Member(b"o", b"x" * 99).stored[:-2])),
        r"^o: its compressed data ends in the middle",
    ),
    "compressed data goes on": (
        lambda: zipped(Member(b"o", b"x", data=Member(b"o", b"x").stored + b"more")),
        r"^o: bytes follow the end of its compressed data",
    ),
    "bomb": (lambda: zipped(Member(b"zeros", bytes(24 << 20))), r"^zeros: more than 200 bytes came of each"),
    "huge size": (lambda: zipped(Member(b"o", b"x", size=1 << 31)), r"^o: a file of 2147483648 bytes"),
    "zip and tar": (zip_and_tar, r"a zip archive and a tar archive at once"),
    "empty": (lambda: zipped(good=False), r"an empty zip archive"),
}

OTHERS: dict[str, tuple[Make, str]] = {
    "empty file": (lambda: b"", r"an empty file; a package is a tar\.gz or a zip"),
    "text": (lambda: b"hello", r"no archive that is known here"),
    "plain tar": (lambda: a.good_members() + a.END, r"a tar archive that is not compressed"),
    "xz": (lambda: b"\xfd7zXZ\0" + bytes(99), r"an xz stream"),
    "zstd": (lambda: b"\x28\xb5\x2f\xfd" + bytes(99), r"a zstd stream"),
    "no manifest": (lambda: tar_of({"bot.py": b""}), r"no bot\.toml in it"),
    "no manifest but another name": (lambda: zip_of({"BOT.TOML": a.MANIFEST}), r"no bot\.toml in it"),
    "manifest too deep": (lambda: tar_of({"a/b/bot.toml": a.MANIFEST}), r"bot\.toml is at a/b/bot\.toml; it belongs"),
    "two top folders": (lambda: zip_of({"a/bot.toml": a.MANIFEST, "b/x": b""}), r"bot\.toml is at a/bot\.toml"),
    "manifest a folder": (lambda: targz(header("bot.toml/", kind=b"5"), good=False), r"no bot\.toml in it"),
    "manifest too large": (lambda: tar_of({"bot.toml": b"#" * 65537}), r"bot\.toml: 65537 bytes; at most 65536"),
    "manifest not TOML": (lambda: tar_of({"bot.toml": b"[bot"}), r"bot\.toml: not valid TOML"),
    "manifest not UTF-8": (lambda: tar_of({"bot.toml": b"\xff"}), r"bot\.toml: can't be read"),
    "manifest nested too deep": (lambda: tar_of({"bot.toml": b"x = " + b"[" * 9000}), r"bot\.toml: (nested|not valid)"),
    "manifest without a section": (lambda: tar_of({"bot.toml": b""}), r"the section \[bot\] is missing"),
    "unknown key": (lambda: tar_of({"bot.toml": a.MANIFEST + b"x = 1\n"}), r"bot\.toml: unknown key 'x'"),
    "unknown runtime": (
        lambda: tar_of({"bot.toml": a.MANIFEST.replace(b'"python"\nrun', b'"pyhton"\nrun')}),
        r"runtime 'pyhton' is unknown; .* \(did you mean 'python'\?\)",
    ),
    "run names nothing": (lambda: tar_of({"bot.toml": a.MANIFEST}), r"run names 'bot\.py', which is not a file of"),
}
