"""Whether what every Python bot imports is compiled on the disk: a bot can write nothing, so it would do that anew."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from arbiter.cage.command import PACKAGE_FOLDER

IMPORTED: Final = ("arbiter.sdk.client", "grpc.aio", "google.protobuf.descriptor_pool", "typing_extensions")
"""A module of each package that the SDK brings into a bot."""


def uncompiled(modules: Sequence[str] = IMPORTED) -> str | None:
    """What to tell a host when one of these modules has no bytecode beside it, or an older one; None when all have."""
    for name in modules:
        spec = find_spec(name)
        if spec is None or spec.origin is None or spec.cached is None:  # absent, or no Python
            continue
        source, compiled = Path(spec.origin), Path(spec.cached)
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            folders = f"{sysconfig.get_path('purelib')} {PACKAGE_FOLDER}"
            return (
                f"{source} is not compiled, so every Python bot compiles it anew and takes longer to start; "
                f"run: {sys.executable} -m compileall -q {folders}"
            )
    return None
