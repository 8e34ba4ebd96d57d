"""Results: recorded once, whole, and read back in schedule order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from arbiter.compression import decompress
from arbiter.store import (
    Alarm,
    Attempt,
    AttemptOutcome,
    BotLog,
    Fault,
    InvalidResult,
    Recorded,
    SittingKey,
    SittingResult,
    SittingState,
    Store,
    TournamentState,
    UnknownSitting,
)
from tests.store.support import START, after, create, everything, leased, result

KEY = SittingKey("demo-1a2b", 0, 0)
REVOKE = Fault(entrant=2, board=1, hand=3, seat=2, trick=7, code="ILLEGAL_PLAY", detail="played 4D, holds 2C")
CRASH = Fault(entrant=0, board=None, hand=None, seat=None, trick=None, code="CRASH", detail="gone", lost=True)


TWICE = "reported twice, differently"


def replace_lease(store: Store) -> None:
    """Let the first attempt at KEY lose its lease and another worker make a second."""
    leased(store, KEY, "w1")
    store.expire_leases("demo-1a2b", after(30))
    leased(store, KEY, "w2", 30)


def test_a_result_comes_back_as_it_was_reported(store: Store) -> None:
    create(store, match_count=1, sittings=1)
    reported = result(KEY, faults=(REVOKE, CRASH))
    assert store.record(KEY, leased(store, KEY).attempt, reported, after(9)) is Recorded.RECORDED
    assert store.seat_results("demo-1a2b") == [(0, 0, each) for each in reported.results]
    assert store.faults("demo-1a2b") == [(KEY, REVOKE), (KEY, CRASH)]
    assert store.logs(KEY) == reported.logs
    assert store.replay(KEY) == reported.replay
    assert store.attempts(KEY) == [Attempt(1, "w1", START, AttemptOutcome.RECORDED, "", reported.digest, None, True)]
    assert store.leases("demo-1a2b") == []
    assert store.alarms("demo-1a2b") == []


def test_a_result_may_be_bare(store: Store) -> None:
    create(store)
    bare = replace(result(KEY), results=(), tallies=(), logs=())
    assert store.record(KEY, leased(store, KEY).attempt, bare, START) is Recorded.RECORDED
    assert store.seat_results("demo-1a2b") == []
    assert store.logs(KEY) == ()


def test_the_same_report_again_changes_nothing(store: Store, target: str) -> None:
    create(store)
    store.record(KEY, leased(store, KEY).attempt, result(KEY, faults=(REVOKE,)), START)
    before = everything(target)
    assert store.record(KEY, 1, result(KEY, faults=(REVOKE,)), after(1)) is Recorded.REPEATED
    assert everything(target) == before


def test_a_different_report_of_the_same_attempt_is_an_alarm_and_changes_nothing_else(store: Store) -> None:
    create(store)
    first, other = result(KEY), result(KEY, "not as it was")
    store.record(KEY, leased(store, KEY).attempt, first, START)
    attempts = store.attempts(KEY)
    for seconds in (1, 2):
        assert store.record(KEY, 1, other, after(seconds)) is Recorded.CONFLICT
    assert store.alarms("demo-1a2b") == [Alarm(KEY, 1, first.digest, other.digest, after(1), TWICE)]
    assert store.replay(KEY) == first.replay
    assert store.attempts(KEY) == attempts
    assert len(store.seat_results("demo-1a2b")) == len(first.results)


def test_a_refused_report_is_an_alarm_of_which_an_attempt_has_one(store: Store) -> None:
    create(store)
    leased(store, KEY)
    for digest in ("a" * 64, "b" * 64):
        store.refuse(KEY, 1, digest, "the replay breaks off", after(1))
    assert store.alarms("demo-1a2b") == [Alarm(KEY, 1, "", "a" * 64, after(1), "the replay breaks off")]
    assert store.record(KEY, 1, result(KEY), after(2)) is Recorded.RECORDED, "its honest report counts still"
    assert store.record(KEY, 1, result(KEY, "otherwise"), after(3)) is Recorded.CONFLICT
    assert [each.reason for each in store.alarms("demo-1a2b")] == ["the replay breaks off", TWICE]
    for unknown in (SittingKey("demo-1a2b", 9, 0), SittingKey("demo-1a2b", 0, 1)):
        with pytest.raises(UnknownSitting):
            store.refuse(unknown, 1, "a" * 64, "", START)


def test_facts_of_attempts_are_those_of_standing_results(store: Store) -> None:
    create(store, match_count=1)
    replace_lease(store)
    store.record(KEY, 2, result(KEY, faults=(REVOKE, CRASH)), after(31))
    store.record(KEY, 1, result(KEY, "late"), after(32))
    leased(store, SittingKey("demo-1a2b", 0, 1), "w3")
    assert [(each.worker, each.outcome, each.faults) for each in store.attempt_facts("demo-1a2b")] == [
        ("w1", AttemptOutcome.SUPERSEDED, 0),
        ("w2", AttemptOutcome.RECORDED, 2),
        ("w3", AttemptOutcome.RUNNING, 0),
    ]
    assert [each.times for each in store.attempt_facts("demo-1a2b")] == [
        (),
        tuple((entrant, 0.5, 13) for entrant in (0, 1, 2, 3)),
        (),
    ]


def test_each_different_content_is_an_alarm_of_its_own(store: Store) -> None:
    create(store)
    store.record(KEY, leased(store, KEY).attempt, result(KEY), START)
    others = [result(KEY, text) for text in ("one", "two")]
    for seconds, other in enumerate(others):
        store.record(KEY, 1, other, after(seconds))
    assert [each.digest for each in store.alarms("demo-1a2b")] == [each.digest for each in others]


def test_a_late_result_stands_though_its_lease_expired(store: Store) -> None:
    create(store)
    leased(store, KEY)
    store.expire_leases("demo-1a2b", after(30))
    assert store.record(KEY, 1, result(KEY), after(31)) is Recorded.RECORDED
    assert [each.outcome for each in store.attempts(KEY)] == [AttemptOutcome.RECORDED]
    assert KEY not in store.planned("demo-1a2b")


def test_the_first_reported_attempt_stands_and_ends_the_others(store: Store) -> None:
    create(store)
    replace_lease(store)
    assert store.record(KEY, 1, result(KEY), after(31)) is Recorded.RECORDED
    assert [each.outcome for each in store.attempts(KEY)] == [AttemptOutcome.RECORDED, AttemptOutcome.SUPERSEDED]
    assert store.leases("demo-1a2b") == []
    assert store.expire_leases("demo-1a2b", after(1000)) == []


@pytest.mark.parametrize(("text", "agrees"), [("as it should be", True), ("with another clock", False)])
def test_a_superseded_report_leaves_its_digest_alone(store: Store, text: str, agrees: bool) -> None:
    create(store)
    replace_lease(store)
    standing, later = result(KEY), result(KEY, text, faults=(CRASH,))
    store.record(KEY, 2, standing, after(31))
    for seconds in (32, 33):
        assert store.record(KEY, 1, later, after(seconds)) is Recorded.SUPERSEDED
    first, second = store.attempts(KEY)
    assert (first.outcome, first.digest, first.agrees) == (AttemptOutcome.SUPERSEDED, later.digest, agrees)
    assert (second.outcome, second.digest, second.agrees) == (AttemptOutcome.RECORDED, standing.digest, True)
    assert store.replay(KEY) == standing.replay
    assert store.faults("demo-1a2b") == []
    assert store.alarms("demo-1a2b") == []


def test_a_superseded_attempt_that_contradicts_itself_is_an_alarm(store: Store) -> None:
    create(store)
    replace_lease(store)
    store.record(KEY, 2, result(KEY), after(31))
    first, other = result(KEY, "first"), result(KEY, "other")
    store.record(KEY, 1, first, after(32))
    assert store.record(KEY, 1, other, after(33)) is Recorded.CONFLICT
    assert store.alarms("demo-1a2b") == [Alarm(KEY, 1, first.digest, other.digest, after(33), TWICE)]


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.CANCELLED])
def test_a_result_is_taken_after_the_tournament_stopped(store: Store, state: TournamentState) -> None:
    create(store)
    leased(store, KEY)
    store.set_state("demo-1a2b", state, now=START)
    assert store.record(KEY, 1, result(KEY), START) is Recorded.RECORDED


def test_only_an_attempt_that_was_made_is_recorded(store: Store) -> None:
    create(store)
    with pytest.raises(UnknownSitting, match="there is no attempt 1 at sitting demo-1a2b/0/0; it had 0"):
        store.record(KEY, 1, result(KEY), START)
    with pytest.raises(UnknownSitting, match="there is no sitting demo-1a2b/0/7"):
        store.record(SittingKey("demo-1a2b", 0, 7), 1, result(KEY), START)
    assert store.progress("demo-1a2b").hands == 0


GOOD = result(KEY)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (replace(GOOD, replay=b"something else"), "has a digest that is not its replay's; report it unchanged"),
        (replace(GOOD, results=GOOD.results + GOOD.results[:1]), "names a seat of a board twice"),
        (replace(GOOD, results=(replace(GOOD.results[0], entrant=4),)), r"names entrants \[4\]; .* \[0, 1, 2, 3\]"),
        (replace(GOOD, faults=(replace(CRASH, entrant=9),)), r"names entrants \[9\]"),
        (replace(GOOD, logs=(BotLog(9, "", ""),)), r"names entrants \[9\]"),
        (replace(GOOD, logs=(BotLog(0, "", "", 1.0, 2**31),)), "has 2147483648 answers of one bot"),
        (replace(GOOD, tallies=GOOD.tallies[1:]), "has tallies of other hands than its seats played"),
        (replace(GOOD, results=(replace(GOOD.results[0], board=3),)), r"names boards \[3\]; its match has 1 to 2"),
        (replace(GOOD, results=(replace(GOOD.results[0], board=0),)), r"names boards \[0\]; its match has 1 to 2"),
    ],
)
def test_a_result_that_contradicts_itself_or_its_match_changes_nothing(
    store: Store, target: str, bad: SittingResult, why: str
) -> None:
    create(store)
    leased(store, KEY)
    before = everything(target)
    with pytest.raises(InvalidResult, match=f"the result of sitting demo-1a2b/0/0 {why}"):
        store.record(KEY, 1, bad, START)
    assert everything(target) == before


def test_what_a_bot_prints_can_not_prevent_recording(store: Store) -> None:
    create(store, match_count=1, sittings=1)
    hostile = "a\0b\ud800c\udfff\U0001f0a1"
    reported = replace(result(KEY, faults=(replace(CRASH, detail=hostile),)), logs=(BotLog(0, hostile, hostile),))
    assert store.record(KEY, leased(store, KEY).attempt, reported, START) is Recorded.RECORDED
    kept = "a\ufffdb\ufffdc\ufffd\U0001f0a1"
    assert store.logs(KEY) == (BotLog(0, kept, kept),)
    assert store.faults("demo-1a2b")[0][1].detail == kept


def test_a_replay_is_kept_compressed(store: Store, target: str) -> None:
    create(store)
    long = result(KEY, "again and " * 10_000)
    store.record(KEY, leased(store, KEY).attempt, replace(long, logs=()), START)
    ((*_, kept),) = everything(target)["result"]
    assert isinstance(kept, bytes)
    assert decompress(kept, 1 << 20) == store.replay(KEY) == long.replay
    assert len(kept) < len(long.replay) / 50


@pytest.mark.parametrize("read", [Store.replay, Store.logs])
def test_nothing_is_read_of_a_sitting_before_it_is_recorded(
    store: Store, read: Callable[[Store, SittingKey], object]
) -> None:
    create(store)
    leased(store, KEY)
    with pytest.raises(UnknownSitting, match="sitting demo-1a2b/0/0 has no result yet; it is leased"):
        read(store, KEY)
    with pytest.raises(UnknownSitting, match="there is no sitting demo-1a2b/5/0"):
        read(store, SittingKey("demo-1a2b", 5, 0))


def test_results_come_in_schedule_order_whatever_the_order_of_arrival(store: Store) -> None:
    create(store, match_count=12, sittings=2)
    keys = store.planned("demo-1a2b")
    for key in reversed(keys):
        reported = result(key, faults=(replace(CRASH, entrant=key.match % 5),))
        reported = replace(reported, results=reported.results[::-1])
        store.record(key, leased(store, key).attempt, reported, START)
    found = [(match, each.board, sitting, each.seat) for match, sitting, each in store.seat_results("demo-1a2b")]
    assert found == [(m, b, s, seat) for m in range(12) for b in (1, 2) for s in (0, 1) for seat in range(4)]
    assert [key for key, _ in store.faults("demo-1a2b")] == keys


def test_totals_of_a_board_are_sums_over_its_seatings(store: Store) -> None:
    create(store, match_count=1, sittings=2)
    for key in store.planned("demo-1a2b"):
        store.record(key, leased(store, key).attempt, result(key), START)
    seats = [seat for _, _, seat in store.seat_results("demo-1a2b")]
    totals = store.board_totals("demo-1a2b")
    where = [(total.match, total.board, total.entrant) for total in totals]
    assert where == sorted(set(where))
    assert {(board, entrant) for _, board, entrant in where} == {(seat.board, seat.entrant) for seat in seats}
    for total in totals:
        mine = [seat for seat in seats if (seat.board, seat.entrant) == (total.board, total.entrant)]
        assert total.seatings == len(mine)
        assert total.hands == sum(seat.hands for seat in mine)
        assert total.total == sum(seat.total for seat in mine)


def test_a_match_is_complete_when_all_its_sittings_are_recorded(store: Store) -> None:
    create(store, match_count=3, sittings=2)
    for key in store.planned("demo-1a2b"):
        if key.match < 2 and key != SittingKey("demo-1a2b", 1, 1):
            store.record(key, leased(store, key).attempt, result(key), START)
    assert {match for match, _, _ in store.seat_results("demo-1a2b")} == {0, 1}
    assert {total.match for total in store.board_totals("demo-1a2b")} == {0}
    assert store.progress("demo-1a2b").matches_complete == 1
    assert [store.deal_set_recorded("demo-1a2b", match) for match in range(3)] == [True, False, False]
    with pytest.raises(UnknownSitting, match="tournament demo-1a2b has no match 3"):
        store.deal_set_recorded("demo-1a2b", 3)


def test_faults_are_counted_by_entrant_and_code(store: Store) -> None:
    create(store)
    keys = store.planned("demo-1a2b")
    for key, faults in zip(keys, [(REVOKE, CRASH), (REVOKE, REVOKE), (), (replace(CRASH, entrant=2),)], strict=True):
        store.record(key, leased(store, key).attempt, result(key, faults=faults), START)
    assert store.fault_counts("demo-1a2b") == {0: {"CRASH": 1}, 2: {"CRASH": 1, "ILLEGAL_PLAY": 3}}


def test_what_happened_in_a_match_is_not_told_before_its_last_sitting(store: Store) -> None:
    create(store, match_count=1, sittings=2)
    first, last = store.planned("demo-1a2b")
    store.record(first, leased(store, first).attempt, result(first, faults=(REVOKE,)), START)
    assert (store.fault_counts("demo-1a2b"), store.faults("demo-1a2b"), store.thinking_times("demo-1a2b")) == (
        {},
        [],
        {},
    )
    progress = store.progress("demo-1a2b")
    assert (progress.recorded, progress.hands, progress.seconds, progress.faults) == (1, 0, 0.0, 0)
    store.record(last, leased(store, last).attempt, result(last), START)
    assert store.fault_counts("demo-1a2b") == {2: {"ILLEGAL_PLAY": 1}}
    assert store.faults("demo-1a2b") == [(first, REVOKE)]
    progress = store.progress("demo-1a2b")
    assert (progress.recorded, progress.hands, progress.seconds, progress.faults) == (2, 4, 3.0, 1)
    assert len(store.thinking_times("demo-1a2b")) == 4


def test_progress_says_what_is_done_and_what_is_not(store: Store) -> None:
    create(store, match_count=2, sittings=2)
    first, second, third, fourth = store.planned("demo-1a2b")
    for key in (first, second):
        store.record(key, leased(store, key).attempt, result(key, faults=(REVOKE,)), START)
    store.release(third, leased(store, third).attempt, "starved", max_attempts=1)
    leased(store, fourth)
    progress = store.progress("demo-1a2b")
    assert progress.sittings == {
        SittingState.PLANNED: 0,
        SittingState.LEASED: 1,
        SittingState.RECORDED: 2,
        SittingState.FAILED: 1,
    }
    assert (progress.total, progress.matches, progress.matches_complete) == (4, 2, 1)
    assert (progress.hands, progress.seconds, progress.faults) == (4, 3.0, 2)
    assert not progress.done
    store.retry_failed("demo-1a2b")
    store.record(third, leased(store, third).attempt, result(third), START)
    store.record(fourth, 1, result(fourth), START)
    assert store.progress("demo-1a2b").done
