"""Run inside the cage: copies the bot's folder to where it can be written, builds it, and sends the result.

Executed by its text, with the standard library alone. What it does can be tampered with by what it builds; so nothing
that it sends is believed, and the service reads the result as it reads any other package.

Arguments: the build command. Environment: ``ARBITER_ADDRESS``, a unix socket that takes the result as a tar.gz.
Exit status: 0 when the result was sent, else the build's.
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import BinaryIO

_LEFT_OUT = (".git", "__pycache__")


def build(command: list[str]) -> int:
    """Build in ``$HOME/build``; the exit status."""
    source, work = Path.cwd(), Path(os.environ["HOME"], "build")
    shutil.copytree(source, work)
    for path in (work, *work.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    address = os.environ.pop("ARBITER_ADDRESS")
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name)
    try:
        status = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as error:
        print(f"{command[0]} can't be run: {error}", file=sys.stderr)
        return 127
    if status != 0:
        return status if status > 0 else 128 - status
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address.removeprefix("unix:"))
        with connection.makefile("wb") as stream:
            send(work, stream)
    return 0


def send(folder: Path, stream: BinaryIO) -> None:
    """Write the files of a folder as a tar.gz. A link to a file of the folder becomes a copy, others are left out."""
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=stream) as packed,
        tarfile.open(mode="w|", fileobj=packed, format=tarfile.PAX_FORMAT) as archive,
    ):
        for parent, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
            for name in sorted(names):
                path = Path(parent, name)
                real = path.resolve()
                if not real.is_file() or not real.is_relative_to(folder.resolve()):
                    print(f"{path.relative_to(folder)}: left out, not a file of the folder", file=sys.stderr)
                    continue
                member = tarfile.TarInfo(path.relative_to(folder).as_posix())
                with real.open("rb") as source:
                    status = os.fstat(source.fileno())
                    member.size, member.mode = status.st_size, status.st_mode & 0o777
                    archive.addfile(member, source)


if __name__ == "__main__":
    sys.exit(build(sys.argv[1:]))
