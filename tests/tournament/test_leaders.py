"""Several coordinators of one tournament, processes that are killed and stopped: one leads, and no other writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import select, text

from arbiter.store import Recorded, SittingKey, Store, StoreUnavailable, TournamentState, database
from arbiter.store.database import Database
from arbiter.store.tables import LeadershipRow, SittingRow, TournamentRow
from arbiter.tournament import Desk, Grant
from tests.patience import PATIENCE
from tests.tournament.leaders import LEAD, MATTER
from tests.tournament.stages import play_on
from tests.tournament.support import ID, create, report, spec_of

FORMAT = spec_of(5, boards=1, format="knockout")


def results_in(store: Store) -> list[object]:
    """All that is planned and all that was scored."""
    return [*store.matches(ID), *store.seat_results(ID)]


@dataclass(frozen=True)
class Undisturbed:
    """The same tournament with nobody else about: its results, and the replay of each sitting."""

    results: list[object]
    replays: dict[str, bytes]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    with Store.open(tmp_path_factory.mktemp("undisturbed") / "arbiter.db") as store:
        create(store, FORMAT)
        play_on(store)
        keys = {SittingKey(ID, match, sitting) for match, sitting, _ in store.seat_results(ID)}
        return Undisturbed(results_in(store), {str(key): store.replay(key) for key in keys})


@dataclass
class Scene:
    """A tournament, its coordinators, and what they have done."""

    target: str
    store: Store
    sent: Path
    clock: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    _read: int = 0

    def start(self, name: str) -> None:
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "tests.tournament.leaders", self.target, name, str(self.sent), str(self.clock)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def leader(self) -> tuple[str, int]:
        """Who leads, and in which term; nobody in term 0."""
        watching = Database(self.target)
        with watching.read() as session:
            row = session.get(LeadershipRow, MATTER)
            found = (row.holder, row.term) if row else ("", 0)
        watching.close()
        return found

    def next_leader(self, than: int) -> tuple[str, int]:
        """Wait for a term after this one, in which its leader has written something."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.leader())[1] <= than or found not in self.probes():
            assert time.monotonic() < deadline, "nobody takes the lead"
            time.sleep(0.02)
        return found

    def let_leads_expire(self) -> None:
        """Move the clock on, at once for all who read it."""
        moved = self.clock.with_suffix(".moved")
        moved.write_text(str(float(self.clock.read_text()) + 2 * LEAD.total_seconds()))
        moved.rename(self.clock)

    def probes(self) -> list[tuple[str, int]]:
        """(name, term) of all that was written beside the work, in order."""
        looking = Database(self.target)
        with looking.read() as session:
            rows = session.execute(text("SELECT name, term FROM probe ORDER BY id")).all()
        looking.close()
        return [(name, term) for name, term in rows]

    def lines(self) -> list[tuple[int, str, str]]:
        """(term, name, sitting) of all that was sent."""
        return [(int(term), name, key) for term, name, key in map(str.split, self.sent.read_text().splitlines())]

    def play(self, undisturbed: Undisturbed, *, until: int) -> None:
        """Be the workers: report what is sent until so many sittings are recorded, or the tournament is over."""
        desk, deadline = Desk(self.store), time.monotonic() + PATIENCE
        while self.store.progress(ID).recorded < until:
            assert time.monotonic() < deadline, "nothing is sent any more"
            for _, _, sitting in self.lines()[self._read :]:
                self._read += 1
                grant = desk.lease(sitting, "w1")
                if isinstance(grant, Grant):
                    assert report(desk, grant, undisturbed.replays[sitting]) is Recorded.RECORDED
                if self.store.progress(ID).recorded >= until:
                    return  # at once, or the tournament might be over before anybody can take it over
            if self.store.tournament(ID).state is TournamentState.COMPLETED:
                return
            time.sleep(0.02)

    def stop(self, name: str) -> None:
        """Stop a process, but not in the middle of a transaction, whose locks would hold up everybody here."""
        process = self.processes[name]
        while True:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(database, "BUSY_TIMEOUT_SECONDS", 1.0)
                watching = Database(self.target)
            try:
                with watching.write() as session:
                    for row in (LeadershipRow, TournamentRow, SittingRow):
                        session.execute(select(row).with_for_update(nowait=True)).all()
            except StoreUnavailable:
                process.send_signal(signal.SIGCONT)
            else:
                return
            finally:
                watching.close()


@pytest.fixture
def scene(target: str, tmp_path: Path) -> Iterator[Scene]:
    sent, clock = tmp_path / "sent", tmp_path / "clock"
    sent.touch()
    clock.write_text("0.0")
    with Store.open(target) as store:
        create(store, FORMAT)
        schema = Database(target)
        number = "INTEGER PRIMARY KEY AUTOINCREMENT" if schema.is_sqlite else "SERIAL PRIMARY KEY"
        with schema.connection(writes=True) as connection:
            connection.execute(text(f"CREATE TABLE probe (id {number}, name TEXT NOT NULL, term INTEGER NOT NULL)"))
        found = Scene(target, store, sent, clock)
        try:
            yield found
        finally:
            for process in found.processes.values():
                process.kill()
                with process:
                    pass
            with schema.connection(writes=True) as connection:
                connection.execute(text("DROP TABLE probe"))
            schema.close()


@pytest.mark.timeout(900)
def test_one_coordinator_leads_and_what_the_others_write_is_refused(scene: Scene, undisturbed: Undisturbed) -> None:
    """fastchess#842: the schedule is completed whatever becomes of a process."""
    for number in range(3):
        scene.start(f"c{number}")
    first, first_term = scene.next_leader(0)
    scene.play(undisturbed, until=2)
    assert scene.leader() == (first, first_term), "nobody takes over while the leader is there"

    scene.stop(first)
    scene.let_leads_expire()
    second, second_term = scene.next_leader(first_term)
    scene.play(undisturbed, until=5)
    sent = len(scene.lines())
    scene.processes[first].send_signal(signal.SIGCONT)

    scene.processes[second].kill()
    scene.let_leads_expire()
    third, third_term = scene.next_leader(second_term)
    scene.play(undisturbed, until=10_000)

    assert scene.store.tournament(ID).state is TournamentState.COMPLETED
    for name, process in scene.processes.items():
        if name != second:
            assert (process.communicate(timeout=PATIENCE)[0], process.returncode) == ("completed\n", 0)
    assert len({first, second}) == len({second, third}) == 2
    by_first = {term for term, name, _ in scene.lines()[sent:] if name == first}
    assert first_term not in by_first, "who was stopped sends nothing of its old term"
    _check_probe(scene, {first_term: first, second_term: second, third_term: third})
    keys = {SittingKey(ID, match, sitting) for match, sitting, _ in scene.store.seat_results(ID)}
    assert all(len(scene.store.attempts(key)) == 1 for key in keys)
    assert results_in(scene.store) == undisturbed.results


def _check_probe(scene: Scene, leaders: dict[int, str]) -> None:
    """In the order in which rows were written, terms only go up, and each has one leader."""
    rows = scene.probes()
    terms = [term for _, term in rows]
    assert terms == sorted(terms)
    found = {(term, name) for name, term in rows}
    assert len(found) == len(set(terms))
    assert found >= set(leaders.items())
