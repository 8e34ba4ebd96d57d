"""A reduced run against OpenSpiel: every combination of flags, every corner; see ``docs/rules/differential.md``."""

from __future__ import annotations

import random

import pytest

from arbiter.engine import compile_rules, rule_set
from tests.rules.openspiel import COMBINATIONS, CORNERS, Flags, Tally, compare_random, compare_rigged

RANDOM_HANDS = 60
REPETITIONS = 12


@pytest.mark.parametrize("flags", COMBINATIONS, ids=str)
def test_engine_agrees_with_openspiel(flags: Flags) -> None:
    """Legal cards at every step, hearts broken included: open_spiel#260."""
    rng = random.Random(str(flags))
    tally = Tally()
    compare_random(flags, RANDOM_HANDS, rng, tally)
    compare_rigged(flags, REPETITIONS, rng, tally)
    assert tally.differences == []
    assert set(CORNERS) <= set(tally.corners), "a rigged deal no longer reaches its corner"


BLACK_LADY = Flags(
    pass_cards=True,
    no_pts_on_first_trick=True,
    jd_bonus=False,
    must_break_hearts=True,
    qs_breaks_hearts=False,
    can_lead_hearts_instead_of_qs=False,
)


def test_black_lady_is_one_of_them() -> None:
    assert BLACK_LADY.rules() is compile_rules(rule_set("black_lady"))


@pytest.mark.parametrize("flag", [name for name in Flags._fields if name != "pass_cards"])
def test_a_rule_that_differs_is_noticed(flag: str) -> None:
    """The comparison can fail: with one flag turned on one side alone, some hand differs."""
    turned = BLACK_LADY._replace(**{flag: not getattr(BLACK_LADY, flag)}).rules()
    rng = random.Random(flag)
    tally = Tally()
    compare_random(BLACK_LADY, RANDOM_HANDS, rng, tally, rules=turned)
    compare_rigged(BLACK_LADY, REPETITIONS, rng, tally, rules=turned)
    assert tally.differences
