"""Bots that answer at once lose nothing on time, though every core is busy with something else.

``python -m benchmarks.instant`` plays twenty times as long.
"""

from __future__ import annotations

import pytest

from arbiter.match import Clock
from benchmarks.instant import busy_cores, measure, play
from tests.patience import PATIENCE

BOARDS = 46
"""Two sittings of these are 5,000 decisions."""


def test_instant_bots_lose_nothing_on_time_on_a_busy_machine() -> None:
    """cutechess#630, fishtest#822, fastchess#310."""
    # No machine that stands still for a while ends a sitting by this clock; what it charges is held to a tight one.
    bank = 60.0
    clock = Clock(start_up=PATIENCE, bank=bank, increment=0.001, hard_stop=bank)
    count = measure(5_000, BOARDS, clock, seconds=PATIENCE)
    assert count.time_losses == count.other_faults == count.voids == 0
    assert count.share_used * bank < 5.0
    assert count.decisions >= 5_000


def test_a_time_loss_would_be_counted() -> None:
    (count,) = play([0], 2, Clock(start_up=60.0, bank=0.0, increment=0.0, margin=0.0), watched=False)
    assert (count.time_losses, count.other_faults, count.voids, count.decisions) == (4, 0, 0, 0)


def test_cores_that_were_not_busy_to_the_end_are_noticed() -> None:
    def outlast() -> None:
        with busy_cores(0.0) as processes:
            for process in processes:
                process.wait()

    with pytest.raises(RuntimeError, match="busy processes ended before"):
        outlast()
