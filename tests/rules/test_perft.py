"""Every recorded position has as many legal sequences as recorded, by the engine and by the naive implementation."""

from __future__ import annotations

import pytest

from arbiter.engine import OPTIONS, RULE_SETS
from tests.rules.perft import MOST, Position, count_with_engine, count_with_naive, load

POSITIONS = load()
BOUNDED = [position for position in POSITIONS if position.size <= 9_000]
"""Those that the naive implementation counts here; ``python -m tests.rules.perft`` counts all."""


def _name(position: Position) -> str:
    return position.name


@pytest.mark.parametrize("position", POSITIONS, ids=_name)
def test_engine_counts_what_is_recorded(position: Position) -> None:
    assert count_with_engine(position) == position.counts


@pytest.mark.parametrize("position", BOUNDED, ids=_name)
def test_naive_implementation_counts_what_is_recorded(position: Position) -> None:
    assert count_with_naive(position) == position.counts


def test_positions_cover_every_rule_set_and_option() -> None:
    every = [(name, ()) for name in RULE_SETS] + [(name, (option,)) for name in OPTIONS for option in OPTIONS[name]]
    for start in ("to the end, first trick", "to the end, second trick", "whole"):
        covered = {(position.ruleset, tuple(position.options)) for position in POSITIONS if _start(position) == start}
        assert covered == set(every)
    assert {len(position.hands) for position in POSITIONS} == {3, 4, 5, 6, 7, 8, 11}
    assert {position.ruleset for position in BOUNDED} == set(RULE_SETS)


def _start(position: Position) -> str:
    if len(position.counts) < sum(map(len, position.hands)):
        return "whole"
    return f"to the end, {'first' if position.leader is None else 'second'} trick"


def test_no_position_is_too_large_to_be_counted_quickly() -> None:
    assert max(max(position.counts) for position in POSITIONS) <= MOST
