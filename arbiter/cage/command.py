"""What every bot is started with, caged or not: its command, its environment, the parts of the SDK, its user.

The environment is exactly this and what the launch adds::

    ARBITER_ADDRESS            unix:<socket>, to be dialled
    HOME, TMPDIR               the only place to write
    LANG                       C.UTF-8
    MALLOC_ARENA_MAX           2: else the C library reserves much address space for each thread, which is bounded
    PATH                       the interpreter's folder, then the system's
    PYTHONPATH                 where ``arbiter.sdk`` is found
    PYTHONDONTWRITEBYTECODE    1: the bot's folder can't be written
    PYTHONUNBUFFERED           1: what a killed bot had printed is in its log
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path, PurePath

import arbiter
from arbiter.cage.errors import CageError
from arbiter.cage.manifest import Manifest
from arbiter.cage.runtimes import Runtimes, search_path

PACKAGE_FOLDER = Path(arbiter.__file__).resolve().parent
SDK_PARTS = ("__init__.py", "errors.py", "sdk", "engine", "wire", "api")

# 0x70000000 to 0x7fffffff (1879048192 to 2147483647) is the one large range that neither distributions nor systemd
# allocate (https://systemd.io/UIDS-GIDS/), and it fits tools that read user ids as signed 32-bit numbers.
_FIRST_UID = 0x70000000
_UIDS = 0x0FFFFFFF


def bot_command(manifest: Manifest, folder: PurePath, runtimes: Runtimes) -> list[str]:
    """The bot's argument list, with its folder at `folder`.

    Raises:
        RuntimesError: its runtime is not in the table.
    """
    first, *rest = manifest.run
    return [*(runtimes.named(manifest.runtime).start or [str(folder / first)]), *rest]


def bot_environment(address: str, home: str, python_path: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The bot's whole environment."""
    return {
        "ARBITER_ADDRESS": address,
        "HOME": home,
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "PATH": search_path(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": python_path,
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": home,
        **extra,
    }


def fresh_uid() -> int:
    """An unprivileged user id for one bot, drawn from a range of 2**28 that nobody allocates; also its group id."""
    return _FIRST_UID + secrets.randbelow(_UIDS)


def is_fresh_uid(uid: int) -> bool:
    """Whether it is one of those."""
    return _FIRST_UID <= uid <= _FIRST_UID + _UIDS


def check_socket(socket: Path, as_other_user: bool) -> None:
    """Refuse a socket that the bot could not dial.

    Raises:
        CageError: it is missing, not a socket, or closed to other users though the bot runs as one.
    """
    if not socket.is_socket():
        raise CageError(f"{socket}: not a unix socket; it must be listening before a bot is started")
    if as_other_user and not socket.stat().st_mode & 0o002:
        raise CageError(f"{socket}: closed to other users, and a bot has a user id of its own; give it the mode 0666")
