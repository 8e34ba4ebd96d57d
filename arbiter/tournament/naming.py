"""How submitted versions are named: ``mybot@3``, ``mybot@latest`` and ``mybot`` for the newest active one."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from arbiter.errors import UsageError
from arbiter.store import Store, UnknownVersion, Version, VersionState

LATEST: Final = "latest"

HOST_OWNER: Final = "host"
"""Whose the bots are that are submitted on the machine itself. Its host may let them meet: each counts for itself."""

_TOP: Final = re.compile(r"ladder-top:([1-9][0-9]{0,2})")


def read_version_name(text: str) -> tuple[str, int | None]:
    """Name and number, None for the newest active version; raises `UsageError`."""
    name, at, number = text.partition("@")
    if not at or number == LATEST:
        return name, None
    if not (number.isdecimal() and len(number) < 10):
        raise UsageError(f"{text!r} names no version; write BOT, BOT@latest or BOT@N, such as mybot@3")
    return name, int(number)


def bot_name(name: str) -> str:
    """The name of the bot that a version or entrant is of: ``mybot`` of ``mybot@3``."""
    return name.partition("@")[0] or name


def read_ladder_top(text: str) -> int | None:
    """How many of the ladder's best ``ladder-top:6`` asks for; None when it is no such text."""
    found = _TOP.fullmatch(text)
    return int(found[1]) if found else None


def active_version(store: Store, text: str, *, but: Collection[str] = ()) -> Version:
    """The version that a text names.

    Args:
        store: where versions are.
        text: as :func:`read_version_name` reads it.
        but: digests of contents that are not meant by ``latest``: a candidate is not what it is compared with.

    Raises:
        UnknownVersion: there is none, or it is not active; says why.
        UsageError: the text names none.
    """
    name, number = read_version_name(text)
    version = store.versions.get(name, number)
    if number is None and version.built in but:
        others = [
            other
            for other in store.versions.versions(name)
            if other.state is VersionState.ACTIVE and other.built not in but
        ]
        if not others:
            raise UnknownVersion(f"bot {name!r} has no active version but {version.name}, whose content is the same")
        version = others[-1]
    if version.state is not VersionState.ACTIVE:
        reason = f": {version.failure}" if version.failure else ""
        raise UnknownVersion(f"{version.name} is {version.state}{reason}; only an active version can be scheduled")
    return version
