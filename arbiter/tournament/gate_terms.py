"""What a gate asks: is the candidate better than the baseline, or not worse, with which error rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from arbiter.engine import Moon, RuleSet, compile_rules
from arbiter.verdict import Betting, Gsprt, Hypotheses


class Mode(StrEnum):
    """The question."""

    SUPERIORITY = "superiority"  #: is it better?
    NONINFERIORITY = "noninferiority"  #: is it not worse?


class Form(StrEnum):
    """The sequential test."""

    SPRT = "sprt"  #: generalised sequential probability ratio test: quick, error rates hold approximately
    BETTING = "betting"  #: by betting: more boards, error rates hold for any distribution within the rule set's bounds


class Unit(StrEnum):
    """What counts as one observation."""

    BOARD = "board"  #: a board with all its seatings
    BLOCK = "block"  #: all boards of a block together, for bots that learn from board to board within a sitting


MATCHES_PER_TABLE: Final = 2
"""The candidate's match and the baseline's, over one deal set and against the same opponents."""

SPREAD: Final = 0.2
"""Standard deviation of a board's improvement that is assumed beforehand, as a part of what a hand can cost."""


@dataclass(frozen=True, slots=True)
class GateTerms:
    """A gate's question and plan.

    Attributes:
        mode: the question.
        form: the test.
        unit: what counts as one observation.
        hypotheses: in points per hand, positive where the candidate is better.
        tables: groups of opponents in a block; each plays a deal set of its own in two matches, first with the
            candidate and then with the baseline.
    """

    mode: Mode
    form: Form
    unit: Unit
    hypotheses: Hypotheses
    tables: int

    @property
    def matches_per_block(self) -> int:
        """How many matches after one another make a block."""
        return MATCHES_PER_TABLE * self.tables

    def new_test(self, rules: RuleSet, boards: int) -> Gsprt | Betting:
        """The test before its first block of ``boards`` boards; raises :class:`arbiter.verdict.VerdictError`."""
        spread = SPREAD * hand_range(rules)
        if self.unit is Unit.BLOCK:
            spread /= math.sqrt(boards)
        if self.form is Form.SPRT:
            return Gsprt(self.hypotheses, spread)
        return Betting(self.hypotheses, hand_range(rules), spread)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mode": self.mode.value,
            "form": self.form.value,
            "unit": self.unit.value,
            **asdict(self.hypotheses),
            "tables": self.tables,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GateTerms:
        """What :meth:`to_dict` wrote."""
        rates = {name: data[name] for name in ("delta0", "delta1", "alpha", "beta")}
        return cls(
            Mode(data["mode"]), Form(data["form"]), Unit(data["unit"]), Hypotheses(**rates), tables=data["tables"]
        )


def hand_range(rules: RuleSet) -> float:
    """Most points by which two hands of one side can differ, whatever is played.

    A side takes at the most all positive cards, or what an old moon charges each of its seats; at the least all bonus
    cards and a new moon.
    """
    compiled = compile_rules(rules)
    partners = rules.players // len(rules.teams) if rules.teams else 1
    most = partners * compiled.penalty_total
    new_moon = rules.moon in (Moon.NEW, Moon.CHOICE, Moon.MIXED)
    least = compiled.bonus_total - (compiled.penalty_total if new_moon else 0)
    return float(most - least)


def usual_hypotheses(mode: Mode, rules: RuleSet) -> tuple[float, float]:
    """``delta0`` and ``delta1`` where none are given: a fifty-second part of what a hand can cost lies between them,
    which is half a point in Black Lady."""
    step = float(f"{hand_range(rules) / 52:.2g}")
    return (0.0, step) if mode is Mode.SUPERIORITY else (-step, 0.0)
