"""The engine compiled, in a copy of the project: it does what the interpreted one does, and is never a stale one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.engine.build import MODULES, StaleBuildError, is_compiled, library_name

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("arbiter", "docs/rules", "scripts", "tests/engine", "tests/rules")
TRIED = (
    "tests/rules/test_cases.py",
    "tests/rules/test_perft.py",
    "tests/rules/test_differential.py",
    "tests/engine/test_hand.py",
    "tests/engine/test_playout.py",
)
"""What the compiled engine has to pass here; ``make compiled`` tries all of ``tests/engine`` and ``tests/rules``."""
WHICH = "import arbiter.engine as engine; print(engine.COMPILED, engine.__file__)"


def copied(folder: Path) -> Path:
    """What the engine and its tests need, without what may be compiled here."""
    leave = shutil.ignore_patterns("*.so", "__pycache__")
    for part in COPIED:
        shutil.copytree(ROOT / part, folder / part, ignore=leave)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with the copy's engine."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with a compiled engine."""
    folder = copied(tmp_path_factory.mktemp("compiled"))
    done = python(folder, "scripts/compile_engine.py")
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def compiled(built: Path, tmp_path: Path) -> Path:
    """A compiled engine to be spoilt."""
    return shutil.copytree(built / "arbiter", tmp_path / "arbiter").parent


def test_the_compiled_engine_is_the_one_that_runs(built: Path) -> None:
    assert python(built, "-c", WHICH).stdout.split() == ["True", str(built / "arbiter" / "engine" / "__init__.py")]


def test_the_compiled_engine_passes_the_tests_of_the_rules(built: Path) -> None:
    done = python(built, "-m", "pytest", "-p", "no:cacheprovider", *TRIED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_the_compiled_engine_plays_every_card_index_that_a_hand_can_hold(built: Path) -> None:
    """Two packs are 104 bits, more than a machine word, and a shift of a machine word would cut them."""
    code = """
from arbiter.engine import compile_rules, mask_of, new_hand, rule_set
from arbiter.engine.cards import indexes_of, take_card
for card in range(52):
    both = mask_of([card, card])
    assert both == 1 << card | 1 << card + 52, card
    assert indexes_of(both) == (card, card) and take_card(both, card) == 1 << card, card
rules = compile_rules(rule_set("cancellation", override={"players": 8}))
for card in range(52):
    hand = new_hand(rules, [mask_of([card, card])] + [0] * 7, dealer=7, leader=0)
    assert hand.legal == 1 << card, card
    hand.play(card)
    assert hand.hands[0] == 1 << card, card
"""
    done = python(built, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_an_edited_source_is_noticed(compiled: Path, name: str) -> None:
    source = compiled / "arbiter" / "engine" / f"{name}.py"
    source.write_text(source.read_text() + "\n")
    with pytest.raises(StaleBuildError, match="make compiled builds it again, make interpreted removes it"):
        is_compiled(str(source.parent))


def test_an_engine_that_is_stale_is_not_imported(compiled: Path) -> None:
    source = compiled / "arbiter" / "engine" / "rules.py"
    source.write_text(source.read_text().replace("HEARTS: Final", "HEART: Final"))
    done = python(compiled, "-c", "from arbiter.engine.hand import Hand")
    assert done.returncode == 1
    assert "StaleBuildError" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["hand", "_compiled_*"])
def test_an_engine_of_which_a_part_is_missing_is_noticed(compiled: Path, name: str) -> None:
    folder = compiled / "arbiter" / "engine"
    (library,) = folder.glob(f"{name}.*.so" if name == "hand" else f"{name}.so")
    library.unlink()
    with pytest.raises(StaleBuildError):
        is_compiled(str(folder))


def test_what_is_compiled_can_be_removed(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(built, folder)
    assert python(folder, "scripts/compile_engine.py", "--remove").returncode == 0
    assert python(folder, "-c", WHICH).stdout.split() == ["False", str(folder / "arbiter" / "engine" / "__init__.py")]


def test_sources_alone_are_interpreted_and_their_fingerprint_tells_them_apart(tmp_path: Path) -> None:
    folder = copied(tmp_path) / "arbiter" / "engine"
    assert not is_compiled(str(folder))
    names = {library_name(str(folder))}
    for name in MODULES:
        source = folder / f"{name}.py"
        source.write_text(source.read_text() + "\n")
        names.add(library_name(str(folder)))
    assert len(names) == len(MODULES) + 1


def test_without_a_compiler_the_engine_stays_interpreted_and_says_why(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(folder)}
    command = [sys.executable, "scripts/compile_engine.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("error: there is no C compiler")
    assert done.stderr.rstrip().endswith("the engine stays interpreted")
