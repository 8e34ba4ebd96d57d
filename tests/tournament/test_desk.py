"""The desk: what workers get, and that nothing is recorded which a replay does not prove."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from arbiter.compression import compress
from arbiter.deals import derive_deal_seed
from arbiter.errors import UsageError
from arbiter.match import ReplayError, pack_replay, read_replay, unpack_replay, verify_replay, write_replay
from arbiter.store import (
    AttemptOutcome,
    BotLog,
    InvalidResult,
    LeaseRefusal,
    Progress,
    Recorded,
    SittingKey,
    SittingState,
    Store,
    TournamentState,
    UnknownSitting,
    UnknownTournament,
)
from arbiter.tournament import Desk
from arbiter.tournament import desk as desk_module
from arbiter.tournament.desk import LEASE, InvalidReport
from tests.tournament.support import (
    ID,
    SEED,
    START,
    Clock,
    Lowest,
    Revoker,
    create,
    granted,
    packed_of,
    played,
    report,
    spec_of,
)

FIRST = f"{ID}/0/0"
SECOND = f"{ID}/0/1"
KEY = SittingKey(ID, 0, 0)

Lines = list[dict[str, Any]]


def progress(store: Store) -> Progress:
    return store.progress(ID)


def test_a_lease_holds_everything_that_decides_a_sitting(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, SECOND)
    assert (grant.lease.attempt, grant.lease.worker) == (1, "w1")
    assert (grant.plan.sitting, grant.plan.seating, grant.plan.boards) == (SECOND, 1, 2)
    assert grant.plan.deal_seed == derive_deal_seed(bytes.fromhex(SEED), 0)
    assert sorted(bot.entrant for bot in grant.plan.bots) == [0, 1, 2, 3]
    assert len({bot.bot_seed for bot in grant.plan.bots}) == 4
    assert desk.live == {SittingKey(ID, 0, 1): 0}


def test_another_attempt_gets_the_very_same_plan(store: Store, desk: Desk, clock: Clock) -> None:
    """Else a lost attempt would change the cards or the bots' randomness."""
    create(store)
    first = granted(desk, FIRST)
    clock.seconds = 100
    store.expire_leases(ID, clock())
    again = granted(Desk(store, now=clock), FIRST, "w2")
    assert again.lease.attempt == 2
    assert again.plan == first.plan


def test_no_two_sittings_share_a_bot_seed(store: Store, desk: Desk) -> None:
    create(store, spec_of(5))
    plans = [granted(desk, str(key)).plan for key in store.planned(ID)]
    assert len(plans) == 20
    assert len({bot.bot_seed for plan in plans for bot in plan.bots}) == 80
    assert len({plan.deal_seed for plan in plans}) == 5


