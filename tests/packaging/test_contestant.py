"""A contestant needs the base install alone, and a bot sees the SDK and the engine alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# typing_extensions is what grpcio itself requires.
HOOK = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names | {"arbiter", "grpc", "google", "typing_extensions"}:
            raise ModuleNotFoundError(f"refused: {name}", name=name)
        return None

sys.meta_path.insert(0, Refuse())
"""


def import_with_grpc_and_protobuf_alone(module: str) -> subprocess.CompletedProcess[str]:
    """Import ``module`` in a fresh interpreter in which other packages can't be imported."""
    command = [sys.executable, "-W", "error", "-c", f"{HOOK}\nimport {module}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_sdk_needs_grpcio_and_protobuf_alone() -> None:
    done = import_with_grpc_and_protobuf_alone("arbiter.sdk")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["rich", "pydantic"])
def test_other_packages_are_refused_in_that_test(module: str) -> None:
    assert f"refused: {module}" in import_with_grpc_and_protobuf_alone(module).stderr


def imported_modules(source: str) -> list[str]:
    """Return the full names of the modules that ``source`` imports, wherever in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            # "from arbiter import sdk" names a module too.
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def is_allowed(module: str, neighbours: set[str]) -> bool:
    """Tell whether a sample bot may import ``module``: the SDK, the engine, numpy, its own files, Python's library."""
    if module.partition(".")[0] == "arbiter":
        return module.split(".")[1:2] in (["sdk"], ["engine"])
    return module.partition(".")[0] in sys.stdlib_module_names | {"numpy"} | neighbours


def test_sample_bots_import_the_sdk_and_the_engine_alone() -> None:
    folders = [manifest.parent for manifest in (ROOT / "sample_bots").glob("*/bot.toml")]
    assert folders
    for folder in folders:
        neighbours = {path.stem for path in folder.glob("*.py")}
        for path in folder.rglob("*.py"):
            refused = [name for name in imported_modules(path.read_text()) if not is_allowed(name, neighbours)]
            assert not refused, f"{path} imports {refused}"


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("from arbiter.sdk import Bot", True),
        ("from arbiter import sdk", True),
        ("import arbiter.engine", True),
        ("import random, numpy.random", True),
        ("from helper import guess", True),
        ("from arbiter.match import play", False),
        ("from arbiter import match", False),
        ("import arbiter", False),
        ("def f():\n    import workers", False),
    ],
)
def test_what_a_sample_bot_may_import(statement: str, allowed: bool) -> None:
    assert all(is_allowed(name, {"helper"}) for name in imported_modules(statement)) is allowed
