"""Whether the hot path runs compiled, and the refusal of a build that is not the one of the sources beside it.

``make compiled`` compiles :data:`GROUPS` with mypyc and puts the extension modules next to their sources, where Python
prefers them. The common library of a group carries the sources' fingerprint in its name. So that an edit can't leave a
compiled module in use that does something else, importing what the group rests on computes the fingerprint again: see
``docs/decisions/compiled-engine.md``. Where nothing is compiled, nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import Final

from arbiter.engine.errors import EngineError

GROUPS: Final = {
    "engine": (
        "engine.cards",
        "engine.claims",
        "engine.hand",
        "engine.passing",
        "engine.playout",
        "engine.rules",
        "engine.scoring",
        "engine.view",
        "sdk.by_views",
        "sdk.table",
    ),
    "deals": ("deals.deal",),
    "match": (
        "match.answers",
        "match.outbox",
        "match.player",
        "match.record",
        "match.table",
    ),
}
"""By the folder of its library: the modules of ``arbiter`` that are compiled together.

The first is what hands are played with, and what the SDK does for every decision; a bot in a cage is shown no other.
The others, each on top of those before it, are what the arbiter does for every hand and for every answer.
"""


class StaleBuildError(EngineError):
    """What is compiled was made from other sources, or is not complete."""


def library_name(folder: str, group: str) -> str:
    """Full name of the library that a build of this group from the sources of ``arbiter`` in ``folder`` gets.

    Raises:
        OSError: a source can't be read.
    """
    digest = sha256()
    # Modules use each other's objects as they lie in memory, so a group depends on those before it.
    for name in [name for other in list(GROUPS)[: list(GROUPS).index(group) + 1] for name in GROUPS[other]]:
        with open(f"{folder}/{name.replace('.', '/')}.py", "rb") as source:
            text = source.read()
        digest.update(b"%s %d\n" % (name.encode(), len(text)))
        digest.update(text)
    return f"arbiter.{group}._compiled_{digest.hexdigest()[:16]}"


def is_compiled(folder: str, group: str) -> bool:
    """Whether Python takes the compiled modules of this group, of ``arbiter`` in ``folder``.

    Raises:
        StaleBuildError: it would take some that do not belong to the sources, or only some.
    """
    names = GROUPS[group]
    found = [name for name in names if _is_extension(f"arbiter.{name}", [f"{folder}/{name.partition('.')[0]}"])]
    if not found:
        return False
    # mypyc adds the suffix to the names of libraries.
    if len(found) < len(names) or not _is_extension(f"{library_name(folder, group)}__mypyc", [f"{folder}/{group}"]):
        raise StaleBuildError(
            f"what is compiled in {folder} is not made of the sources beside it, which were edited since;"
            " make compiled builds it again, make interpreted removes it"
        )
    return True


def _is_extension(name: str, path: Sequence[str]) -> bool:
    spec = PathFinder.find_spec(name, path)
    return spec is not None and spec.origin is not None and spec.origin.endswith(tuple(EXTENSION_SUFFIXES))


PACKAGE: Final = __file__.rpartition("/")[0].rpartition("/")[0]
"""Folder of ``arbiter``."""

COMPILED: Final = is_compiled(PACKAGE, "engine")
"""Whether this process runs the compiled engine."""
