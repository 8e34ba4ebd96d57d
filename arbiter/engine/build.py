"""Whether the engine runs compiled, and the refusal of a compiled engine that is not the one of the source beside it.

``make compiled`` compiles :data:`MODULES` with mypyc and puts the extension modules next to their sources, where Python
prefers them. Their common library carries the sources' fingerprint in its name. So that an edit can't leave a compiled
module in use that does something else, importing the engine computes the fingerprint again: see
``docs/decisions/compiled-engine.md``. Where nothing is compiled, nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import Final

from arbiter.engine.errors import EngineError

MODULES: Final = ("cards", "claims", "hand", "passing", "playout", "rules", "scoring", "view")
"""The modules that are compiled: what hands are played and searched with."""


class StaleBuildError(EngineError):
    """The compiled engine was made from other sources, or is not complete."""


def library_name(folder: str) -> str:
    """Full name of the library that a build of the sources in ``folder`` gets.

    Raises:
        OSError: a source can't be read.
    """
    digest = sha256()
    for name in MODULES:
        with open(f"{folder}/{name}.py", "rb") as source:
            text = source.read()
        digest.update(b"%s %d\n" % (name.encode(), len(text)))
        digest.update(text)
    return f"arbiter.engine._compiled_{digest.hexdigest()[:16]}"


def is_compiled(folder: str) -> bool:
    """Whether Python takes the compiled modules of the engine in ``folder``.

    Raises:
        StaleBuildError: it would take some that do not belong to the sources, or only some.
    """
    found = [name for name in MODULES if _is_extension(f"arbiter.engine.{name}", [folder])]
    if not found:
        return False
    # mypyc adds the suffix to the names of libraries.
    if len(found) < len(MODULES) or not _is_extension(f"{library_name(folder)}__mypyc", [folder]):
        raise StaleBuildError(
            f"the compiled engine in {folder} is not that of the sources beside it, which were edited since;"
            " make compiled builds it again, make interpreted removes it"
        )
    return True


def _is_extension(name: str, path: Sequence[str]) -> bool:
    spec = PathFinder.find_spec(name, path)
    return spec is not None and spec.origin is not None and spec.origin.endswith(tuple(EXTENSION_SUFFIXES))


COMPILED: Final = is_compiled(__file__.rpartition("/")[0])
"""Whether this process runs the compiled engine."""
