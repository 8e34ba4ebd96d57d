"""The pages on rule sets are what the engine's table, the rulings and the texts make of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.engine import OPTIONS, RULE_SETS
from scripts.generate_rules_docs import RULES, load_texts, pages

TEXTS = load_texts()
PAGES = pages(TEXTS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_has_not_drifted(path: Path) -> None:
    assert path.read_text("utf-8") == PAGES[path], "run scripts/generate_rules_docs.py"


def test_there_is_a_page_for_every_rule_set_and_no_other() -> None:
    assert {path.stem for path in (RULES / "sets").iterdir()} == set(RULE_SETS)
    assert set(TEXTS.sets) == set(RULE_SETS)


@pytest.mark.parametrize("name", RULE_SETS)
def test_page_has_every_parameter_and_option(name: str) -> None:
    page = PAGES[RULES / "sets" / f"{name}.md"]
    every = page.partition("## Every parameter")[2]
    for key, value in RULE_SETS[name].to_dict().items():
        assert f"| `{key}` | `{value if isinstance(value, str) else json.dumps(value)}` |" in every
    assert set(TEXTS.sets[name].get("options", {})) == set(OPTIONS.get(name, ()))


def test_texts_and_parameters_match() -> None:
    assert set(TEXTS.parameters) == set(RULE_SETS["black_lady"].to_dict())


def test_every_ruling_bears_on_some_rule_set() -> None:
    named = {number for words in TEXTS.sets.values() for number in words["rulings"]}
    assert named == set(TEXTS.rulings) == {f"A{number}" for number in range(1, 22)}


def test_the_command_finds_no_page_that_has_drifted() -> None:
    command = [sys.executable, "scripts/generate_rules_docs.py", "--check"]
    done = subprocess.run(command, cwd=RULES.parents[1], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
