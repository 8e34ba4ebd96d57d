"""The hot path compiled, in a copy of the project: it does what it does interpreted, and is never a stale one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.engine.build import GROUPS, StaleBuildError, is_compiled, library_name

# The compiler, and the tests that pass compiled, compute for half a minute each: minutes on a crowded machine.
pytestmark = pytest.mark.timeout(1200)

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("arbiter", "docs/rules", "scripts", "tests/engine", "tests/match", "tests/rules", "tests/sdk")
FILES = ("pyproject.toml", "tests/patience.py")
MODULES = [(group, name) for group, names in GROUPS.items() for name in names]
TRIED = (
    "tests/rules/test_cases.py",
    "tests/rules/test_perft.py",
    "tests/rules/test_differential.py",
    "tests/engine/test_hand.py",
    "tests/engine/test_playout.py",
    "tests/match/test_policies.py",
    "tests/sdk/test_mistakes.py",
    "tests/sdk/test_session.py",
)
"""What has to pass here compiled; ``make compiled`` tries more."""
WHICH = """
import arbiter
from arbiter.engine import COMPILED
from arbiter.engine.build import GROUPS, is_compiled
folder = arbiter.__path__[0]
print(COMPILED, all(is_compiled(folder, group) for group in GROUPS), folder)
"""

PLAYED = """
from hashlib import sha256
from arbiter.engine import Card, rule_set
from tests.match.support import VARIANTS, BentLink, DisorderlyLink, Uniform, check, plan_of, play

class Faulty(Uniform):
    def choose_pass(self, view):
        cards = super().choose_pass(view)
        return cards if view.random.random() > 0.1 else [Card(view.random.randrange(52)) for _ in cards]

    def choose_card(self, view):
        card = super().choose_card(view)
        return card if view.random.random() > 0.02 else Card(view.random.randrange(52))

for name, options in VARIANTS:
    game = "mixed_moon" in (*options, name.removeprefix("black_lady_"))
    rules = rule_set(name, options, {"target": 30} if game else {})
    plan = plan_of(rules, boards=1 if game else 6, game=game, fault_limit=1000, early_end="reverse" in name)
    links = [BentLink(Faulty()), *(DisorderlyLink(Uniform(), seed) for seed in range(1, rules.players))]
    print(name, *options, sha256(check(play(plan, links))).hexdigest())
"""
"""Every rule set, with faults and answers in any order; prints fingerprints of the replays."""


def copied(folder: Path) -> Path:
    """What the hot path and its tests need, without what may be compiled here."""
    leave = shutil.ignore_patterns("*.so", "__pycache__")
    for part in COPIED:
        shutil.copytree(ROOT / part, folder / part, ignore=leave)
    for file in FILES:
        shutil.copy(ROOT / file, folder / file)
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, with the copy's sources."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with a compiled hot path."""
    folder = copied(tmp_path_factory.mktemp("compiled"))
    done = python(folder, "scripts/compile_hot_path.py")
    if done.returncode == 4:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def compiled(built: Path, tmp_path: Path) -> Path:
    """A compiled hot path to be spoilt."""
    return shutil.copytree(built / "arbiter", tmp_path / "arbiter").parent


def test_what_is_compiled_is_what_runs(built: Path) -> None:
    assert python(built, "-c", WHICH).stdout.split() == ["True", "True", str(built / "arbiter")]


def test_what_is_compiled_passes_tests_of_rules_sittings_and_bots(built: Path) -> None:
    # Hypothesis' profile "ci" has no deadline; tests/conftest.py, which has none either, is not in the copy.
    done = python(built, "-m", "pytest", "-p", "no:cacheprovider", "--hypothesis-profile", "ci", *TRIED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_sittings_come_to_the_same_replays_byte_for_byte(built: Path, tmp_path: Path) -> None:
    plain = copied(tmp_path)
    compiled, interpreted = python(built, "-c", PLAYED), python(plain, "-c", PLAYED)
    assert compiled.returncode == 0, compiled.stderr
    assert compiled.stdout == interpreted.stdout
    assert compiled.stdout.count("\n") > 20


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


def test_an_edited_source_is_noticed(compiled: Path) -> None:
    for group, name in MODULES:
        source = compiled / "arbiter" / f"{name.replace('.', '/')}.py"
        text = source.read_text()
        source.write_text(text + "\n")
        with pytest.raises(StaleBuildError, match="make compiled builds it again, make interpreted removes it"):
            is_compiled(str(compiled / "arbiter"), group)
        source.write_text(text)
        assert is_compiled(str(compiled / "arbiter"), group)


@pytest.mark.parametrize(
    ("edited", "imported"),
    [
        ("engine/rules", "arbiter.engine.hand"),
        ("deals/deal", "arbiter.deals.deal"),
        ("match/outbox", "arbiter.match.table"),
    ],
)
def test_what_is_stale_is_not_imported(compiled: Path, edited: str, imported: str) -> None:
    source = compiled / "arbiter" / f"{edited}.py"
    source.write_text(source.read_text() + "\n")
    done = python(compiled, "-c", f"import {imported}")
    assert done.returncode == 1
    assert "StaleBuildError" in done.stderr.splitlines()[-1]


def test_a_group_is_stale_once_one_is_edited_that_it_rests_on(compiled: Path) -> None:
    """Compiled modules use each other's objects as they lie in memory."""
    names = {library_name(str(compiled / "arbiter"), group) for group in GROUPS}
    source = compiled / "arbiter" / "engine" / "hand.py"
    source.write_text(source.read_text() + "\n")
    assert not {library_name(str(compiled / "arbiter"), group) for group in GROUPS} & names


@pytest.mark.parametrize("name", ["hand", "_compiled_*"])
def test_a_build_of_which_a_part_is_missing_is_noticed(compiled: Path, name: str) -> None:
    (library,) = (compiled / "arbiter" / "engine").glob(f"{name}.*.so" if name == "hand" else f"{name}.so")
    library.unlink()
    with pytest.raises(StaleBuildError):
        is_compiled(str(compiled / "arbiter"), "engine")


def test_what_is_compiled_can_be_removed(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(built, folder)
    assert python(folder, "scripts/compile_hot_path.py", "--remove").returncode == 0
    assert python(folder, "-c", WHICH).stdout.split() == ["False", "False", str(folder / "arbiter")]


def test_sources_alone_are_interpreted_and_their_fingerprint_tells_them_apart(tmp_path: Path) -> None:
    folder = copied(tmp_path) / "arbiter"
    last = list(GROUPS)[-1]
    assert not any(is_compiled(str(folder), group) for group in GROUPS)
    names = {library_name(str(folder), last)}
    for _, name in MODULES:
        source = folder / f"{name.replace('.', '/')}.py"
        source.write_text(source.read_text() + "\n")
        names.add(library_name(str(folder), last))
    assert len(names) == len(MODULES) + 1


def test_without_a_compiler_everything_stays_interpreted_and_says_why(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(folder)}
    command = [sys.executable, "scripts/compile_hot_path.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("error: there is no C compiler")
    assert done.stderr.rstrip().endswith("everything stays interpreted")
