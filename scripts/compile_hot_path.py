"""Compile the hot path in place with mypyc: ``compile_hot_path.py``, or ``make compiled``; ``--remove`` undoes it.

The project needs nothing compiled; it is the same, faster. See ``docs/performance.md``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "arbiter"


def main() -> int:
    """Compile, or remove what was compiled; exit status 0, or 4 when the machine lacks something."""
    parser = argparse.ArgumentParser(description="Compile the hot path in place, or remove what was compiled.")
    parser.add_argument("--remove", action="store_true", help="go back to plain Python")
    options = parser.parse_args()
    # First of all: a build of older sources would refuse to be imported below.
    _remove()
    if options.remove:
        return 0
    lacking = _what_lacks()
    if lacking is not None:
        print(f"error: {lacking}; everything stays interpreted", file=sys.stderr)
        return 4
    print(f"Compiling the hot path in {PACKAGE}: some half a minute", flush=True)
    _compile()
    return 0


def _what_lacks() -> str | None:
    """What this machine lacks for compiling, and how to get it; None when all is there."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler {compiler!r}; on Debian: apt-get install gcc"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"the headers of {sys.executable} are missing; on Debian: apt-get install python3-dev"
    for package in ("mypyc", "setuptools"):
        try:
            import_module(package)
        except ImportError:
            return f"{package} is missing; install the project's extra 'dev'"
    return None


def _remove() -> None:
    for suffix in EXTENSION_SUFFIXES:
        for path in PACKAGE.rglob(f"*{suffix}"):
            path.unlink()


def _compile() -> None:
    from mypyc.build import mypycify
    from setuptools import Distribution  # type: ignore[import-untyped] # ships no types

    sys.path.insert(0, str(ROOT))
    build = import_module("arbiter.engine.build")
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="arbiter-build-") as folder:
        groups = [
            ([f"arbiter/{name.replace('.', '/')}.py" for name in names], build.library_name(str(PACKAGE), group))
            for group, names in build.GROUPS.items()
        ]
        extensions = mypycify(
            [
                *("--config-file", "pyproject.toml", "--cache-dir", f"{folder}/cache"),
                *(path for paths, _ in groups for path in paths),
            ],
            debug_level="0",
            target_dir=f"{folder}/c",
            separate=groups,
        )
        command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
        command.inplace = True
        command.build_temp = f"{folder}/objects"
        command.build_lib = f"{folder}/lib"
        command.ensure_finalized()
        command.run()


if __name__ == "__main__":
    sys.exit(main())
