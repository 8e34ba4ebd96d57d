"""Leases: who gets a sitting, who does not, and how it is lost."""

from __future__ import annotations

import pytest

from arbiter.store import (
    MAX_ATTEMPTS,
    Attempt,
    AttemptOutcome,
    Lease,
    LeaseRefusal,
    Recorded,
    SittingKey,
    SittingState,
    Store,
    TournamentState,
    UnknownSitting,
    UnknownTournament,
)
from tests.store.support import START, TERM, after, create, leased, result

KEY = SittingKey("demo-1a2b", 0, 0)
NEXT = SittingKey("demo-1a2b", 0, 1)


def outcomes(store: Store, key: SittingKey = KEY) -> list[AttemptOutcome]:
    return [each.outcome for each in store.attempts(key)]


def states(store: Store) -> dict[SittingState, int]:
    return {state: count for state, count in store.progress("demo-1a2b").sittings.items() if count}


def test_a_planned_sitting_is_leased_to_who_asks(store: Store) -> None:
    create(store)
    assert store.lease(KEY, "w1", START, TERM) == Lease(KEY, 1, "w1", START + TERM)
    assert store.leases("demo-1a2b") == [Lease(KEY, 1, "w1", START + TERM)]
    assert store.attempts(KEY) == [Attempt(1, "w1", START, AttemptOutcome.RUNNING, "", None, None, None)]
    assert KEY not in store.planned("demo-1a2b")


@pytest.mark.parametrize("text", ["demo-1a2b/0/2", "demo-1a2b/2/0", "other/0/0"])
def test_an_unknown_sitting_is_not_leased(store: Store, text: str) -> None:
    create(store)
    assert store.lease(SittingKey.parse(text), "w1", START, TERM) is LeaseRefusal.UNKNOWN


def test_a_recorded_sitting_is_not_leased(store: Store) -> None:
    create(store)
    store.record(KEY, leased(store, KEY).attempt, result(KEY), START)
    assert store.lease(KEY, "w1", START, TERM) is LeaseRefusal.RECORDED
    assert store.leases("demo-1a2b") == []


def test_a_sitting_that_another_worker_holds_is_not_leased_even_past_its_end(store: Store) -> None:
    create(store)
    leased(store, KEY, "w1")
    assert store.lease(KEY, "w2", after(1), TERM) is LeaseRefusal.LEASED
    assert store.lease(KEY, "w2", after(1000), TERM) is LeaseRefusal.LEASED
    assert store.expire_leases("demo-1a2b", after(1000)) == [KEY]
    assert leased(store, KEY, "w2", 1000).attempt == 2


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.COMPLETED, TournamentState.CANCELLED])
def test_a_tournament_that_stops_takes_its_leases_back_and_holds_them_against_nobody(
    store: Store, state: TournamentState
) -> None:
    create(store)
    create(store, "other")
    first, second = store.planned("demo-1a2b")[:2]
    elsewhere = leased(store, store.planned("other")[0])
    leased(store, first)
    assert store.holds(first, 1)
    store.set_state("demo-1a2b", state, now=after(1))
    assert not store.holds(first, 1)
    assert not store.renew(first, 1, after(1), TERM)
    assert store.leases("demo-1a2b") == []
    assert store.leases("other") == [elsewhere]
    assert store.planned("demo-1a2b")[:2] == [first, second]
    (attempt,) = store.attempts(first)
    assert (attempt.outcome, attempt.note) == (AttemptOutcome.RECALLED, f"its tournament is {state}")
    if state is TournamentState.PAUSED:
        store.set_state("demo-1a2b", TournamentState.RUNNING, now=after(2))
        for number in range(2, 2 + MAX_ATTEMPTS):
            assert leased(store, first).attempt == number
            store.release(first, number, "starved")
        assert store.failed("demo-1a2b") == [first], "neither counted as a failure nor as a loss"


