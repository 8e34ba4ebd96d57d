"""Worked cases of hands that hold both copies of a card: one legal card, and barred where the first one is."""

from __future__ import annotations

import pytest

from arbiter.engine.cases import run_case


@pytest.mark.parametrize(
    ("state", "legal"),
    [
        ({"hand": ["4D", "4D", "QS", "7H", "7H"], "trick": [], "trick_no": 3, "hearts_broken": False}, ["4D", "QS"]),
        ({"hand": ["4D", "4D", "7H"], "trick": ["9D"], "trick_no": 3, "hearts_broken": False}, ["4D"]),
        ({"hand": ["7H", "7H", "2C"], "trick": ["9D"], "trick_no": 3, "hearts_broken": False}, ["2C", "7H"]),
    ],
)
def test_equal_cards_are_one_legal_card(state: dict[str, object], legal: list[str]) -> None:
    case = {
        "id": "two",
        "kind": "legal",
        "ruleset": "cancellation",
        "options": [],
        "override": {},
        "state": state,
        "expected": {"legal": legal},
        "reason": "Equal cards are one legal move.",
    }
    result = run_case(case)
    assert result.passed, result
