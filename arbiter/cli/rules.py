"""``arbiter rules``: the rule sets, and worked cases tried against them. Needs the base install alone."""

from __future__ import annotations

import json as json_module
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from arbiter.cli.console import one_line, output, print_json, results_console
from arbiter.cli.options import Json
from arbiter.engine import OPTIONS, RULE_SETS, EngineError, NamedRules, RuleSet, compile_rules, read_rules, rules_table
from arbiter.engine.cases import CaseError, run_case
from arbiter.errors import UsageError

app = typer.Typer(
    help="Show rule sets, and try worked cases against them.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _group() -> None:
    """Show rule sets, and try worked cases against them."""


@app.command("list")
def list_rules(json: Json = False) -> None:
    """List the named rule sets: seats and options of each."""
    if json:
        print_json(
            [
                {"name": name, "seats": rules.players, "options": list(OPTIONS.get(name, ()))}
                for name, rules in RULE_SETS.items()
            ]
        )
        return
    table = Table(title="Rule sets", title_style="bold", title_justify="left")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("seats", justify="right")
    table.add_column("options")
    for name, rules in RULE_SETS.items():
        table.add_row(name, str(rules.players), ", ".join(OPTIONS.get(name, ())))
    results_console().print(table)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME|FILE.toml", help="A named rule set, or a file with one.")],
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME", help="An option of the rule set; may be repeated.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A single parameter, such as target=50; may be repeated."),
    ] = None,
    json: Json = False,
) -> None:
    """Show every parameter of a rule set, and where it differs from Black Lady."""
    table: dict[str, Any] = _read_table(Path(name)) if name.endswith(".toml") else {"name": name}
    if option:
        table["options"] = [*table.get("options", []), *option]
    table.update(map(_parameter, change or ()))
    try:
        named = read_rules(table)
    except EngineError as error:
        raise UsageError(f"{name}: {error}" if name.endswith(".toml") else str(error)) from error
    parameters = named.rules.to_dict()
    usual = RULE_SETS["black_lady"].to_dict()
    differs = {key: usual[key] for key, value in parameters.items() if value != usual[key]}
    if json:
        print_json({"title": named.title, "rules": parameters, "black_lady": differs})
        return
    results_console().print(_parameters_table(named, parameters, differs))


def _parameters_table(named: NamedRules, parameters: dict[str, Any], differs: dict[str, Any]) -> Table:
    table = Table(title=named.title, title_style="bold", title_justify="left")
    table.add_column("parameter", no_wrap=True)
    table.add_column("value")
    table.add_column("in Black Lady")
    for key, value in parameters.items():
        style = "bold" if key in differs else ""
        usual = _shown(differs[key]) if key in differs else ""
        table.add_row(Text(key, style=style), Text(_shown(value), style=style), Text(usual))
    compiled = compile_rules(named.rules)
    bonus = f", {compiled.bonus_total} of bonus" if compiled.bonus_total else ""
    table.caption = f"{compiled.penalty_total} points in a hand{bonus}; bold differs from Black Lady"
    table.caption_justify = "left"
    return table


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Worked cases: a JSON list.")],
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE.toml", help="The rule set of cases that name none, or 'custom'."),
    ] = None,
    json: Json = False,
) -> None:
    """Try worked cases against the engine; exit status 1 when any comes out otherwise, 2 when a file can't be read."""
    cases = _read_cases(file)
    custom = None if rules is None else _read_rule_set(rules)
    failures = [failure for case in cases if (failure := _try(case, custom))]
    passed = len(cases) - len(failures)
    if json:
        print_json({"passed": passed, "failed": len(failures), "failures": failures})
    else:
        for failure in failures:
            _show_failure(failure)
        output.print(f"{passed} passed, {len(failures)} failed", highlight=False)
    if failures:
        raise typer.Exit(1)


def _try(case: dict[str, Any], custom: RuleSet | None) -> dict[str, Any] | None:
    """What was wrong with a case; None when it passed."""
    name, reason = str(case.get("id", "without id")), str(case.get("reason", ""))
    try:
        result = run_case(case, custom)
    except CaseError as error:
        return {"id": name, "reason": reason, "error": str(error)}
    if result.passed:
        return None
    return {"id": name, "reason": reason, "expected": result.expected, "actual": result.actual}


def _show_failure(failure: dict[str, Any]) -> None:
    lines = [f"{failure['id']}: {failure['reason']}".removesuffix(": ")]
    if "error" in failure:
        lines.append(f"  can't be tried: {failure['error']}")
    else:
        for key, expected in failure["expected"].items():
            actual = failure["actual"][key]
            if actual != expected:
                lines.append(f"  {key}: expected {_shown(expected)}, the engine says {_shown(actual)}")
    for line in lines:
        output.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def _read_rule_set(path: Path) -> RuleSet:
    try:
        return read_rules(_read_table(path)).rules
    except EngineError as error:
        raise UsageError(f"{path}: {error}") from error


def _read_table(path: Path) -> dict[str, Any]:
    """The table of rules in a TOML file."""
    try:
        return rules_table(tomllib.loads(_read_text(path, "a rule set (TOML)")))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is no TOML: {error}") from error
    except EngineError as error:
        raise UsageError(f"{path}: {error}") from error


def _read_cases(path: Path) -> list[dict[str, Any]]:
    try:
        cases = json_module.loads(_read_text(path, "worked cases (JSON)"))
    except json_module.JSONDecodeError as error:
        raise UsageError(f"{path}: is no JSON: {error}") from error
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise UsageError(
            f"{path}: holds no list of cases; write [{{...}}, ...] as docs/rules/RULES.md, section 8, says"
        )
    return cases


def _read_text(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}; name a file of {what}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text; name a file of {what}") from error


def _parameter(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` with a value as in TOML; a bare word is a string and ``null`` is nothing."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--set {text}: write KEY=VALUE, such as --set target=50")
    if value == "null":
        return key, None
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def _shown(value: Any) -> str:
    """A value as it would be written in JSON, strings without quotes."""
    return value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)
