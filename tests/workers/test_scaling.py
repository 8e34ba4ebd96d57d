"""The simulated service comes to what can be worked out by hand: what full workers play, what a full arbiter checks."""

from __future__ import annotations

import math

import pytest

from benchmarks.scaling import SITTINGS_A_WORKER, SPREAD, Costs, simulate

NOTHING = Costs(0.0, 0.0, 0.0)


@pytest.mark.parametrize("workers", [1, 10, 100])
def test_workers_that_wait_for_nothing_play_all_the_time(workers: int) -> None:
    run = simulate(NOTHING, workers, 30.0)
    assert run.sittings_per_second == pytest.approx(workers / 30.0, rel=SPREAD)
    assert run.playing > 1 - 2 / SITTINGS_A_WORKER, "but for the moment at which each begins"
    assert run.arbiter == run.redis == 0


def test_a_worker_waits_for_its_lease_and_not_for_the_check_of_its_report() -> None:
    play, sitting = 10.0, 8.0
    run = simulate(Costs(sitting, 0.0, 0.0), 1, play, heartbeat=math.inf)
    # The lease takes half of a sitting's cost; it is asked for behind the report, which takes the other half.
    assert run.playing == pytest.approx(play / (play + sitting), rel=SPREAD)
    assert run.arbiter <= 1


def test_a_full_arbiter_bounds_what_any_number_of_workers_play() -> None:
    cost = 0.05
    runs = [simulate(Costs(cost, 0.0, 0.0), workers, 2.0, heartbeat=math.inf) for workers in (100, 1000)]
    for run in runs:
        assert run.arbiter == 1
        assert run.sittings_per_second <= 1 / cost
        assert run.playing < 0.6


def test_renewals_alone_fill_an_arbiter() -> None:
    run = simulate(Costs(0.0, 0.01, 0.0), 100, 30.0, heartbeat=0.5)
    assert run.arbiter == pytest.approx(1, abs=0.05)
    assert run.renewal_pause > 0.9, "a hundred of a hundredth of a second each come after one another"
