"""Any order of what workers, coordinators and the host can do, against a model.

Two arbiters with their desks, coordinators and connections are on one database; a queue in memory is between them and
the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete, select

from arbiter.match import SittingPlan
from arbiter.match.routes import Priority, Route
from arbiter.store import (
    MAX_ATTEMPTS,
    TRANSITIONS,
    AttemptOutcome,
    Database,
    Lease,
    LeaseRefusal,
    Recorded,
    SittingKey,
    SittingState,
    Store,
    TournamentState,
    TransitionRefused,
)
from arbiter.store.tables import (
    AlarmRow,
    AttemptRow,
    LeadershipRow,
    ResultRow,
    SeatResultRow,
    SittingRow,
    Table,
    TournamentRow,
)
from arbiter.tournament import Coordinator, Desk, Grant, Lead, coordinator
from arbiter.tournament.desk import LEASE, RENEWED_AFTER
from arbiter.tournament.leading import LEAD
from tests.tournament.stages import Chance
from tests.tournament.support import ID, START, Clock, Lowest, create, granted, packed_of, played, report, spec_of

SPEC = spec_of(boards=1)
KEYS = [SittingKey(ID, 0, number) for number in range(4)]
MATTER = f"tournament/{ID}"
MAX_LOST = 2

ARBITERS = st.integers(0, 1)
SITTINGS = st.sampled_from([0, 0, 1, 2, 3])
ATTEMPTS = st.integers(1, 4)
WORKERS = st.sampled_from(["w1", "w2"])
CONTENTS = st.sampled_from(["low", "chance"])


@dataclass
class Sitting:
    """What should be known of one sitting."""

    state: SittingState = SittingState.PLANNED
    workers: list[str] = field(default_factory=list)
    outcomes: list[AttemptOutcome] = field(default_factory=list)
    ends: list[datetime] = field(default_factory=list)
    reports: dict[int, str] = field(default_factory=dict)
    standing: int | None = None
    failures: int = 0
    lost: int = 0
    alarms: set[tuple[int, str]] = field(default_factory=set)

    def holds(self, attempt: int) -> bool:
        return self.state is SittingState.LEASED and attempt == len(self.workers)

    def end_lease(self, outcome: AttemptOutcome, state: SittingState) -> None:
        self.outcomes[-1], self.state = outcome, state


class Arbiter:
    """One process, as far as it can be told from another: nothing but the database is shared."""

    def __init__(self, name: str, target: str, clock: Clock, queue: list[SittingKey]) -> None:
        self.name = name
        self.store = Store.open(target)
        self._clock = clock
        self._queue = queue
        self.start()

    def start(self) -> None:
        """As after a crash: what was in memory is gone."""
        self.desk = Desk(self.store, now=self._clock)
        self.lead = Lead(self.store, MATTER, self.name, now=self._clock, steady=lambda: self._clock.seconds)
        lead = self.lead
        self.coordinator = Coordinator(
            self.store, self, lambda _: lead, now=self._clock, steady=lambda: self._clock.seconds
        )
        self.believed: int | None = None
        """The term in which the model thinks that this process takes itself for the leader."""
        self.renewed: dict[int, tuple[int, float]] = {}
        """By sitting, the attempt and the time of its last renewal that this process has seen."""

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        assert self.lead.good, "only who leads sends"
        self._queue.append(key)

    def waiting(self, route: Route) -> int:
        return len(self._queue)


@cache
def replay(sitting: int, content: str) -> bytes:
    """What a worker reports of a sitting, in two forms that both verify."""
    plan = PLANS[sitting]
    return packed_of(played(plan, [Lowest() if content == "low" else Chance() for _ in plan.bots]))


def digest_of(sitting: int, content: str | None) -> str | None:
    return None if content is None else sha256(replay(sitting, content)).hexdigest()


PLANS: list[SittingPlan] = []
"""By sitting, as the desk gives them."""


class Service(RuleBasedStateMachine):
    """The service beside the model."""

    target: str

    @initialize()
    def plan(self) -> None:
        database = Database(self.target)
        with database.write() as session:
            for table in reversed(Table.metadata.sorted_tables):
                session.execute(delete(table))
        database.close()
        self.clock = Clock()
        self.queue: list[SittingKey] = []
        self.arbiters = [Arbiter(name, self.target, self.clock, self.queue) for name in ("a", "b")]
        self.store = self.arbiters[0].store
        create(self.store, SPEC, running=False)
        self.state = TournamentState.SCHEDULED
        self.model = [Sitting() for _ in KEYS]
        self.leader, self.term, self.lead_ends = "", 0, START

    # -- time, the host, and what gets lost ----------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.5, 2.0, 4.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @rule(state=st.sampled_from([*[TournamentState.RUNNING] * 3, TournamentState.PAUSED]))
    def decide(self, state: TournamentState) -> None:
        self.move(state, lambda: self.store.set_state(ID, state, now=self.clock()))

    @rule(arbiter=ARBITERS, sure=st.integers(0, 5))
    def cancel(self, arbiter: int, sure: int) -> None:
        if sure == 0:  # it is final, so not each time
            store = self.arbiters[arbiter].store
            self.move(
                TournamentState.CANCELLED, lambda: store.set_state(ID, TournamentState.CANCELLED, now=self.clock())
            )

    @rule()
    def lose_the_queue(self) -> None:
        self.queue.clear()

    @rule(arbiter=ARBITERS)
    def restart(self, arbiter: int) -> None:
        self.arbiters[arbiter].start()

    def move(self, state: TournamentState, change: Callable[[], object]) -> None:
        if state not in TRANSITIONS[self.state]:
            with pytest.raises(TransitionRefused):
                change()
            return
        change()
        self.state = state
        for model in self.model:
            if state is TournamentState.RUNNING and model.state is SittingState.FAILED:
                model.state, model.failures, model.lost = SittingState.PLANNED, 0, 0
            elif state is not TournamentState.RUNNING and model.state is SittingState.LEASED:
                model.end_lease(AttemptOutcome.RECALLED, SittingState.PLANNED)

    # -- coordinators --------------------------------------------------------------------------------------------------

    @rule(arbiter=ARBITERS)
    def look(self, arbiter: int) -> None:
        process = self.arbiters[arbiter]
        if process.believed is None:
            free = self.lead_ends <= self.clock() or self.leader in ("", process.name)
            if free:
                self.leader, self.term, self.lead_ends = process.name, self.term + 1, self.clock() + LEAD
                process.believed = self.term
        if process.believed == self.term:
            self.settle(process)
        elif process.believed is not None:
            process.believed = None
        sent = len(self.queue)
        assert process.coordinator.look(ID) is self.state
        if self.state is not TournamentState.RUNNING or process.believed is None:
            assert len(self.queue) == sent

    def settle(self, process: Arbiter) -> None:
        for number, model in enumerate(self.model):
            if model.state is SittingState.LEASED and model.ends[-1] <= self.clock():
                model.lost += 1
                state = SittingState.FAILED if model.lost >= MAX_LOST else SittingState.PLANNED
                model.end_lease(AttemptOutcome.LOST, state)
                process.renewed.pop(number, None)
        if self.state is TournamentState.RUNNING:
            states = {model.state for model in self.model}
            if states == {SittingState.RECORDED}:
                self.state = TournamentState.COMPLETED
            elif states <= {SittingState.RECORDED, SittingState.FAILED}:
                self.state = TournamentState.FAILED

    @rule(arbiter=ARBITERS)
    def keep_leading(self, arbiter: int) -> None:
        process = self.arbiters[arbiter]
        leads = process.believed is not None and process.believed == self.term
        if leads:
            self.lead_ends = self.clock() + LEAD
        else:
            process.believed = None
        assert process.lead.keep() is leads

    @rule(arbiter=ARBITERS)
    def resign(self, arbiter: int) -> None:
        process = self.arbiters[arbiter]
        if process.believed == self.term:
            self.lead_ends = self.clock()
        process.believed = None
        process.lead.__exit__()

    # -- workers -------------------------------------------------------------------------------------------------------

    @rule(arbiter=ARBITERS, worker=WORKERS)
    def work(self, arbiter: int, worker: str) -> None:
        if self.queue:
            self.lease(arbiter, self.queue.pop(0).sitting, worker)

    @rule(arbiter=ARBITERS, sitting=SITTINGS, worker=WORKERS)
    def lease(self, arbiter: int, sitting: int, worker: str) -> None:
        process, model = self.arbiters[arbiter], self.model[sitting]
        expected: Lease | LeaseRefusal
        if model.state is SittingState.RECORDED:
            expected = LeaseRefusal.RECORDED
        elif model.state is SittingState.FAILED:
            expected = LeaseRefusal.FAILED
        elif self.state is not TournamentState.RUNNING:
            expected = LeaseRefusal.NOT_RUNNING
        elif model.state is SittingState.LEASED and model.workers[-1] != worker:
            expected = LeaseRefusal.LEASED
        elif self.gave_back(model, worker):
            expected = LeaseRefusal.GAVE_BACK
        else:
            if model.state is SittingState.LEASED:
                model.lost += 1
                model.outcomes[-1] = AttemptOutcome.LOST
            model.state = SittingState.LEASED
            model.workers.append(worker)
            model.outcomes.append(AttemptOutcome.RUNNING)
            model.ends.append(self.clock() + LEASE)
            process.renewed[sitting] = len(model.workers), self.clock.seconds
            expected = Lease(KEYS[sitting], len(model.workers), worker, model.ends[-1])
        found = process.desk.lease(str(KEYS[sitting]), worker)
        assert (found.lease if isinstance(found, Grant) else found) == expected

    @rule(arbiter=ARBITERS, sitting=SITTINGS, attempt=ATTEMPTS)
    def renew(self, arbiter: int, sitting: int, attempt: int) -> None:
        process, model = self.arbiters[arbiter], self.model[sitting]
        held = model.holds(attempt)
        current, renewed = process.renewed.get(sitting, (0, self.clock.seconds))
        fresh = current == attempt and self.clock.seconds < renewed + LEASE.total_seconds() * RENEWED_AFTER
        if held and not fresh:
            model.ends[-1] = self.clock() + LEASE
            process.renewed[sitting] = attempt, self.clock.seconds
        elif not held and current == attempt:
            process.renewed.pop(sitting, None)
        assert process.desk.renew(str(KEYS[sitting]), attempt, 1) is held

    @rule(arbiter=ARBITERS, sitting=SITTINGS, attempt=ATTEMPTS)
    def give_back(self, arbiter: int, sitting: int, attempt: int) -> None:
        process, model = self.arbiters[arbiter], self.model[sitting]
        if attempt > len(model.workers):
            return
        if model.holds(attempt):
            model.failures += 1
            model.end_lease(AttemptOutcome.INFRASTRUCTURE, SittingState.PLANNED)
            if model.failures >= MAX_ATTEMPTS and not self.blames_one(model):
                model.state = SittingState.FAILED
        process.renewed.pop(sitting, None)
        assert process.desk.release(str(KEYS[sitting]), attempt, "starved") is model.state

    def gave_back(self, model: Sitting, worker: str) -> bool:
        """Whether a worker has to let another one try."""
        if not model.outcomes or (model.outcomes[-1], model.workers[-1]) != (AttemptOutcome.INFRASTRUCTURE, worker):
            return False
        return any(each.state is SittingState.LEASED and each.workers[-1] != worker for each in self.model)

    def blames_one(self, model: Sitting) -> bool:
        """Whether one worker alone can't play a sitting, of two that play."""
        tries = list(zip(model.workers, model.outcomes, strict=True))
        failed = {worker for worker, outcome in tries if outcome is AttemptOutcome.INFRASTRUCTURE}
        plays = {AttemptOutcome.RUNNING, AttemptOutcome.RECORDED}
        return len(failed) == 1 and any(
            outcome in plays and worker not in failed
            for each in self.model
            for worker, outcome in zip(each.workers, each.outcomes, strict=True)
        )

    @rule(arbiter=ARBITERS, sitting=SITTINGS, attempt=ATTEMPTS, content=CONTENTS)
    def report(self, arbiter: int, sitting: int, attempt: int, content: str) -> None:
        process, model = self.arbiters[arbiter], self.model[sitting]
        if attempt > len(model.workers):
            return
        if model.reports.get(attempt, content) != content:
            model.alarms.add((attempt, content))
            expected = Recorded.CONFLICT
        elif model.standing is None:
            if model.state is SittingState.LEASED:
                model.outcomes[-1] = AttemptOutcome.SUPERSEDED
            model.standing, model.state = attempt, SittingState.RECORDED
            model.outcomes[attempt - 1] = AttemptOutcome.RECORDED
            expected = Recorded.RECORDED
        elif model.standing == attempt:
            expected = Recorded.REPEATED
        else:
            model.outcomes[attempt - 1] = AttemptOutcome.SUPERSEDED
            expected = Recorded.SUPERSEDED
        model.reports.setdefault(attempt, content)
        process.renewed.pop(sitting, None)
        grant = Grant(Lease(KEYS[sitting], attempt, "", START), PLANS[sitting])
        assert report(process.desk, grant, replay(sitting, content)) is expected

    # -- what holds always ---------------------------------------------------------------------------------------------

    @invariant()
    def the_database_holds_what_the_model_says(self) -> None:
        with self.store._database.read() as session:
            assert session.scalars(select(TournamentRow.state)).one() is self.state
            row = session.get(LeadershipRow, MATTER)
            assert ((row.holder, row.term, row.expires_at) if row else ("", 0, START)) == (
                self.leader,
                self.term,
                self.lead_ends,
            )
            sittings = session.scalars(select(SittingRow).order_by(SittingRow.number)).all()
            places = [sitting.id for sitting in sittings]
            assert [(each.state, each.attempts, each.infrastructure, each.lost) for each in sittings] == [
                (model.state, len(model.workers), model.failures, model.lost) for model in self.model
            ]
            attempts = session.execute(
                select(
                    AttemptRow.sitting_id, AttemptRow.number, AttemptRow.worker, AttemptRow.outcome, AttemptRow.digest
                )
            )
            assert sorted((places.index(place), *rest) for place, *rest in attempts) == [
                (place, number, worker, outcome, digest_of(place, model.reports.get(number)))
                for place, model in enumerate(self.model)
                for number, (worker, outcome) in enumerate(zip(model.workers, model.outcomes, strict=True), 1)
            ]
            running = session.execute(
                select(AttemptRow.sitting_id, AttemptRow.number, AttemptRow.expires_at).where(
                    AttemptRow.outcome == AttemptOutcome.RUNNING
                )
            )
            assert sorted((places.index(place), number, ends) for place, number, ends in running) == [
                (place, len(model.workers), model.ends[-1])
                for place, model in enumerate(self.model)
                if model.state is SittingState.LEASED
            ], "open is what holds a lease, and nothing else"
            results = session.execute(select(ResultRow.sitting_id, ResultRow.attempt_number, ResultRow.digest))
            assert sorted((places.index(place), *rest) for place, *rest in results) == [
                (place, model.standing, digest_of(place, model.reports[model.standing]))
                for place, model in enumerate(self.model)
                if model.standing is not None
            ], "the first report stands, once"
            recorded = [place for place, model in enumerate(self.model) if model.standing is not None]
            seats = session.scalars(select(SeatResultRow.sitting_id))
            assert sorted(map(places.index, seats)) == sorted(recorded * 4)
            alarms = session.execute(select(AlarmRow.sitting_id, AlarmRow.attempt_number, AlarmRow.digest))
            assert {(places.index(place), *rest) for place, *rest in alarms} == {
                (place, attempt, digest_of(place, content))
                for place, model in enumerate(self.model)
                for attempt, content in model.alarms
            }

    def teardown(self) -> None:
        """Nothing is lost: with honest workers and any one coordinator, what can be completed is."""
        if not hasattr(self, "arbiters"):
            return
        try:
            if self.state not in (TournamentState.CANCELLED, TournamentState.COMPLETED):
                self.complete()
        finally:
            for process in self.arbiters:
                process.store.close()

    def complete(self) -> None:
        if self.state is not TournamentState.RUNNING:
            self.decide(TournamentState.RUNNING)
        for _ in range(20):
            self.wait(11.0)
            self.keep_leading(1)
            self.look(1)
            if self.state is TournamentState.COMPLETED:
                break
            if self.state is TournamentState.FAILED:
                self.decide(TournamentState.RUNNING)
            while self.queue:
                sitting = self.queue[0].sitting
                self.work(0, "w1")
                if self.model[sitting].state is SittingState.LEASED:
                    self.report(0, sitting, len(self.model[sitting].workers), "low")
        assert self.state is TournamentState.COMPLETED
        assert self.store.progress(ID).done


def test_the_service_behaves_as_the_model(
    target: str, store: Store, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "MAX_LOST", MAX_LOST)
    monkeypatch.setattr(Service, "target", target, raising=False)
    if not PLANS:
        create(store, SPEC)
        PLANS.extend(granted(desk, str(key)).plan for key in KEYS)
    run_state_machine_as_test(
        Service,
        settings=settings(max_examples=10, stateful_step_count=25, suppress_health_check=list(HealthCheck)),
    )
