"""Every worked case of the rules, and what the runner of such cases refuses."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from arbiter.engine.cases import CaseError, run_case

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases.json").read_text())
BY_ID = {case["id"]: case for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_worked_case(case: dict[str, Any]) -> None:
    result = run_case(case)
    assert result.passed, f"{result.reason} Expected {result.expected}, the engine says {result.actual}"
    assert result.id == case["id"]
    assert result.reason == case["reason"]


def test_all_kinds_of_the_specification_have_cases() -> None:
    assert len(BY_ID) == len(CASES) == 195
    assert set(Counter(case["kind"] for case in CASES)) == {
        *("legal", "break", "first_leader", "pass_cycle", "pass_check", "pass", "trick", "hand_score"),
        *("match", "tiebreak", "deal", "misdeal", "redeal_cycle", "claim"),
    }


WRONG_ANSWERS = [
    ("legal-002", {"legal": ["3C"]}),
    ("legal-002", {"legal": ["3C", "KC", "AH"]}),
    ("break-001", {"hearts_broken": False}),
    ("lead-003", {"leader": 3, "forced_card": "2C"}),
    ("lead-003", {"leader": 2, "forced_card": None}),
    ("cycle-002", {"directions": ["left", "right", "across", "none", "left", "right", "across", "none", "left"]}),
    ("pass-001", {"valid": False, "error": "duplicate"}),
    ("pass-006", {"hands": [["2D"], ["5D"], ["2H"], ["2C"]]}),
    ("trick-010", {"winner": None, "next_leader": 0, "points": 0}),
    ("score-002", {"delta": [26, 0, 26, 26], "moon": None}),
    ("match-002", {"totals": [99, 74, 40, 71], "over": True, "winners": [2], "overtime": False}),
    ("tiebreak-003", {"still_tied": [0, 1, 3]}),
    ("tiebreak-003", {"still_tied": 0}),
    ("deal-005", {"hand_size": 14, "left_over": 0}),
    ("misdeal-002", {"void": True, "dealer": 3, "hand_no": 3}),
    ("pass-007", {"hand_no": 2, "direction": "left"}),
    ("claim-004", {"accept": True}),
]


@pytest.mark.parametrize(("name", "expected"), WRONG_ANSWERS)
def test_wrong_answer_fails(name: str, expected: dict[str, Any]) -> None:
    result = run_case({**BY_ID[name], "expected": expected})
    assert not result.passed
    assert result.actual == {key: result.actual[key] for key in expected}


def test_order_of_cards_is_nobodys_business() -> None:
    assert run_case({**BY_ID["legal-002"], "expected": {"legal": ["KC", "3C"]}}).passed


def test_moon_and_signed_scores_can_be_expected_of_a_game() -> None:
    case = BY_ID["match-021"]
    result = run_case({**case, "expected": {**case["expected"], "moon": 3, "delta": [-26, -26, -26, 0]}})
    assert result.passed, result.actual


def test_a_tied_game_of_extra_hands_goes_on_between_the_tied() -> None:
    state = {"totals": [100, 60, 60, 80], "captured": None, "choice": None, "overtime": True, "hand_no": 9}
    case = {**BY_ID["match-041"], "state": {**state, "delta": [0, 13, 12, 1]}}
    expected = {"totals": [100, 60, 60, 80], "over": True, "winners": [2], "overtime": False}
    assert run_case({**case, "expected": expected}).passed


MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("no state", {"state": None}, "its state is None; write a table"),
    ("unknown kind", {"kind": "legality"}, "there is no kind 'legality'; there are: legal, "),
    ("part missing", {"state": {"hand": ["2C"], "trick": [], "trick_no": 2}}, "needs 'hearts_broken'"),
    ("bad card", {"state": {"hand": ["1X"], "trick": [], "trick_no": 2, "hearts_broken": True}}, "'1X' is no card"),
    ("not a list", {"state": {"hand": 7, "trick": [], "trick_no": 2, "hearts_broken": True}}, "none of kind legal"),
    ("unknown rule set", {"ruleset": "bridge"}, "there is no rule set 'bridge'"),
    ("unknown option", {"options": ["doubled"]}, "has no option 'doubled'"),
    ("unknown answer", {"expected": {"illegal": []}}, "can't expect 'illegal'; it can: legal"),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_malformed_case_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=r"^case legal-002: ") as caught:
        run_case({**BY_ID["legal-002"], **change})
    assert message in str(caught.value)


def test_case_without_a_part_is_refused() -> None:
    with pytest.raises(CaseError, match="case x: has no 'kind'"):
        run_case({"id": "x"})


def test_seats_of_a_trick_must_be_in_turn() -> None:
    plays = [[1, "2D"], [3, "KH"], [2, "AS"], [0, "QS"]]
    case = BY_ID["trick-002"]
    with pytest.raises(CaseError, match=r"seats must be \[1, 2, 3, 0\]"):
        run_case({**case, "state": {**case["state"], "plays": plays}})
