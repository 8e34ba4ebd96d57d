"""Workers that differ from the others, and those that do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.store import AttemptFacts, AttemptOutcome, SittingKey
from arbiter.tournament.outliers import CHANCE, Share, WorkerReport, at_least, worker_reports

WORKERS = [f"w{number}" for number in range(4)]
TIMES = tuple((entrant, 0.01 * (entrant + 1), 10) for entrant in range(4))


def sound(worker: str, sittings: int, first: int = 0) -> list[AttemptFacts]:
    return [
        AttemptFacts(SittingKey("cup", number, 0), 1, worker, AttemptOutcome.RECORDED, 0, TIMES)
        for number in range(first, first + sittings)
    ]


def by_worker(attempts: Sequence[AttemptFacts]) -> dict[str, WorkerReport]:
    return {found.worker: found for found in worker_reports(attempts)}


def all_sound(sittings: int = 40) -> list[AttemptFacts]:
    return [each for number, worker in enumerate(WORKERS) for each in sound(worker, sittings, number * sittings)]


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_the_probability_is_that_of_drawing_blindly(in_all: int, of: int, bad_in_all: int, bad: int) -> None:
    of, bad_in_all = min(of, in_all), min(bad_in_all, in_all)
    draws = list(combinations([True] * bad_in_all + [False] * (in_all - bad_in_all), of))
    expected = sum(sum(draw) >= bad for draw in draws) / len(draws)
    assert at_least(bad, of, bad_in_all, in_all) == pytest.approx(expected, abs=1e-9)


def test_workers_that_are_alike_are_not_marked() -> None:
    reports = worker_reports(all_sound())
    assert [(each.worker, each.lost.of, each.faulty.of, each.slow.of) for each in reports] == [
        (worker, 40, 40, 40) for worker in WORKERS
    ]
    assert not any(each.outlying for each in reports)


@pytest.mark.parametrize("kind", ["lost", "faulty", "slow"])
def test_a_worker_that_is_worse_in_one_thing_is_marked_for_that_alone(kind: str) -> None:
    """fishtest#2425."""
    bad = {
        "lost": {"outcome": AttemptOutcome.LOST, "times": ()},
        "faulty": {"faults": 1},
        "slow": {"times": tuple((entrant, 2 * seconds, answers) for entrant, seconds, answers in TIMES)},
    }[kind]
    attempts = [
        replace(each, **bad) if each.worker == "w2" and each.key.match % 4 == 0 else each  # type: ignore[arg-type]
        for each in all_sound()
    ]
    found = by_worker(attempts)
    assert {name for name, each in found.items() if each.outlying} == {"w2"}
    marked = {part for part in ("lost", "faulty", "slow") if getattr(found["w2"], part).outlying}
    assert marked == {kind}
    assert getattr(found["w2"], kind).bad == 10


def test_chance_is_shared_by_all_comparisons() -> None:
    """Four bad sittings of one worker's 40 and of 160 in all come once in 300 times, but there are twelve questions."""
    for bad, marked in ((4, False), (6, True)):
        attempts = [replace(each, faults=int(each.key.match in range(80, 80 + bad))) for each in all_sound()]
        assert by_worker(attempts)["w2"].faulty == Share(bad, 40, outlying=marked)
        assert at_least(bad, 40, bad, 160) < CHANCE


def test_bots_that_fail_everywhere_mark_no_worker() -> None:
    attempts = [replace(each, faults=3) if each.key.match % 2 else each for each in all_sound()]
    assert not any(each.outlying for each in worker_reports(attempts))


def test_bots_that_think_long_make_no_worker_slow() -> None:
    """One worker gets a slow bot in each of its sittings by chance; it is that bot's usual time."""
    slow = ((9, 5.0, 10), *TIMES[1:])
    attempts = [replace(each, times=slow) if each.worker == "w1" else each for each in all_sound()]
    assert by_worker(attempts)["w1"].slow.bad == 0


def test_what_the_host_recalled_or_runs_still_counts_for_nothing() -> None:
    attempts = all_sound(5)
    for outcome in (AttemptOutcome.RUNNING, AttemptOutcome.RECALLED):
        attempts += [replace(each, outcome=outcome, times=()) for each in sound("w0", 50, 100)]
    found = by_worker(attempts)["w0"]
    assert (found.lost.of, found.faulty.of, found.outlying) == (5, 5, False)


def test_a_worker_alone_is_compared_with_nobody() -> None:
    attempts = [replace(each, outcome=AttemptOutcome.LOST, times=()) for each in sound("w0", 30)]
    assert not worker_reports(attempts)[0].outlying
    assert worker_reports([]) == ()


def test_sound_workers_are_seldom_marked() -> None:
    """The bound of one tournament in a hundred holds; here for faults at a rate of a tenth."""
    chance, marked, tournaments = random.Random(7), 0, 400
    plan = all_sound(25)
    for _ in range(tournaments):
        attempts = [replace(each, faults=int(chance.random() < 0.1), times=()) for each in plan]
        marked += any(each.outlying for each in worker_reports(attempts))
    assert marked <= 12, "of 400; more than 12 would come once in 4,000 times at a rate of a hundredth"