def test_a_tournament_that_is_set_running_again_plans_its_failed_sittings_anew(store: Store) -> None:
    create(store)
    key = store.planned("demo-1a2b")[0]
    store.release(key, leased(store, key).attempt, "no cage", max_attempts=1)
    store.set_state("demo-1a2b", TournamentState.FAILED, now=after(1), failure="no cage")
    store.set_state("demo-1a2b", TournamentState.RUNNING, now=after(2))
    assert store.failed("demo-1a2b") == []
    assert store.planned("demo-1a2b")[0] == key


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.COMPLETED, TournamentState.CANCELLED])
def test_nothing_is_leased_of_a_tournament_that_does_not_run(store: Store, state: TournamentState) -> None:
    create(store)
    leased(store, NEXT, "w1")
    store.set_state("demo-1a2b", state, now=START)
    assert store.lease(KEY, "w1", START, TERM) is LeaseRefusal.NOT_RUNNING
    assert store.lease(NEXT, "w1", START, TERM) is LeaseRefusal.NOT_RUNNING


def test_nothing_is_leased_before_the_start(store: Store) -> None:
    create(store, running=False)
    assert store.lease(KEY, "w1", START, TERM) is LeaseRefusal.NOT_RUNNING


def test_a_failed_sitting_is_not_leased(store: Store) -> None:
    create(store)
    assert store.release(KEY, leased(store, KEY).attempt, "no bubblewrap", max_attempts=1) is SittingState.FAILED
    assert store.lease(KEY, "w1", START, TERM) is LeaseRefusal.FAILED


def test_a_worker_that_asks_for_what_it_holds_gets_a_new_attempt(store: Store) -> None:
    """A worker that lost its task reclaims it: official-stockfish/fishtest#1979."""
    create(store)
    leased(store, KEY, "w1")
    assert store.lease(KEY, "w1", after(5), TERM) == Lease(KEY, 2, "w1", after(35))
    assert outcomes(store) == [AttemptOutcome.LOST, AttemptOutcome.RUNNING]
    assert store.attempts(KEY)[0].note == "its worker asked for the sitting anew"
    assert not store.renew(KEY, 1, after(6), TERM)


def test_a_renewed_lease_ends_later(store: Store) -> None:
    create(store)
    lease = leased(store, KEY)
    assert store.renew(KEY, lease.attempt, after(20), TERM)
    assert store.leases("demo-1a2b") == [Lease(KEY, 1, "w1", after(50))]
    assert store.expire_leases("demo-1a2b", after(49)) == []


def test_a_late_heartbeat_saves_a_lease_that_nobody_took_back(store: Store) -> None:
    create(store)
    lease = leased(store, KEY)
    assert store.renew(KEY, lease.attempt, after(31), TERM)
    assert store.expire_leases("demo-1a2b", after(32)) == []


def test_only_the_attempt_that_holds_the_lease_can_renew_it(store: Store) -> None:
    create(store)
    assert not store.renew(KEY, 1, START, TERM), "never leased"
    leased(store, KEY, "w1")
    assert not store.renew(KEY, 2, START, TERM), "no such attempt"
    assert not store.renew(SittingKey("other", 0, 0), 1, START, TERM), "no such sitting"
    store.expire_leases("demo-1a2b", after(30))
    assert not store.renew(KEY, 1, after(30), TERM), "expired"
    leased(store, KEY, "w2", 30)
    assert not store.renew(KEY, 1, after(31), TERM), "another's"
    assert (store.holds(KEY, 1), store.holds(KEY, 2)) == (False, True)
    store.record(KEY, 2, result(KEY), after(32))
    assert not store.renew(KEY, 2, after(33), TERM), "recorded"


def test_leases_expire_at_their_end_in_schedule_order(store: Store) -> None:
    create(store, match_count=3, sittings=1)
    keys = store.planned("demo-1a2b")
    for key, seconds in zip(keys, (2, 0, 1), strict=True):
        leased(store, key, seconds=seconds)
    assert store.expire_leases("demo-1a2b", after(29.999999)) == []
    assert store.expire_leases("demo-1a2b", after(31)) == [keys[1], keys[2]]
    assert store.planned("demo-1a2b") == [keys[1], keys[2]]
    assert outcomes(store, keys[1]) == [AttemptOutcome.LOST]
    assert store.attempts(keys[1])[0].note == "its lease expired"
    assert [lease.key for lease in store.leases("demo-1a2b")] == [keys[0]]
    assert store.expire_leases("demo-1a2b", after(31)) == []


