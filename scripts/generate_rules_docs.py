"""Write the pages on rule sets in ``docs/rules`` from the engine's table: ``generate_rules_docs.py [--check]``.

What differs, options, points and parameters come from the engine, rulings from ``RULES.md``, and the words that no
parameter can say from ``texts.toml``. With ``--check`` nothing is written and the exit status is 1 when a page is not
what it would be.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "rules"
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from arbiter.engine import OPTIONS, RULE_SETS, RuleSet, compile_rules  # noqa: E402  # the path comes first

USUAL = RULE_SETS["black_lady"]
EDITING = "<!-- Made by scripts/generate_rules_docs.py; edit texts.toml or the engine's table, not this page. -->"


class Ruling(NamedTuple):
    """A row of RULES.md, section 5."""

    question: str
    answer: str


class Texts(NamedTuple):
    """The words of ``texts.toml`` and the rulings."""

    sources: Mapping[str, str]
    sets: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, str]
    rulings: Mapping[str, Ruling]


def load_texts() -> Texts:
    """Read ``texts.toml`` and the rulings of ``RULES.md``."""
    data = tomllib.loads((RULES / "texts.toml").read_text("utf-8"))
    rows = re.findall(r"^\| (A\d+) \| (.*?) \|.*\| (.*?) \|$", (RULES / "RULES.md").read_text("utf-8"), re.MULTILINE)
    rulings = {number: Ruling(question, answer) for number, question, answer in rows}
    return Texts(data["sources"], data["sets"], data["parameters"], rulings)


def pages(texts: Texts) -> dict[Path, str]:
    """By path: the text of the index and of every rule set's page."""
    found = {RULES / "README.md": _index(texts)}
    for name, rules in RULE_SETS.items():
        found[RULES / "sets" / f"{name}.md"] = _page(name, rules, texts)
    return found


def _index(texts: Texts) -> str:
    rows = []
    for name, rules in RULE_SETS.items():
        title = f"[{texts.sets[name]['title']}](sets/{name}.md)"
        rows.append(
            [title, f"`{name}`", str(rules.players), ", ".join(f"`{option}`" for option in OPTIONS.get(name, ()))]
        )
    return "\n".join(
        [
            "# Rules",
            "",
            EDITING,
            "",
            "- [RULES.md](RULES.md): the exact specification, with its sources and rulings.",
            "- [rulesets.json](rulesets.json): its table, for programs.",
            "- [differential.md](differential.md): the engine against OpenSpiel.",
            "",
            "`arbiter rules show NAME` prints a rule set with what it changes, `arbiter rules check FILE` tries worked",
            "cases. A rule set of one's own is a TOML file in the form of a tournament's `[rules]`",
            "([tournament-file.md](../tournament-file.md)); an impossible one is refused with the parameter and the",
            "reason.",
            "",
            *_table(["rule set", "name", "seats", "options"], rows),
            "",
        ]
    )


def _page(name: str, rules: RuleSet, texts: Texts) -> str:
    words = texts.sets[name]
    parts = [
        [f"# {words['title']} (`{name}`)", "", EDITING, "", words["what"].strip()],
        ["## At a glance", "", *_table(["", ""], _glance(rules))],
        ["## What differs from Black Lady", "", *_differences(rules.to_dict(), USUAL.to_dict())],
    ]
    if options := OPTIONS.get(name):
        rows = [[f"`{option}`", words["options"][option], _settings(changes)] for option, changes in options.items()]
        parts.append(["## Options", "", *_table(["option", "what it does", "parameters"], rows)])
    parts.append(["## Sources", "", *(f"- {_source(source, texts)}" for source in words["sources"])])
    rulings = [[number, *texts.rulings[number]] for number in words["rulings"]]
    heading = "## Rulings that bear on it ([RULES.md](../RULES.md), section 5)"
    parts.append([heading, "", *_table(["", "question", "ruling"], rulings)])
    every = [[f"`{key}`", _code(value), texts.parameters[key]] for key, value in rules.to_dict().items()]
    parts.append(["## Every parameter", "", *_table(["parameter", "value", "meaning"], every)])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _glance(rules: RuleSet) -> list[list[str]]:
    compiled = compile_rules(rules)
    rows = [
        ["seats", str(rules.players)],
        ["cards each", str(rules.hand_size)],
        ["cards left over", str(rules.kitty_size)],
        ["points in a hand", str(compiled.penalty_total)],
        ["pass", f"{', '.join(rules.pass_cycle)}; {rules.pass_count} cards" if rules.pass_count else "never"],
    ]
    if compiled.bonus_total:
        rows.insert(4, ["bonus in a hand", str(compiled.bonus_total)])
    return rows


def _differences(here: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    rows = [[f"`{key}`", _code(value), _code(usual[key])] for key, value in here.items() if value != usual[key]]
    return _table(["parameter", "here", "Black Lady"], rows) if rows else ["Nothing."]


def _settings(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key} = {_plain(value)}`" for key, value in changes.items())


def _source(text: str, texts: Texts) -> str:
    """The source with the name of what S1, S2 or S3 stands for."""
    mark = text[:2]
    return f"{mark} ({texts.sources[mark]}){text[2:]}" if mark in texts.sources else text


def _code(value: Any) -> str:
    return f"`{_plain(value)}`"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def main() -> int:
    """Write the pages, or with ``--check`` name those that have drifted."""
    parser = argparse.ArgumentParser(description="Write the pages on rule sets.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page has drifted")
    options = parser.parse_args()
    drifted = [
        path for path, text in pages(load_texts()).items() if not path.is_file() or path.read_text("utf-8") != text
    ]
    if options.check:
        for path in drifted:
            print(f"{path.relative_to(ROOT)}: has drifted; run scripts/generate_rules_docs.py", file=sys.stderr)
        return 1 if drifted else 0
    for path, text in pages(load_texts()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
