"""Rule sets from a table of a file: a name, options and single parameters over them, as a host writes them.

The form is that of a tournament file's ``[rules]`` table (``docs/tournament-file.md``). This is the only reader of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from arbiter.engine.catalog import rule_set
from arbiter.engine.errors import EngineError
from arbiter.engine.ruleset import RuleSet

DEFAULT_RULES: Final = "black_lady"


class NamedRules(NamedTuple):
    """A rule set and how it was put together."""

    title: str
    """For people: the name, the options and the changed parameters."""
    rules: RuleSet


def read_rules(table: Mapping[str, Any]) -> NamedRules:
    """The rule set that a table names: ``name`` (else Black Lady), ``options``, and single parameters over them.

    Raises:
        EngineError: a name, option or parameter that is not there, a value that is not allowed, or a contradiction.
    """
    override = dict(table)
    name = override.pop("name", DEFAULT_RULES)
    options = override.pop("options", [])
    if not isinstance(name, str):
        raise EngineError(f"rules.name: is {name!r}; write a rule set's name, such as {DEFAULT_RULES!r}")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise EngineError(f"rules.options: is {options!r}; write a list of option names")
    changed = [f"{key}={value}" for key, value in override.items()]
    return NamedRules(" + ".join([name, *options, *changed]), rule_set(name, options, override))


def rules_table(document: Mapping[str, Any]) -> dict[str, Any]:
    """The table of rules in a whole file: the file itself, or its ``[rules]``.

    Raises:
        EngineError: there is something beside ``[rules]`` that would be lost, and the file is no tournament's.
    """
    if "rules" not in document:
        return dict(document)
    table = document["rules"]
    if not isinstance(table, Mapping):
        raise EngineError(f"rules: is {table!r}; write a table [rules]")
    beside = [key for key in document if key != "rules"]
    if beside and "entrants" not in document:
        raise EngineError(f"{beside[0]}: stands beside [rules]; write it inside that table")
    return dict(table)
