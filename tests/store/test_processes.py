"""Several threads and processes at one database, and processes that die while they write."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from arbiter.store import (
    AttemptOutcome,
    Lease,
    LeaseRefusal,
    Recorded,
    SittingKey,
    SittingState,
    Store,
    TournamentState,
    TransitionRefused,
)
from tests.store.support import START, TERM, after, create, leased, result
from tests.store.writers import BIG, big_result

ROOT = Path(__file__).parents[2]
KEY = SittingKey("demo-1a2b", 0, 0)
THREADS = 8


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts jobs of `tests.store.writers`; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def run(job: str, *arguments: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.store.writers", job, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        with process:
            pass


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_racing_processes_exactly_one_gets_and_records_each_sitting(target: str, start: Start) -> None:
    with Store.open(target) as store:
        create(store, match_count=6, sittings=2)
        keys = store.planned("demo-1a2b")
        racers = [start("race", target, f"w{number}") for number in range(3)]
        assert [hear(racer) for racer in racers] == ["ready"] * 3
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        got = [line for racer in racers for line in racer.communicate()[0].splitlines()]
        assert [racer.returncode for racer in racers] == [0, 0, 0]
        assert sorted(got) == sorted(f"{key} recorded" for key in keys)
        assert all(len(store.attempts(key)) == 1 for key in keys)
        assert store.progress("demo-1a2b").done


def test_of_racing_threads_exactly_one_gets_each_sitting(store: Store) -> None:
    create(store, match_count=5, sittings=2)
    keys = store.planned("demo-1a2b")
    together = Barrier(THREADS)

    def ask(number: int) -> list[Lease | LeaseRefusal]:
        together.wait()
        return [store.lease(key, f"w{number}", START, TERM) for key in keys]

    with ThreadPoolExecutor(THREADS) as pool:
        answers = [answer for answers in pool.map(ask, range(THREADS)) for answer in answers]
    assert sorted(answer.key for answer in answers if isinstance(answer, Lease)) == keys
    assert answers.count(LeaseRefusal.LEASED) == len(keys) * (THREADS - 1)


def test_one_report_from_many_threads_is_recorded_once(store: Store) -> None:
    create(store)
    leased(store, KEY)
    together = Barrier(THREADS)

    def report(_: int) -> Recorded:
        together.wait()
        return store.record(KEY, 1, result(KEY), after(1))

    with ThreadPoolExecutor(THREADS) as pool:
        assert Counter(pool.map(report, range(THREADS))) == {Recorded.RECORDED: 1, Recorded.REPEATED: THREADS - 1}
    assert len(store.seat_results("demo-1a2b")) == len(result(KEY).results)


def test_of_many_attempts_reported_at_once_one_stands(store: Store) -> None:
    create(store)
    for _ in range(THREADS):
        store.lease(KEY, "w1", START, TERM)
    together = Barrier(THREADS)

    def report(attempt: int) -> Recorded:
        together.wait()
        return store.record(KEY, attempt, result(KEY, f"by {attempt}"), after(1))

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(report, range(1, THREADS + 1)))
    assert Counter(answers) == {Recorded.RECORDED: 1, Recorded.SUPERSEDED: THREADS - 1}
    standing = answers.index(Recorded.RECORDED) + 1
    assert store.replay(KEY) == result(KEY, f"by {standing}").replay
    assert [each.number for each in store.attempts(KEY) if each.outcome is AttemptOutcome.RECORDED] == [standing]
    assert all((each.number == standing) == each.agrees for each in store.attempts(KEY))


def test_of_many_that_start_a_tournament_one_does(store: Store) -> None:
    create(store, running=False)
    together = Barrier(THREADS)

    def run(_: int) -> bool:
        together.wait()
        try:
            store.set_state("demo-1a2b", TournamentState.RUNNING, now=START)
        except TransitionRefused:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(run, range(THREADS))) == 1


def test_what_is_leased_while_a_tournament_is_paused_is_taken_back_or_refused(store: Store) -> None:
    create(store, match_count=6, sittings=2)
    keys = store.planned("demo-1a2b")
    together = Barrier(THREADS)

    def ask(number: int) -> list[Lease | LeaseRefusal]:
        together.wait()
        return [store.lease(key, f"w{number}", START, TERM) for key in keys]

    def pause_and_resume() -> None:
        together.wait()
        for state in (TournamentState.PAUSED, TournamentState.RUNNING) * 5 + (TournamentState.PAUSED,):
            store.set_state("demo-1a2b", state, now=START)
            if state is TournamentState.PAUSED:
                assert store.leases("demo-1a2b") == []

    with ThreadPoolExecutor(THREADS) as pool:
        answers = [pool.submit(ask, number) for number in range(THREADS - 1)]
        pool.submit(pause_and_resume).result()
        leases = [lease for answer in answers for lease in answer.result() if isinstance(lease, Lease)]
    assert store.leases("demo-1a2b") == []
    assert store.planned("demo-1a2b") == keys
    made = [(lease.key, lease.attempt) for lease in leases]
    assert sorted(made) == [(key, each.number) for key in keys for each in store.attempts(key)]
    assert {each.outcome for key in keys for each in store.attempts(key)} <= {AttemptOutcome.RECALLED}


@pytest.mark.parametrize("job", ["stop-in-the-middle", "stop-after"])
def test_a_writer_killed_in_mid_transaction_leaves_nothing_and_after_it_everything(
    target: str, start: Start, job: str
) -> None:
    with Store.open(target) as store:
        create(store)
        leased(store, KEY)
    writer = start(job, target)
    assert hear(writer) == "recorded"
    path = Path(target)
    is_sqlite = "://" not in target
    if is_sqlite:
        assert path.with_name("arbiter.db-wal").stat().st_size > BIG / 2, "most of the result must be on the disk"
    writer.kill()
    writer.wait()

    with Store.open(target) as store:
        if job == "stop-after":
            assert store.replay(KEY) == big_result(KEY).replay
            assert store.record(KEY, 1, big_result(KEY), after(2)) is Recorded.REPEATED
        else:
            assert store.leases("demo-1a2b") == [Lease(KEY, 1, "w1", START + TERM)]
            assert store.attempts(KEY)[0].outcome is AttemptOutcome.RUNNING
            assert store.seat_results("demo-1a2b") == []
            assert store.record(KEY, 1, big_result(KEY), after(2)) is Recorded.RECORDED
        assert store.progress("demo-1a2b").sittings[SittingState.RECORDED] == 1
        assert len(store.seat_results("demo-1a2b")) == len(big_result(KEY).results)
    if is_sqlite:
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


def test_a_database_has_one_id_however_many_ask_first(store: Store, target: str) -> None:
    together = Barrier(8)

    def ask(_: int) -> str:
        with Store.open(target) as another:
            together.wait()
            return another.identity()

    with ThreadPoolExecutor(8) as pool:
        (identity,) = set(pool.map(ask, range(8)))
    assert re.fullmatch("[0-9a-f]{32}", identity)
    assert store.identity() == identity
