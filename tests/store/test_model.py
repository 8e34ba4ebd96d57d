"""Any order of leasing, expiring, giving back and recording, against a model of a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from arbiter.store import AttemptOutcome, Lease, LeaseRefusal, Recorded, SittingKey, SittingState, Store
from tests.store.support import TERM, after, create, result

SITTINGS = st.integers(0, 1)
ATTEMPTS = st.integers(1, 4)
WORKERS = st.sampled_from(["w1", "w2"])
CONTENTS = st.sampled_from(["as it should be", "otherwise"])


@dataclass
class Sitting:
    """What should be known of one sitting."""

    state: SittingState = SittingState.PLANNED
    workers: list[str] = field(default_factory=list)
    ends: list[datetime] = field(default_factory=list)
    reports: dict[int, str] = field(default_factory=dict)
    standing: int | None = None
    failures: int = 0
    alarms: set[tuple[int, str]] = field(default_factory=set)

    def holds(self, attempt: int) -> bool:
        return self.state is SittingState.LEASED and attempt == len(self.workers)


class LeasesAndResults(RuleBasedStateMachine):
    """The store beside the model."""

    store: Store
    names: Iterator[str]

    @initialize()
    def plan(self) -> None:
        self.id = create(self.store, next(self.names), match_count=1)
        self.model = [Sitting(), Sitting()]
        self.clock = 0

    def key(self, sitting: int) -> SittingKey:
        return SittingKey(self.id, 0, sitting)

    @rule(seconds=st.integers(1, 40))
    def wait(self, seconds: int) -> None:
        self.clock += seconds

    @rule(sitting=SITTINGS, worker=WORKERS)
    def lease(self, sitting: int, worker: str) -> None:
        model = self.model[sitting]
        expected: Lease | LeaseRefusal
        if model.state is SittingState.RECORDED:
            expected = LeaseRefusal.RECORDED
        elif model.state is SittingState.FAILED:
            expected = LeaseRefusal.FAILED
        elif model.state is SittingState.LEASED and model.workers[-1] != worker:
            expected = LeaseRefusal.LEASED
        else:
            model.state = SittingState.LEASED
            model.workers.append(worker)
            model.ends.append(after(self.clock) + TERM)
            expected = Lease(self.key(sitting), len(model.workers), worker, model.ends[-1])
        assert self.store.lease(self.key(sitting), worker, after(self.clock), TERM) == expected

    @rule(sitting=SITTINGS, attempt=ATTEMPTS)
    def renew(self, sitting: int, attempt: int) -> None:
        model = self.model[sitting]
        if model.holds(attempt):
            model.ends[-1] = after(self.clock) + TERM
        renewed = self.store.renew(self.key(sitting), attempt, after(self.clock), TERM)
        assert renewed == model.holds(attempt)

    @rule()
    def expire(self) -> None:
        expected = []
        for number, model in enumerate(self.model):
            if model.state is SittingState.LEASED and model.ends[-1] <= after(self.clock):
                model.state = SittingState.PLANNED
                expected.append(self.key(number))
        assert self.store.expire_leases(self.id, after(self.clock)) == expected

    @rule(sitting=SITTINGS, attempt=ATTEMPTS)
    def give_back(self, sitting: int, attempt: int) -> None:
        model = self.model[sitting]
        if attempt > len(model.workers):
            return
        if model.holds(attempt):
            model.failures += 1
            model.state = SittingState.FAILED if model.failures >= 2 else SittingState.PLANNED
        assert self.store.release(self.key(sitting), attempt, "starved", max_attempts=2) is model.state

    @rule()
    def retry(self) -> None:
        expected = []
        for number, model in enumerate(self.model):
            if model.state is SittingState.FAILED:
                model.state, model.failures = SittingState.PLANNED, 0
                expected.append(self.key(number))
        assert self.store.retry_failed(self.id) == expected

    @rule(sitting=SITTINGS, attempt=ATTEMPTS, content=CONTENTS)
    def record(self, sitting: int, attempt: int, content: str) -> None:
        model = self.model[sitting]
        if attempt > len(model.workers):
            return
        if model.reports.get(attempt, content) != content:
            model.alarms.add((attempt, content))
            expected = Recorded.CONFLICT
        elif model.standing is None:
            model.standing, model.state = attempt, SittingState.RECORDED
            expected = Recorded.RECORDED
        elif model.standing == attempt:
            expected = Recorded.REPEATED
        else:
            expected = Recorded.SUPERSEDED
        model.reports.setdefault(attempt, content)
        reported = result(self.key(sitting), content)
        assert self.store.record(self.key(sitting), attempt, reported, after(self.clock)) is expected

    @invariant()
    def the_store_knows_what_the_model_knows(self) -> None:
        counts = self.store.progress(self.id).sittings
        assert counts == {state: sum(model.state is state for model in self.model) for state in SittingState}
        assert [(lease.key.sitting, lease.attempt, lease.expires_at) for lease in self.store.leases(self.id)] == [
            (number, len(model.workers), model.ends[-1])
            for number, model in enumerate(self.model)
            if model.state is SittingState.LEASED
        ]
        assert [key.sitting for key in self.store.planned(self.id)] == [
            number for number, model in enumerate(self.model) if model.state is SittingState.PLANNED
        ]
        assert {(alarm.key.sitting, alarm.attempt, alarm.digest) for alarm in self.store.alarms(self.id)} == {
            (number, attempt, result(self.key(number), content).digest)
            for number, model in enumerate(self.model)
            for attempt, content in model.alarms
        }

    @invariant()
    def attempts_are_numbered_and_open_only_while_they_hold_the_lease(self) -> None:
        for number, model in enumerate(self.model):
            attempts = self.store.attempts(self.key(number))
            assert [each.worker for each in attempts] == model.workers
            assert [each.number for each in attempts] == list(range(1, len(attempts) + 1))
            for each in attempts:
                assert (each.outcome is AttemptOutcome.RUNNING) == model.holds(each.number)
                assert (each.outcome is AttemptOutcome.RECORDED) == (model.standing == each.number)
                assert (each.digest is not None) == (each.number in model.reports)

    @invariant()
    def the_standing_result_is_the_first_reported(self) -> None:
        recorded = {sitting for _, sitting, _ in self.store.seat_results(self.id)}
        assert recorded == {number for number, model in enumerate(self.model) if model.standing is not None}
        for number in recorded:
            standing = self.model[number].standing
            assert standing is not None
            expected = result(self.key(number), self.model[number].reports[standing])
            assert self.store.replay(self.key(number)) == expected.replay
            assert self.store.logs(self.key(number)) == expected.logs


def test_the_store_behaves_as_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "arbiter.db") as store:
        monkeypatch.setattr(LeasesAndResults, "store", store, raising=False)
        monkeypatch.setattr(LeasesAndResults, "names", (f"t{number}" for number in range(10_000)), raising=False)
        run_state_machine_as_test(
            LeasesAndResults,
            settings=settings(
                max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
