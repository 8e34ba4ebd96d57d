"""The contract is clean, and the committed code is what the pinned generator makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / ".venv-proto" / "bin" / "python"


def buf_lint(proto: Path) -> subprocess.CompletedProcess[str]:
    """Run buf's linter on a folder."""
    command = [str(Path(sys.executable).parent / "buf"), "lint", str(proto)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_generated(root: Path) -> subprocess.CompletedProcess[str]:
    """Compare the generated code below ``root`` with what the generator makes; skips only off CI."""
    if not GENERATOR.exists() and not os.environ.get("CI"):
        pytest.skip("no generator in .venv-proto; make test or make proto makes it")
    command = [str(GENERATOR), str(root / "scripts" / "generate_proto.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with a copy of the contract, its generated code and the generator's script."""
    for folder in ("proto", "scripts", "arbiter/api"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_buf_lint_passes() -> None:
    done = buf_lint(ROOT / "proto")
    assert done.returncode == 0, done.stdout + done.stderr


def test_buf_lint_wants_comments(copy: Path) -> None:
    planted = copy / "proto" / "arbiter" / "api" / "planted" / "v1"
    planted.mkdir(parents=True)
    (planted / "planted.proto").write_text('syntax = "proto3";\npackage arbiter.api.planted.v1;\nmessage Card {}\n')
    done = buf_lint(copy / "proto")
    assert "non-empty comment" in done.stdout


def test_generated_code_is_fresh() -> None:
    done = check_generated(ROOT)
    assert done.returncode == 0, done.stderr


def test_drift_is_noticed(copy: Path) -> None:
    generated = sorted((copy / "arbiter" / "api").rglob("*_pb2.py"))
    assert generated
    changed, *_, removed = [*generated, *sorted((copy / "arbiter" / "api").rglob("*_pb2.pyi"))]
    changed.write_text(changed.read_text() + "# edited\n")
    removed.unlink()
    added = removed.with_name("leftover_pb2.py")
    added.touch()
    done = check_generated(copy)
    assert done.returncode == 1
    named = {line.partition(" does not follow ")[0] for line in done.stderr.splitlines()}
    assert named == {str(path.relative_to(copy)) for path in (changed, removed, added)}
