"""Tournaments: what is planned, how it is found, and its life cycle."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta, timezone

import pytest
from sqlalchemy import text

from arbiter.errors import UsageError
from arbiter.store import (
    FINISHED,
    TRANSITIONS,
    Entrant,
    InvalidPlan,
    Match,
    SittingKey,
    SittingState,
    Store,
    Tournament,
    TournamentState,
    TransitionRefused,
    UnknownTournament,
)
from arbiter.store.database import Database
from tests.postgres import Postgres
from tests.store.support import START, after, create, entrants, leased, matches, result, tournament

WAYS: dict[TournamentState, tuple[TournamentState, ...]] = {
    TournamentState.DRAFT: (),
    TournamentState.SCHEDULED: (TournamentState.SCHEDULED,),
    TournamentState.RUNNING: (TournamentState.SCHEDULED, TournamentState.RUNNING),
    TournamentState.PAUSED: (TournamentState.SCHEDULED, TournamentState.RUNNING, TournamentState.PAUSED),
    TournamentState.COMPLETED: (TournamentState.SCHEDULED, TournamentState.RUNNING, TournamentState.COMPLETED),
    TournamentState.CANCELLED: (TournamentState.CANCELLED,),
    TournamentState.FAILED: (TournamentState.FAILED,),
}
"""How a draft gets into each state."""


def bring_to(store: Store, state: TournamentState) -> str:
    store.create_tournament(tournament(state=TournamentState.DRAFT), entrants(), matches(), 1)
    for step in WAYS[state]:
        move(store, step, 1)
    return "demo-1a2b"


def move(store: Store, state: TournamentState, seconds: float) -> Tournament:
    failure = "no Redis" if state is TournamentState.FAILED else None
    return store.set_state("demo-1a2b", state, now=after(seconds), failure=failure)


def test_a_plan_comes_back_as_it_went_in(store: Store) -> None:
    store.create_tournament(tournament(), entrants(), matches(3), 2)
    assert store.tournament("demo-1a2b") == tournament()
    assert store.entrants("demo-1a2b") == entrants()
    assert store.matches("demo-1a2b") == matches(3)


def test_a_servers_planner_of_questions_knows_of_a_large_plan_at_once(postgres: Postgres) -> None:
    """By itself it would learn of it within a minute or more, and look at each of its sittings once for each match."""
    url = postgres.new()
    with Store.open(url) as store:
        create(store, match_count=100, sittings=3)
    database = Database(url)
    with database.read() as session:
        counted = session.execute(text("SELECT relname, reltuples FROM pg_class WHERE relname IN ('match', 'sitting')"))
        assert dict(iter(counted)) == {"match": 100, "sitting": 300}
    database.close()
    postgres.drop(url)


def test_all_sittings_of_a_new_plan_are_planned_in_schedule_order(store: Store) -> None:
    create(store, match_count=12, sittings=3)
    assert store.planned("demo-1a2b") == [SittingKey("demo-1a2b", m, s) for m in range(12) for s in range(3)]


def test_planned_sittings_can_be_asked_for_a_few_at_a_time(store: Store) -> None:
    create(store, match_count=12, sittings=3)
    leased(store, SittingKey("demo-1a2b", 0, 0))
    assert [str(key) for key in store.planned("demo-1a2b", 3)] == ["demo-1a2b/0/1", "demo-1a2b/0/2", "demo-1a2b/1/0"]


def test_a_draft_may_be_empty(store: Store) -> None:
    store.create_tournament(tournament(state=TournamentState.DRAFT), [], [], 1)
    assert store.planned("demo-1a2b") == []
    assert store.progress("demo-1a2b").total == 0


def test_times_come_back_in_utc_whatever_zone_they_came_in(store: Store) -> None:
    abroad = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    store.create_tournament(tournament(created_at=abroad), entrants(), matches(), 1)
    found = store.tournament("demo-1a2b").created_at
    assert found == START
    assert found.utcoffset() == timedelta(0)


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    key = SittingKey(create(store), 0, 0)
    lease = leased(store, key)
    naive = START.replace(tzinfo=None)
    term = after(1) - START
    for call in (
        lambda: store.create_tournament(tournament("other", created_at=naive), entrants(), matches(), 1),
        lambda: store.set_state("demo-1a2b", TournamentState.PAUSED, now=naive),
        lambda: store.lease(key, "w2", naive, term),
        lambda: store.renew(key, lease.attempt, naive, term),
        lambda: store.expire_leases("demo-1a2b", naive),
        lambda: store.record(key, lease.attempt, result(key), naive),
    ):
        with pytest.raises(UsageError, match="has no timezone"):
            call()


@pytest.mark.parametrize("name", ["", "a/b", "a b", "-a", "a" * 65, "ä", "a\n"])
def test_an_id_that_would_not_survive_in_an_address_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InvalidPlan, match="an id begins with a letter or digit"):
        store.create_tournament(tournament(name), entrants(), matches(), 1)


def test_an_id_is_given_once(store: Store) -> None:
    create(store)
    with pytest.raises(InvalidPlan, match="there is a tournament 'demo-1a2b' already; choose another id"):
        create(store)


SECOND = replace(entrants()[0], index=1)
MATCH = matches()[0]


@pytest.mark.parametrize(
    ("planned", "bots", "schedule", "sittings", "why"),
    [
        (tournament(), entrants(), matches(), 0, "0 sittings in each match; there must be one at least"),
        (tournament(), [SECOND], [], 1, "entrant 'Bot 0' has index 1; it stands at 0"),
        (tournament(), entrants(), [matches()[1]], 1, "a match has index 1; it stands at 0"),
        (tournament(), entrants(2), [MATCH], 1, r"match 0 has entrants \[0, 1, 2, 3\]; choose from 0 to 1"),
        (tournament(), entrants(), [replace(MATCH, entrants=())], 1, r"match 0 has entrants \[\]"),
        (tournament(), entrants(), [replace(MATCH, boards=0)], 1, "match 0 has 0 boards"),
        (tournament(state=TournamentState.COMPLETED), entrants(), [], 1, "a new tournament can't be finished"),
        (replace(tournament(), failure="early"), entrants(), [], 1, "a new tournament can't be finished"),
        (replace(tournament(), spec={"at": START}), entrants(), [], 1, "its spec is not JSON: Object of type datetime"),
        (replace(tournament(), spec={"x": float("nan")}), entrants(), [], 1, "its spec is not JSON"),
        (
            replace(tournament(), spec={"x": (1, 2)}),
            entrants(),
            [],
            1,
            "its spec changes as JSON; use lists for tuples",
        ),
        (tournament(), [replace(entrants()[0], manifest={"x": b""})], [], 1, "the manifest of entrant 'Bot 0' is not"),
    ],
)
def test_a_plan_that_does_not_fit_together_is_refused_whole(
    store: Store, planned: Tournament, bots: list[Entrant], schedule: list[Match], sittings: int, why: str
) -> None:
    with pytest.raises(InvalidPlan, match=f"tournament 'demo-1a2b': .*{why}"):
        store.create_tournament(planned, bots, schedule, sittings)
    assert store.tournaments() == []


def test_a_running_plan_grows_at_its_end_and_once(store: Store) -> None:
    create(store, match_count=2, sittings=3)
    before = store.matches("demo-1a2b")
    following = matches(4)[2:]
    assert store.extend_tournament("demo-1a2b", following, 3)
    assert store.matches("demo-1a2b") == before + following
    assert store.planned("demo-1a2b") == [SittingKey("demo-1a2b", m, s) for m in range(4) for s in range(3)]
    assert not store.extend_tournament("demo-1a2b", following, 3), "they are there already"
    assert len(store.matches("demo-1a2b")) == 4


@pytest.mark.parametrize(
    ("following", "sittings", "why"),
    [
        (matches(4)[3:], 1, "a match has index 3; it stands at 2"),
        ([matches(3)[2], matches(3)[2]], 1, "a match has index 2; it stands at 3"),
        ([replace(matches(3)[2], entrants=(0, 9))], 1, r"match 2 has entrants \[0, 9\]; choose from 0 to 4"),
        (matches(3)[2:], 0, "0 sittings in each match"),
    ],
)
def test_what_does_not_continue_a_plan_is_refused(
    store: Store, following: list[Match], sittings: int, why: str
) -> None:
    create(store, match_count=2)
    with pytest.raises(InvalidPlan, match=f"tournament 'demo-1a2b': {why}"):
        store.extend_tournament("demo-1a2b", following, sittings)
    assert len(store.matches("demo-1a2b")) == 2


@pytest.mark.parametrize("state", [state for state in TournamentState if state is not TournamentState.RUNNING])
def test_only_a_running_plan_grows(store: Store, state: TournamentState) -> None:
    bring_to(store, state)
    before = store.matches("demo-1a2b")
    assert not store.extend_tournament("demo-1a2b", matches(len(before) + 1)[len(before) :], 1)
    assert store.matches("demo-1a2b") == before


def test_tournaments_are_listed_newest_first(store: Store) -> None:
    for name, seconds in (("b", 2), ("a", 3), ("c", 1)):
        store.create_tournament(tournament(name, created_at=after(seconds)), [], [], 1)
    assert [each.id for each in store.tournaments()] == ["a", "b", "c"]


def test_a_tournament_is_found_by_a_prefix_of_its_id_alone(store: Store) -> None:
    for name in ("demo-1a2b", "demo-1a", "cup_1", "cup-2"):
        store.create_tournament(tournament(name), [], [], 1)
    assert store.find_tournament("demo-1a2").id == "demo-1a2b"
    assert store.find_tournament("demo-1a").id == "demo-1a", "a whole id is never ambiguous"
    assert store.find_tournament("cup_").id == "cup_1", "no character is a wildcard"
    with pytest.raises(
        UnknownTournament, match=r"several tournaments' ids begin with 'demo'; there is demo-1a, demo-1a2b$"
    ):
        store.find_tournament("demo")
    with pytest.raises(
        UnknownTournament, match="no tournament's id begins with 'DEMO'; there is cup-2, cup_1, demo-1a"
    ):
        store.find_tournament("DEMO")


def test_an_error_names_ten_ids_at_most(store: Store) -> None:
    with pytest.raises(UnknownTournament, match="there are none yet"):
        store.find_tournament("")
    for number in range(12):
        store.create_tournament(tournament(f"t{number:02}"), [], [], 1)
    with pytest.raises(UnknownTournament, match=r"t00, .*, t09 and 2 more$"):
        store.find_tournament("t")


def test_every_method_refuses_an_unknown_tournament(store: Store) -> None:
    create(store, "known")
    for call in (
        store.tournament,
        store.entrants,
        store.matches,
        store.retry_failed,
        store.planned,
        store.leases,
        store.progress,
        store.seat_results,
        store.board_totals,
        store.fault_counts,
        store.faults,
        store.alarms,
        lambda name: store.expire_leases(name, START),
        lambda name: store.extend_tournament(name, matches(), 1),
        lambda name: store.set_state(name, TournamentState.RUNNING, now=START),
    ):
        with pytest.raises(UnknownTournament, match="there is no tournament 'unknown'; there is known"):
            call("unknown")


@pytest.mark.parametrize(("before", "wanted"), list(itertools.product(TournamentState, TournamentState)))
def test_a_state_follows_another_only_where_the_life_cycle_says_so(
    store: Store, before: TournamentState, wanted: TournamentState
) -> None:
    bring_to(store, before)
    known = store.tournament("demo-1a2b")
    assert known.state is before
    if wanted in TRANSITIONS[before]:
        changed = move(store, wanted, 2)
        assert changed.state is wanted
        assert changed.finished_at == (after(2) if wanted in FINISHED else None)
        assert changed.failure == ("no Redis" if wanted is TournamentState.FAILED else None)
        assert store.tournament("demo-1a2b") == changed
    else:
        with pytest.raises(TransitionRefused, match=f"'demo-1a2b' can't go from {before} to {wanted}; after {before}"):
            move(store, wanted, 2)
        assert store.tournament("demo-1a2b") == known


@pytest.mark.parametrize(("state", "failure"), [(TournamentState.FAILED, None), (TournamentState.PAUSED, "why")])
def test_a_failure_goes_with_the_failed_state_alone(store: Store, state: TournamentState, failure: str | None) -> None:
    create(store)
    with pytest.raises(TransitionRefused, match=f"from running to {state} with.* a failure; give one exactly for"):
        store.set_state("demo-1a2b", state, now=START, failure=failure)


def test_tournaments_do_not_mix(store: Store) -> None:
    create(store, "one")
    create(store, "two", match_count=1)
    key = SittingKey("one", 0, 0)
    store.record(key, leased(store, key).attempt, result(key), START)
    leased(store, SittingKey("two", 0, 0))
    assert len(store.matches("two")) == 1
    assert store.progress("two").sittings[SittingState.RECORDED] == 0
    assert store.progress("one").sittings[SittingState.LEASED] == 0
    assert store.seat_results("two") == []
    assert store.expire_leases("one", after(1000)) == []


def test_entrants_come_and_go_while_a_tournament_runs(store: Store) -> None:
    tid = create(store, match_count=2)
    count = len(store.entrants(tid))
    newcomer = Entrant(99, "mine@1", "5" * 64, {"owner": "ada"})
    came = store.enter(tid, newcomer)
    assert came == replace(newcomer, index=count, joined=2, gone=None)
    assert store.enter(tid, newcomer) == came, "once more is no change"
    assert store.entrants(tid)[-1] == came
    assert store.extend_tournament(tid, [replace(matches(3)[2], entrants=(0, 1, 2, count))], 1)
    second = store.enter(tid, Entrant(0, "mine@2", "6" * 64, {}), leaving=[count, 0])
    assert (second.index, second.joined) == (count + 1, 3)
    assert [entrant.gone for entrant in store.entrants(tid)] == [3, *[None] * (count - 1), 3, None]
    back = store.enter(tid, newcomer, leaving=[count, count + 1])
    assert (back.index, back.joined, back.gone) == (count, 3, None), "whoever comes does not leave"
    assert store.entrants(tid)[-1].gone == 3
    store.leave(tid, count)
    store.leave(tid, count)
    assert store.entrants(tid)[count].gone == 3


def test_an_entrant_keeps_its_files(store: Store) -> None:
    tid = create(store)
    store.enter(tid, Entrant(0, "mine@1", "5" * 64, {}))
    with pytest.raises(InvalidPlan, match="'mine@1' is there with other files; give it another name"):
        store.enter(tid, Entrant(0, "mine@1", "6" * 64, {}))
    with pytest.raises(InvalidPlan, match="has no entrant 99"):
        store.leave(tid, 99)
    with pytest.raises(InvalidPlan, match="is not JSON"):
        store.enter(tid, Entrant(0, "mine@2", "6" * 64, {"a": float("nan")}))
    for call in (lambda: store.leave("nothing", 0), lambda: store.enter("nothing", Entrant(0, "x", "5" * 64, {}))):
        with pytest.raises(UnknownTournament):
            call()


def test_matches_are_complete_when_their_last_sitting_is_recorded(store: Store) -> None:
    tid = create(store, match_count=3, sittings=2)
    keys = store.planned(tid)
    for seconds, key in enumerate((keys[3], keys[0], keys[2])):
        store.record(key, leased(store, key).attempt, result(key), after(seconds))
    assert store.match_progress(tid) == {0: (1, 2), 1: (2, 2), 2: (0, 2)}
    assert store.match_progress(tid, first_match=1) == {1: (2, 2), 2: (0, 2)}
    assert store.match_times(tid) == {1: after(2)}
