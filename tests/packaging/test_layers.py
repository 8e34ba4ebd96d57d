"""The arrows between the parts hold, and a planted import against one is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS = "arrows between the parts of arbiter run one way"
PLANTED = [
    ("arbiter/engine", "arbiter.store", LAYERS),
    ("arbiter/match", "arbiter.tournament", LAYERS),
    ("arbiter/links", "arbiter.match", LAYERS),
    ("arbiter/cage", "arbiter.links", LAYERS),
    ("arbiter/sdk", "arbiter.links", LAYERS),
    ("arbiter/sdk", "arbiter.cage", LAYERS),
    ("arbiter/wire", "arbiter.sdk", LAYERS),
    ("arbiter/service", "arbiter.supervisor", LAYERS),
    ("arbiter/tournament", "arbiter.service", LAYERS),
    ("arbiter/store", "arbiter.rating", LAYERS),
    ("arbiter/match", "arbiter.store", LAYERS),
    ("arbiter/store", "arbiter.engine", "store, schedule, rating, verdict, packages and cage know no other part"),
    ("arbiter/cage", "arbiter.engine", "store, schedule, rating, verdict, packages and cage know no other part"),
    ("arbiter/packages", "arbiter.match", LAYERS),
    ("arbiter/packages", "arbiter.engine", "store, schedule, rating, verdict, packages and cage know no other part"),
    ("arbiter/packages", "grpc", "store, packages, cage and tournament know nothing of gRPC and protobuf"),
    ("arbiter/rating", "arbiter.verdict", LAYERS),
    ("arbiter/verdict", "time", "the pure parts need no clock, network or framework"),
    ("arbiter/rating", "arbiter.cage", "store, schedule, rating and verdict cage nothing"),
    ("arbiter/deals", "arbiter.sdk", "deals know the engine alone"),
    ("workers", "arbiter.store", "workers play sittings and report them, nothing more"),
    ("workers", "arbiter.tournament", "workers play sittings and report them, nothing more"),
    ("arbiter/cli", "workers", "arbiter sends tasks by name and starts bots by command"),
    ("arbiter/match", "sample_bots", "arbiter sends tasks by name and starts bots by command"),
    ("sample_bots", "arbiter.match", "sample bots are written against the SDK"),
    ("arbiter/engine", "grpc", "the pure parts need no clock, network or framework"),
    ("arbiter/deals", "google.protobuf", "the pure parts need no clock, network or framework"),
    ("arbiter/schedule", "asyncio", "the pure parts need no clock, network or framework"),
    ("arbiter/rating", "sqlalchemy", "the pure parts need no clock, network or framework"),
    ("arbiter/engine", "random", "the engine needs no files and no randomness"),
    ("arbiter/tournament", "sqlalchemy", "store alone talks to the database"),
    ("arbiter/tournament", "google.protobuf", "store, packages, cage and tournament know nothing of gRPC and protobuf"),
    ("arbiter/match", "celery", "Celery stays with the workers and with who sends them tasks"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Run the import linter on the packages in ``root``."""
    program = Path(sys.executable).parent / "lint-imports"
    # Rich folds the names of contracts at the width of a terminal.
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    command = [str(program), "--no-cache"]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with a copy of the packages and the contracts."""
    for package in ("arbiter", "workers", "sample_bots"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_all_arrows_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("package", "imported", "contract"), PLANTED)
def test_planted_import_is_refused(copy: Path, package: str, imported: str, contract: str) -> None:
    (copy / package / "planted.py").write_text(f"import {imported}\n")
    done = lint(copy)
    assert done.returncode != 0
    assert f"{contract} BROKEN" in done.stdout


def test_new_part_has_to_be_given_its_place(copy: Path) -> None:
    (copy / "arbiter" / "planted").mkdir()
    (copy / "arbiter" / "planted" / "__init__.py").touch()
    done = lint(copy)
    assert done.returncode != 0
    assert f"{LAYERS} BROKEN" in done.stdout
    assert "arbiter.planted" in done.stdout