def test_a_reported_sitting_is_recorded_with_scores_from_its_replay(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    record = played(grant.plan)
    assert report(desk, grant, packed_of(record)) is Recorded.RECORDED
    results = [result for _, _, result in store.seat_results(ID)]
    assert len(results) == 8
    points = {
        (hand.board, seat): (grant.plan.bots[hand.places[seat]].entrant, hand.points[seat])
        for hand in record.hands
        for seat in range(4)
    }
    assert {(r.board, r.seat): (r.entrant, r.points) for r in results} == points
    assert store.replay(KEY) == packed_of(record)
    assert [log.log for log in store.logs(KEY)] == [f"said {bot.name}" for bot in grant.plan.bots]
    assert progress(store).recorded == 1
    assert desk.live == {}


def test_the_faults_of_a_sitting_are_recorded(store: Store, desk: Desk) -> None:
    create(store, spec_of(match={"boards": 2, "fault_limit": 0}))
    for key in store.planned(ID):
        grant = granted(desk, str(key))
        cheat = grant.plan.bots[2].entrant
        record = played(grant.plan, [Lowest(), Lowest(), Revoker(), Lowest()])
        assert report(desk, grant, packed_of(record)) is Recorded.RECORDED
    counts = store.fault_counts(ID)
    assert set(counts) == {cheat}
    assert counts[cheat]["ILLEGAL_PLAY"] >= 1


# -- reports that come more than once ----------------------------------------------------------------------------------


def test_the_same_report_again_changes_nothing(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    outcomes = [report(desk, grant) for _ in range(3)]
    assert outcomes == [Recorded.RECORDED, Recorded.REPEATED, Recorded.REPEATED]
    assert progress(store).recorded == 1
    assert len(store.seat_results(ID)) == 8


def test_one_of_many_threads_with_the_same_report_records_it(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    text = packed_of(played(grant.plan))
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: report(desk, grant, text), range(8)))
    assert sorted(outcomes) == sorted([Recorded.RECORDED, *[Recorded.REPEATED] * 7])
    assert len(store.seat_results(ID)) == 8


def test_the_first_attempt_to_report_stands_even_when_its_lease_was_lost(
    store: Store, desk: Desk, clock: Clock
) -> None:
    create(store)
    late = granted(desk, FIRST, "w1")
    clock.seconds = 100
    assert store.expire_leases(ID, clock()) == [KEY]
    current = granted(desk, FIRST, "w2")
    assert report(desk, late) is Recorded.RECORDED
    assert not desk.renew(FIRST, current.lease.attempt, 1)
    assert report(desk, current) is Recorded.SUPERSEDED
    assert [attempt.outcome for attempt in store.attempts(KEY)] == [AttemptOutcome.RECORDED, AttemptOutcome.SUPERSEDED]
    assert progress(store).recorded == 1


def test_one_attempt_with_two_contents_raises_an_alarm(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    report(desk, grant)
    other = packed_of(played(grant.plan, [Lowest(), Lowest(), Revoker(), Lowest()]))
    assert report(desk, grant, other) is Recorded.CONFLICT
    (alarm,) = store.alarms(ID)
    assert alarm.key == KEY
    assert store.fault_counts(ID) == {}


def test_a_report_after_a_pause_is_still_taken(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    store.set_state(ID, TournamentState.PAUSED, now=grant.lease.expires_at)
    assert report(desk, grant) is Recorded.RECORDED
    assert desk.lease(SECOND, "w1") is LeaseRefusal.NOT_RUNNING


# -- reports that are not true -----------------------------------------------------------------------------------------


def other_score(lines: Lines) -> None:
    lines[1]["points"][0] += 1


def other_total(lines: Lines) -> None:
    lines[1]["totals"][0] -= 1


def other_card(lines: Lines) -> None:
    first, second = lines[1]["tricks"][3], lines[1]["tricks"][4]
    first[1], second[1] = second[1], first[1]


def other_sitting(lines: Lines) -> None:
    lines[0]["sitting"] = SECOND


def other_seating(lines: Lines) -> None:
    lines[0]["seating"] = 1


def other_digest(lines: Lines) -> None:
    lines[0]["bots"][0]["digest"] = "f" * 64


def other_entrant(lines: Lines) -> None:
    lines[0]["bots"].reverse()


def other_rules(lines: Lines) -> None:
    lines[0]["rules"]["target"] = 1


def fewer_boards(lines: Lines) -> None:
    lines[0]["boards"] = lines[-1]["end"] = 1
    del lines[2]


def one_board_twice(lines: Lines) -> None:
    lines[2] = lines[1]


def a_hand_too_many(lines: Lines) -> None:
    lines.insert(2, lines[1])
    lines[-1]["end"] = 3


def fault_of_a_stranger(lines: Lines) -> None:
    lines[-1]["faults"] = [{"entrant": 99, "code": "CRASH", "detail": "x"}]


def fault_nowhere(lines: Lines) -> None:
    lines[-1]["faults"] = [{"entrant": 0, "code": "CRASH", "detail": "x", "lost": True, "trick": 10**30}]


def missed_by_nobody(lines: Lines) -> None:
    lines[1]["missed"] = [[4, 1]]


def fault_in_no_language(lines: Lines) -> None:
    lines[-1]["faults"] = [{"entrant": 0, "code": "CRASH", "detail": "\ud800", "lost": True}]


def unknown_fault(lines: Lines) -> None:
    lines[-1]["faults"] = [{"entrant": 0, "code": "BAD_LUCK", "detail": "x"}]


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (other_score, "board 1, hand 1: scored"),
        (other_total, "board 1, hand 1: totals are"),
        (other_card, "board 1, hand 1"),
        (other_sitting, "the sitting is "),
        (other_seating, "the seating is 1, but 0 was planned"),
        (other_digest, "the version of entrant 0 has digest ffff"),
        (other_entrant, "in place 0 sits entrant 3"),
        (other_rules, "rule set parameter 'target' is 1, but"),
        (fewer_boards, "the number of boards is 1, but 2 was planned"),
        (one_board_twice, "board 2 of 2 is missing"),
        (a_hand_too_many, "3 hands were announced, but 2 at the most were planned"),
        (fault_of_a_stranger, "entrant 99, who did not play"),
        (fault_nowhere, "CRASH of entrant 0 is placed in a hand"),
        (missed_by_nobody, "missed are ((4, 1),), which are not seats and decisions"),
        (fault_in_no_language, "no Unicode"),
        (unknown_fault, "BAD_LUCK"),
    ],
)
def test_a_replay_that_does_not_prove_the_sitting_is_refused_in_one_line(
    store: Store, desk: Desk, tamper: Callable[[Lines], None], message: str
) -> None:
    create(store)
    grant = granted(desk, FIRST)
    honest = packed_of(played(grant.plan))
    lines = [json.loads(line) for line in write_replay(unpack_replay(honest)).splitlines()]
    tamper(lines)
    bad = "".join(json.dumps(line) + "\n" for line in lines).encode()
    with suppress(ReplayError):
        bad = pack_replay(read_replay(bad))
    with pytest.raises(InvalidReport) as caught:
        report(desk, grant, bad)
    assert str(caught.value).startswith(f"sitting {FIRST}, attempt 1: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert progress(store).sittings[SittingState.LEASED] == 1, "nothing is recorded, and the lease is as it was"
    assert store.attempts(KEY)[0].digest is None
    assert report(desk, grant, honest) is Recorded.RECORDED


def test_a_failure_at_more_tables_than_were_to_be_open_is_refused(store: Store, desk: Desk) -> None:
    """A stand-in plays better than some bots, so nobody may be put out everywhere at once."""
    create(store, spec_of(match={"boards": 4, "open_tables": 1, "fault_limit": 0}))
    grant = granted(desk, FIRST)
    bots = [Revoker() if place == 1 else Lowest() for place in range(4)]
    at_once = packed_of(played(replace(grant.plan, open_tables=4), bots))
    with pytest.raises(InvalidReport, match="with 1 open tables it can have been 1"):
        report(desk, grant, at_once)
    assert report(desk, grant, packed_of(played(grant.plan, bots))) is Recorded.RECORDED


def test_cards_of_another_deal_seed_are_refused(store: Store, desk: Desk) -> None:
    """A whole and lawful replay, but of deals that a worker chose itself."""
    create(store)
    grant = granted(desk, FIRST)
    record = played(replace(grant.plan, deal_seed=bytes(32)))
    assert verify_replay(unpack_replay(packed_of(record)), bytes(32))
    with pytest.raises(InvalidReport, match="the cards of seat 0 are not those that the deal seed gives"):
        report(desk, grant, packed_of(record))
    assert progress(store).recorded == 0


def test_what_is_not_compressed_or_cut_off_is_refused(store: Store, desk: Desk) -> None:
    create(store)
    grant = granted(desk, FIRST)
    text = packed_of(played(grant.plan))
    for data, message in (
        (text, "no zstd data"),
        (b"", "is cut off"),
        (compress(text)[:-5], "is cut off"),
        (compress(text) + b"more", "bytes follow its end"),
        (compress(text[:-10]), "cut off"),
        (compress(b"\xff"), "not UTF-8"),
    ):
        with pytest.raises(InvalidReport, match=message):
            desk.report(FIRST, 1, data, [], 1.0)
    assert progress(store).recorded == 0


def test_a_replay_that_unpacks_to_more_than_allowed_is_refused_unpacked_no_further(
    store: Store, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(store)
    grant = granted(desk, FIRST)
    honest = packed_of(played(grant.plan))
    monkeypatch.setattr(desk_module, "MAX_REPLAY_BYTES", len(honest))
    bomb = compress(bytes(50_000_000))
    assert len(bomb) < 50_000
    with pytest.raises(InvalidReport, match=f"holds more than {len(honest)} bytes"):
        desk.report(FIRST, 1, bomb, [], 1.0)
    with pytest.raises(InvalidReport, match="holds more than"):
        desk.report(FIRST, 1, compress(honest + b"\n"), [], 1.0)
    assert report(desk, grant, honest) is Recorded.RECORDED, "as large as allowed"


@pytest.mark.parametrize("sitting", [f"{ID}/9/0", f"{ID}/0/9"])
def test_a_sitting_that_is_not_planned_is_refused(store: Store, desk: Desk, sitting: str) -> None:
    create(store)
    assert desk.lease(sitting, "w1") is LeaseRefusal.UNKNOWN
    assert not desk.renew(sitting, 1, 0)
    with pytest.raises(UnknownSitting):
        desk.report(sitting, 1, b"", [], 1.0)
    with pytest.raises(UnknownSitting):
        desk.release(sitting, 1, "no")


@pytest.mark.parametrize("sitting", ["", "cup", f"{ID}/0", f"{ID}/-1/0", f"{ID}/0/0/0", f"{ID}/0/0\n", f"{ID}/ 0/0"])
def test_nonsense_for_an_id_is_refused(store: Store, desk: Desk, sitting: str) -> None:
    create(store)
    with pytest.raises(UsageError, match="does not name a sitting"):
        desk.lease(sitting, "w1")


def test_an_unknown_tournament_or_attempt_is_refused(store: Store, desk: Desk) -> None:
    create(store)
    with pytest.raises(UnknownTournament):
        desk.report("other-0000/0/0", 1, b"", [], 1.0)
    grant = granted(desk, FIRST)
    with pytest.raises(UnknownSitting, match="no attempt 2"):
        desk.report(FIRST, 2, compress(packed_of(played(grant.plan))), [], 1.0)
    assert progress(store).recorded == 0


# -- leases ------------------------------------------------------------------------------------------------------------


def test_only_who_sits_there_can_be_starved(store: Store, desk: Desk) -> None:
    create(store, spec_of(5))
    grant = granted(desk, FIRST)
    stranger = next(entrant for entrant in range(5) if entrant not in {bot.entrant for bot in grant.plan.bots})
    with pytest.raises(InvalidReport, match=f"sitting {FIRST}: entrant {stranger} does not sit there"):
        desk.release(FIRST, 1, "starved", stranger)
    assert store.leases(ID)
    assert desk.release(FIRST, 1, "starved", grant.plan.bots[2].entrant) is SittingState.PLANNED
    assert store.voids(ID) == {grant.plan.bots[2].entrant: 1}


def test_hands_are_counted_while_the_lease_is_held_and_not_after(store: Store, desk: Desk, clock: Clock) -> None:
    create(store)
    changes: list[None] = []
    desk.changed = lambda: changes.append(None)
    grant = granted(desk, FIRST)
    assert desk.renew(FIRST, 1, 7)
    assert desk.live == {KEY: 7}
    clock.seconds = 100
    assert desk.live == {}, "nobody has renewed it"
    assert store.expire_leases(ID, clock()) == [KEY]
    desk.forget(KEY)
    assert not desk.renew(FIRST, 1, 8)
    assert desk.live == {}
    assert len(changes) == 1
    granted(desk, FIRST, "w2")
    assert desk.renew(FIRST, 2, 3)
    assert not desk.renew(FIRST, 1, 9), "the first worker, late"
    assert desk.live == {KEY: 3}
    assert len(changes) == 2
    report(desk, grant)
    assert len(changes) == 3, "the coordinator is told"


def test_a_report_that_is_refused_is_an_alarm_and_the_sitting_goes_on(store: Store, desk: Desk) -> None:
    """fishtest#963."""
    create(store)
    grant = granted(desk, FIRST)
    text = packed_of(played(grant.plan))
    with pytest.raises(InvalidReport):
        report(desk, grant, text[: len(text) // 2])
    with pytest.raises(InvalidResult, match="names entrants"):
        desk.report(FIRST, 1, compress(text), [BotLog(9, "", "")], 1.0)
    (alarm,) = store.alarms(ID)
    assert (alarm.key, alarm.attempt, alarm.first_digest) == (KEY, 1, "")
    assert alarm.reason.startswith(f"sitting {FIRST}, attempt 1: ")
    assert store.holds(KEY, 1)
    assert report(desk, grant, text) is Recorded.RECORDED


def test_a_lease_is_renewed_once_a_fifth_of_it_is_over_and_otherwise_only_looked_at(
    store: Store, desk: Desk, clock: Clock
) -> None:
    create(store)
    granted(desk, FIRST)
    ends = []
    for clock.seconds in (0.5, 1.0, 2.4, 2.5, 3.0, 4.5):
        assert desk.renew(FIRST, 1, 1)
        (lease,) = store.leases(ID)
        ends.append((lease.expires_at - START - LEASE).total_seconds())
    assert ends == [0, 0, 2.4, 2.4, 2.4, 4.5]


@pytest.mark.parametrize("state", [TournamentState.PAUSED, TournamentState.CANCELLED])
def test_a_worker_hears_at_its_next_question_that_its_tournament_is_not_played_any_more(
    store: Store, desk: Desk, clock: Clock, state: TournamentState
) -> None:
    """fastchess#343."""
    create(store)
    grant = granted(desk, FIRST)
    assert desk.renew(FIRST, 1, 1)
    store.set_state(ID, state, now=clock())
    assert not desk.renew(FIRST, 1, 2)
    assert desk.live == {}
    assert report(desk, grant) is Recorded.RECORDED, "a worker that was just done has not worked for nothing"


def test_a_renewal_that_crosses_a_report_brings_no_hands_back(store: Store, desk: Desk) -> None:
    create(store, spec_of(boards=1))
    for key in store.planned(ID):
        grant = granted(desk, str(key))
        text = packed_of(played(grant.plan))
        with ThreadPoolExecutor(4) as pool:
            renewals = [pool.submit(desk.renew, str(key), 1, 1) for _ in range(10)]
            pool.submit(report, desk, grant, text).result()
            for renewal in renewals:
                renewal.result()
        assert desk.live == {}


def test_a_sitting_given_back_can_be_leased_again_and_keeps_the_reason(store: Store, desk: Desk) -> None:
    create(store)
    granted(desk, FIRST)
    assert desk.release(FIRST, 1, "no bubblewrap") is SittingState.PLANNED
    assert desk.live == {}
    assert granted(desk, FIRST, "w2").lease.attempt == 2
    assert store.attempts(KEY)[0].note == "no bubblewrap"
