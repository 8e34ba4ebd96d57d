"""A host is told when bots would compile at each start what they import."""

from __future__ import annotations

import compileall
import importlib.util
import os
import sys
from pathlib import Path

import pytest

from arbiter.cage import uncompiled
from arbiter.cage.bytecode import IMPORTED


def test_what_has_no_bytecode_or_an_older_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "imported_by_bots.py"
    source.write_text("")
    importlib.invalidate_caches()
    advice = uncompiled(["imported_by_bots"])
    assert advice is not None
    assert advice.startswith(f"{source} is not compiled")
    assert f"run: {sys.executable} -m compileall -q " in advice
    assert compileall.compile_file(source, quiet=1)
    assert uncompiled(["imported_by_bots"]) is None
    later = source.stat().st_mtime + 3600
    os.utime(source, (later, later))
    assert uncompiled(["imported_by_bots"]) == advice


def test_what_is_no_python_or_absent_needs_none() -> None:
    assert uncompiled(["sys", "no_such_module"]) is None


def test_all_that_is_looked_at_is_there() -> None:
    assert all(importlib.util.find_spec(name) is not None for name in IMPORTED)
