"""Fixtures of the cage's tests: a folder open to all users, a socket, and a service of an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import arbiter
from tests.cage import holder
from tests.cage.support import echo_socket, open_folder

NOBODY = 65534


@dataclass(frozen=True)
class Service:
    """How to run `holder.py`: the command before its arguments, and its environment."""

    command: tuple[str, ...]
    environment: dict[str, str]

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            env=self.environment,
            cwd="/",
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str | Path) -> list[dict[str, object]]:
        """What it reported, once it has ended."""
        with self.start(*arguments) as process:
            assert process.stdout is not None
            return [json.loads(line) for line in process.stdout]


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def arbiter_socket(place: Path) -> Iterator[Path]:
    with echo_socket(place / "seat.sock") as path:
        yield path


@pytest.fixture
def spot() -> Iterator[Path]:
    """A new folder for one test, open to every user."""
    with open_folder() as folder:
        yield folder


def _service(place: Path, name: str, python: str, before: tuple[str, ...]) -> Service:
    library = place / name
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(arbiter.__file__).parent, library / "arbiter", ignore=ignored)
    script = shutil.copy(holder.__file__, library / "holder.py")
    for path in (library, *library.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(library), "PYTHONDONTWRITEBYTECODE": "1"}
    return Service((*before, python, str(script)), environment)


@pytest.fixture(scope="session")
def own_service(place: Path) -> Service:
    """A service of the user and the interpreter that run the tests."""
    return _service(place, "own", sys.executable, ())


@pytest.fixture(scope="session")
def ordinary_service(place: Path) -> Service:
    """A service of an ordinary user, with an interpreter that this user can reach."""
    if os.geteuid() != 0:
        return _service(place, "ordinary", sys.executable, ())
    # Through env, because setpriv still has root's capabilities while it executes its command.
    drop = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--", "env", "--")
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        test = [*drop, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if subprocess.run(test, capture_output=True, check=False, cwd="/").returncode == 0:
            return _service(place, "ordinary", python, drop)
    return _missing(
        "no Python of 3.11 or newer that an ordinary user can reach (looked at the tests' own and /usr/bin)"
    )


@pytest.fixture
def root() -> None:
    """For tests that need a service run by root."""
    if os.geteuid() != 0:
        _missing("needs root, for whom each bot gets a user id of its own")


def _missing(reason: str) -> Service:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