def test_a_sitting_that_loses_lease_after_lease_fails_until_the_host_has_looked(store: Store) -> None:
    create(store)
    for turn in (0, 100):
        for _ in range(2):
            leased(store, KEY, seconds=turn)
            assert store.expire_leases("demo-1a2b", after(turn + 50), max_lost=3) == [KEY]
            assert KEY in store.planned("demo-1a2b")
        leased(store, KEY, seconds=turn)
        assert store.expire_leases("demo-1a2b", after(turn + 50), max_lost=3) == [KEY]
        assert store.failed("demo-1a2b") == [KEY]
        assert "the last of 3 that were lost" in store.attempts(KEY)[-1].note
        assert store.retry_failed("demo-1a2b") == [KEY]


def test_a_worker_that_lost_its_task_counts_and_one_that_the_host_ended_does_not(store: Store) -> None:
    create(store)
    for _ in range(4):
        leased(store, KEY)
        store.expire_leases("demo-1a2b", after(50))
    leased(store, KEY, "w1")
    leased(store, KEY, "w1")
    store.expire_leases("demo-1a2b", after(50), max_lost=3)
    assert store.failed("demo-1a2b") == []
    leased(store, KEY, "w1")
    store.expire_leases("demo-1a2b", after(50), max_lost=3)
    assert store.failed("demo-1a2b") == [KEY]


def test_a_sitting_given_back_is_planned_again_until_it_failed_three_times(store: Store) -> None:
    create(store)
    for number in (1, 2):
        assert store.release(KEY, leased(store, KEY).attempt, f"starved {number}") is SittingState.PLANNED
    assert KEY in store.planned("demo-1a2b")
    assert store.release(KEY, leased(store, KEY).attempt, "starved 3") is SittingState.FAILED
    assert outcomes(store) == [AttemptOutcome.INFRASTRUCTURE] * 3
    assert [each.note for each in store.attempts(KEY)] == ["starved 1", "starved 2", "starved 3"]
    assert states(store) == {SittingState.PLANNED: 3, SittingState.FAILED: 1}


def test_lost_leases_do_not_count_as_infrastructure_failures(store: Store) -> None:
    create(store)
    for round_trip in range(5):
        leased(store, KEY, seconds=100 * round_trip)
        store.expire_leases("demo-1a2b", after(100 * round_trip + 50))
    assert store.release(KEY, leased(store, KEY, seconds=1000).attempt, "starved") is SittingState.PLANNED


def test_giving_back_twice_counts_once(store: Store) -> None:
    create(store)
    lease = leased(store, KEY)
    for _ in range(5):
        assert store.release(KEY, lease.attempt, "starved", max_attempts=2) is SittingState.PLANNED


def test_an_attempt_without_the_lease_gives_nothing_back(store: Store) -> None:
    create(store)
    leased(store, KEY, "w1")
    store.expire_leases("demo-1a2b", after(30))
    leased(store, KEY, "w2", 30)
    assert store.release(KEY, 1, "starved", max_attempts=1) is SittingState.LEASED
    assert outcomes(store) == [AttemptOutcome.LOST, AttemptOutcome.RUNNING]
    store.record(KEY, 2, result(KEY), after(40))
    assert store.release(KEY, 2, "starved", max_attempts=1) is SittingState.RECORDED
    assert outcomes(store) == [AttemptOutcome.LOST, AttemptOutcome.RECORDED]


def test_only_what_exists_is_given_back(store: Store) -> None:
    create(store)
    with pytest.raises(UnknownSitting, match="there is no attempt 1 at sitting demo-1a2b/0/0; it had 0"):
        store.release(KEY, 1, "starved")
    with pytest.raises(UnknownSitting, match="there is no attempt 2147483648 at sitting demo-1a2b/0/0; it had 0"):
        store.release(KEY, 2**31, "starved")
    with pytest.raises(UnknownSitting, match="there is no sitting demo-1a2b/9/0; take keys from the plan"):
        store.release(SittingKey("demo-1a2b", 9, 0), 1, "starved")
    with pytest.raises(UnknownSitting, match="there is no sitting demo-1a2b/9/0"):
        store.attempts(SittingKey("demo-1a2b", 9, 0))


