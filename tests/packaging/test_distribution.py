"""What the wheel holds, and that the pinned versions are versions that the project asks for."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel and give it, open."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(folder.iterdir())) as opened:
        yield opened


def tracked(folder: str) -> list[str]:
    """Return the files that git tracks below ``folder`` and that are there."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("folder", ["arbiter", "workers", "sample_bots"])
def test_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile, folder: str) -> None:
    assert set(tracked(folder)) <= set(wheel.namelist())


def test_wheel_shares_the_contract(wheel: zipfile.ZipFile) -> None:
    shared = [name.partition("/data/share/hearts-arbiter/")[2] for name in wheel.namelist()]
    assert set(tracked("proto")) <= set(shared)


def test_wheel_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    name = wheel.namelist()[-1].partition("-")[0]
    tops = {entry.partition("/")[0] for entry in wheel.namelist()}
    assert {re.sub(r"-.*\.", ".", top) for top in tops} == {
        "arbiter",
        "workers",
        "sample_bots",
        f"{name}.data",
        f"{name}.dist-info",
    }


def test_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    entry_points = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "arbiter = arbiter.__main__:main" in wheel.read(entry_points).decode()


@pytest.mark.parametrize(("pins", "extras"), [("server.txt", ["server"]), ("dev.txt", ["server", "dev"])])
def test_pins_are_what_the_project_asks_for(pins: str, extras: list[str]) -> None:
    lines = (ROOT / "requirements" / pins).read_text().splitlines()
    pinned: dict[str, list[str]] = {}
    for line in lines:
        if found := re.match(r"([a-z0-9-]+)==([^ ;]+)", line):
            pinned.setdefault(found[1], []).append(found[2])
    wanted = PROJECT["dependencies"] + [text for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    for requirement in map(Requirement, wanted):
        if requirement.name == PROJECT["name"]:
            continue
        assert pinned.get(requirement.name), f"{requirement.name} is not in {pins}; run: make pins"
        for version in pinned[requirement.name]:
            assert version in requirement.specifier, f"{requirement} does not allow {version} of {pins}; run: make pins"
