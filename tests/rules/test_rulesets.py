"""The engine's named rule sets and options are those of ``docs/rules/rulesets.json``, parameter by parameter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arbiter.engine import OPTIONS, RULE_SETS, RuleSet, rule_set

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "rules" / "rulesets.json").read_text())
SETS: dict[str, dict[str, Any]] = TABLE["rulesets"]
CHOICES: dict[str, dict[str, dict[str, Any]]] = TABLE["options"]


def test_names() -> None:
    assert set(RULE_SETS) == set(SETS)
    assert {name: set(options) for name, options in OPTIONS.items()} == {
        name: set(options) for name, options in CHOICES.items()
    }


@pytest.mark.parametrize("name", SETS)
def test_no_parameter_is_left_out(name: str) -> None:
    assert set(RULE_SETS[name].to_dict()) == set(SETS[name])


@pytest.mark.parametrize(("name", "parameter"), [(name, parameter) for name in SETS for parameter in SETS[name]])
def test_parameter(name: str, parameter: str) -> None:
    assert RULE_SETS[name].to_dict()[parameter] == SETS[name][parameter]


@pytest.mark.parametrize(("name", "option"), [(name, option) for name in CHOICES for option in CHOICES[name]])
def test_option(name: str, option: str) -> None:
    """The hand size is derived, so the engine's option does not say it; the rule set that comes of it has to."""
    written = {key: value for key, value in CHOICES[name][option].items() if key != "hand_size"}
    assert dict(OPTIONS[name][option]) == written
    assert rule_set(name, [option]).to_dict() == {**SETS[name], **CHOICES[name][option]}


@pytest.mark.parametrize("name", SETS)
def test_the_written_table_reads_back(name: str) -> None:
    assert RuleSet.from_dict(SETS[name]) == RULE_SETS[name] == rule_set(name)