def test_failed_sittings_are_tried_anew_with_all_their_tries(store: Store) -> None:
    create(store)
    for key in (KEY, NEXT):
        for _ in range(3):
            store.release(key, leased(store, key).attempt, "starved")
    assert store.failed("demo-1a2b") == [KEY, NEXT]
    assert store.retry_failed("demo-1a2b") == [KEY, NEXT]
    assert store.failed("demo-1a2b") == []
    assert store.retry_failed("demo-1a2b") == []
    for state in (SittingState.PLANNED, SittingState.PLANNED, SittingState.FAILED):
        assert store.release(KEY, leased(store, KEY).attempt, "starved") is state
    assert [each.number for each in store.attempts(KEY)] == [1, 2, 3, 4, 5, 6]


def test_a_late_result_settles_a_failed_sitting(store: Store) -> None:
    create(store)
    lease = leased(store, KEY)
    store.release(KEY, lease.attempt, "no answer", max_attempts=1)
    assert store.record(KEY, lease.attempt, result(KEY), START) is Recorded.RECORDED
    assert states(store) == {SittingState.PLANNED: 3, SittingState.RECORDED: 1}
    assert store.retry_failed("demo-1a2b") == []


def test_voids_are_counted_by_whose_time_was_up(store: Store) -> None:
    create(store)
    other = SittingKey("demo-1a2b", 0, 1)
    for key, entrant in ((KEY, 1), (KEY, 0), (other, 1)):
        assert (
            store.release(key, leased(store, key).attempt, "starved", starved_entrant=entrant) is SittingState.PLANNED
        )
    store.release(other, leased(store, other).attempt, "no bubblewrap")
    assert store.voids("demo-1a2b") == {0: 1, 1: 2}
    assert [attempt.starved_entrant for attempt in store.attempts(KEY)] == [1, 0]
    with pytest.raises(UnknownTournament):
        store.voids("other")


class TestOneFaultyWorker:
    """A machine that is out of order can't end a tournament, nor hold it up: official-stockfish/fishtest#100."""

    def fail(self, store: Store, worker: str) -> SittingState:
        return store.release(KEY, leased(store, KEY, worker).attempt, "no space left")

    def test_it_leaves_a_sitting_to_another_that_is_at_work(self, store: Store) -> None:
        create(store)
        leased(store, NEXT, "sound")
        assert self.fail(store, "faulty") is SittingState.PLANNED
        assert store.lease(KEY, "faulty", START, TERM) is LeaseRefusal.GAVE_BACK
        assert leased(store, KEY, "third").attempt == 2

    def test_it_fails_no_sitting_where_others_play(self, store: Store) -> None:
        create(store)
        store.record(NEXT, leased(store, NEXT, "sound").attempt, result(NEXT), START)
        for _ in range(10 * MAX_ATTEMPTS - 1):
            assert self.fail(store, "faulty") is SittingState.PLANNED
        assert store.record(KEY, leased(store, KEY, "sound").attempt, result(KEY), START) is Recorded.RECORDED

    def test_what_nobody_plays_in_the_end_waits_for_the_host(self, store: Store) -> None:
        create(store)
        store.record(NEXT, leased(store, NEXT, "gone").attempt, result(NEXT), START)
        states = [self.fail(store, "faulty") for _ in range(10 * MAX_ATTEMPTS)]
        assert states.index(SittingState.FAILED) == 10 * MAX_ATTEMPTS - 1

    def test_what_several_can_not_play_waits_for_the_host(self, store: Store) -> None:
        create(store)
        store.record(NEXT, leased(store, NEXT, "sound").attempt, result(NEXT), START)
        states = [self.fail(store, worker) for worker in ("first", "second", "first")]
        assert states == [SittingState.PLANNED, SittingState.PLANNED, SittingState.FAILED]

    def test_what_was_before_the_host_looked_does_not_count(self, store: Store) -> None:
        create(store)
        store.record(NEXT, leased(store, NEXT, "sound").attempt, result(NEXT), START)
        for worker in ("first", "second", "first"):
            self.fail(store, worker)
        store.retry_failed("demo-1a2b")
        assert [self.fail(store, "first") for _ in range(4)] == [SittingState.PLANNED] * 4
