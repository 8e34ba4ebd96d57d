"""What a hand costs, in instructions of Python's own machine: a guard against what slows the hot path unseen.

The count hardly differs from machine to machine and from run to run. Where a change is worth more than a bound allows,
or makes a hand cheaper by much, move the bound with it; ``python -m benchmarks.instructions`` prints the counts.
"""

from __future__ import annotations

import pytest

from arbiter.engine import COMPILED
from benchmarks.instructions import count

pytestmark = pytest.mark.skipif(COMPILED, reason="compiled code takes no instructions of Python's machine")

BOUNDS = {"engine": 18_900, "deals": 3_100, "match": 20_500, "sdk": 6_250}
"""Python 3.11 takes 13 % less, 3.12 and 3.13 up to 20 %."""


def test_a_hand_costs_no_more_than_it_did() -> None:
    found = count(64, 64)
    dear = {part: round(found[part]) for part, most in BOUNDS.items() if found[part] > most}
    assert not dear, f"instructions a hand above their bounds {BOUNDS}"
    assert found["match"] > BOUNDS["match"] / 2, "nothing was counted, or the bounds are far too wide"


def test_a_hand_at_many_tables_costs_less() -> None:
    """Columns and shared messages pay when batches are large; one that is not made larger any more would show."""
    few, many = count(8, 2), count(48, 48)
    assert many["match"] < 0.4 * few["match"]
    assert many["all"] < 0.4 * few["all"]
