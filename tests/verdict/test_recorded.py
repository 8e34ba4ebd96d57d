"""Error rates and power of gates drawn from recorded boards of sample bots, with blocks and bounds of a real one."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

from arbiter.cli.gate import BLOCK_BOARDS, MAX_BOARDS
from arbiter.engine import rule_set
from arbiter.tournament.gate_terms import Form, GateTerms, Mode, Unit
from arbiter.verdict import Answer, Hypotheses, decide
from benchmarks.boards import HANDS, recorded_boards

GATES = 400
RULES = rule_set("black_lady")
HYPOTHESES = Hypotheses(0.0, 0.5)


def differences(one: str, other: str) -> list[float]:
    """By board at which both sat: points per hand that ``one`` takes fewer than ``other``."""
    return [
        (score.points[score.group.index(other)] - score.points[score.group.index(one)]) / HANDS
        for score in recorded_boards()
        if {one, other} <= set(score.group)
    ]


def answers(values: list[float], delta: float, form: Form) -> list[Answer | None]:
    """Of gates whose true improvement is ``delta``."""
    draw = random.Random(f"{form} {delta}")
    moved = [value - fmean(values) + delta for value in values]
    test = GateTerms(Mode.SUPERIORITY, form, Unit.BOARD, HYPOTHESES, 1).new_test(RULES, BLOCK_BOARDS)
    blocks = MAX_BOARDS // BLOCK_BOARDS
    return [decide(test, (draw.choices(moved, k=BLOCK_BOARDS) for _ in range(blocks))).answer for _ in range(GATES)]


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize(("one", "other"), [("careful", "wary"), ("careful", "batch"), ("moonshooter", "lowest")])
def test_gates_drawn_from_recorded_boards_keep_their_rates(one: str, other: str, form: Form) -> None:
    values = differences(one, other)
    assert len(set(values)) > 20
    most = GATES * (0.05 + 3 * math.sqrt(0.05 * 0.95 / GATES))
    assert answers(values, HYPOTHESES.delta0, form).count(Answer.DELTA1) <= most
    at_delta1 = answers(values, HYPOTHESES.delta1, form)
    assert at_delta1.count(Answer.DELTA0) <= most
    assert at_delta1.count(Answer.DELTA1) >= 0.8 * GATES, "and a gate that never says anything is no use"
