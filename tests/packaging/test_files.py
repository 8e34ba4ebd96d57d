"""No file of the project names a package registry or a place on a developer's machine."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Written apart, so that this file doesn't name them either.
REGISTRIES = [
    "pypi org",
    "pythonhosted org",
    "npmjs org",
    "npmjs com",
    "deb.debian org",
    "proxy.golang org",
    "crates io",
]
REGISTRY = re.compile("|".join(re.escape(".".join(name.split())) for name in REGISTRIES))
PRIVATE_PATH = re.compile(r"/(?:home|Users)/[a-z]\w*/|/root/\.\w")


def project_files() -> list[Path]:
    """Return the files that git tracks or would track."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return [path for path in paths if path.is_file()]


def lines_that_name(pattern: re.Pattern[str]) -> list[str]:
    """Return ``file:line`` of each line of the project in which ``pattern`` occurs."""
    found = []
    for path in project_files():
        with suppress(FileNotFoundError):  # what somebody else has only for a moment is no file of the project
            lines = path.read_text(errors="replace").splitlines()
            place = path.relative_to(ROOT)
            found += [f"{place}:{number}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def test_no_file_names_a_registry() -> None:
    assert not lines_that_name(REGISTRY)


def test_no_file_names_a_place_on_a_developers_machine() -> None:
    assert not lines_that_name(PRIVATE_PATH)


def test_no_file_names_this_checkout() -> None:
    # A checkout directly below the root has a name too short to be searched for.
    if len(ROOT.parts) > 2:
        assert not lines_that_name(re.compile(re.escape(str(ROOT)) + r"\b"))


def test_requirements_name_no_address() -> None:
    for path in (ROOT / "requirements").iterdir():
        assert "://" not in path.read_text(), path
        assert "--index" not in path.read_text(), path


@pytest.mark.parametrize("name", REGISTRIES)
def test_registries_are_recognised(name: str) -> None:
    assert REGISTRY.search(f"url = https://files.{'.'.join(name.split())}/simple")


@pytest.mark.parametrize("parts", ["home ada hearts", "Users ada hearts", "root .cache"])
def test_private_paths_are_recognised(parts: str) -> None:
    assert PRIVATE_PATH.search("run /" + "/".join(parts.split()))
