"""Whole tournaments by the command line: the same standings whatever happens on the way, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arbiter.cage.orphans import end_orphans
from arbiter.store import AttemptOutcome, SittingKey, Store
from arbiter.tournament import report
from tests.e2e.support import (
    BOTS,
    SAMPLES,
    Place,
    bots_of,
    held_worker,
    interrupt,
    resume_arguments,
    standings,
    tournament_file,
    until,
)
from tests.patience import PATIENCE


def newest(place: Place) -> str:
    """The id of the tournament that was made last."""
    with Store.open(place.data / "arbiter.db") as store:
        return store.tournaments()[0].id


def recorded(place: Place, tournament: str) -> int:
    with Store.open(place.data / "arbiter.db") as store:
        return store.progress(tournament).recorded


def end(
    place: Place, process: subprocess.Popen[str], number: signal.Signals, before: Callable[[], None] = lambda: None
) -> str:
    """Interrupt a run, as `interrupt` does; returns what it wrote to stderr before it ended."""
    interrupt(place, process, number, before)
    output, errors = process.communicate(timeout=PATIENCE)
    assert output == ""
    assert "Traceback" not in errors

    def all_ended() -> bool:
        if number is signal.SIGKILL:
            end_orphans()  # as the next service does: a cage that was being made in that very instant stays asleep
        return not place.processes()

    until(all_ended, "workers, Redis, cages and bots end with the run", place.described)
    return errors


def check_in_use(place: Place, process: subprocess.Popen[str]) -> None:
    """Nobody else takes up what a run has; the run is stopped meanwhile, so that it can't come to its end first."""
    tournament = newest(place)
    process.send_signal(signal.SIGSTOP)
    second = place.run("tournament", "resume", tournament)
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith(f"error: tournament {tournament} is in use by process {process.pid}")
    assert second.stderr.count("\n") == 1


def check_page(text: str, tournament: str, data: Path) -> None:
    """What a run prints for people: standings, crosstable, commands to look further; nothing steers a terminal."""
    assert all(letter == "\n" or letter.isprintable() for letter in text)
    assert f"Standings of {tournament}" in text
    assert "Crosstable" in text
    assert all(f"bot{number} " in text for number in (1, 2, 3, 4))
    for command in (
        f"tournament standings {tournament} --data-dir {data} --json",
        f"replay show {tournament}/0/0 --board 1 --data-dir {data}",
        f"tournament list --data-dir {data}",
    ):
        assert f" {command} " in text


def test_a_worker_killed_in_mid_sitting_costs_time_and_nothing_else(
    place: Place, cup: Path, request: pytest.FixtureRequest
) -> None:
    with place.start("tournament", "run", cup, "--json") as run:
        with held_worker(place, run) as worker:
            bots = bots_of(worker)
            os.kill(worker, signal.SIGKILL)
        tournament = newest(place)
        until(lambda: not set(bots) & set(place.processes()), "its bots end with it")

        # Here, because the lease takes its time to end, and two tournaments on one database must not mind each other.
        undisturbed = request.getfixturevalue("undisturbed")

        output, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0
    started_again, *expired = errors.splitlines()
    assert "killed by SIGKILL" in started_again
    # None when the queue held the sitting twice and the worker, started again, asked for it anew.
    assert [line for line in expired if not line.endswith("its lease expired")] == []
    assert standings(output) == undisturbed
    with Store.open(place.data / "arbiter.db") as store:
        tries = [store.attempts(SittingKey(tournament, 0, number)) for number in range(4)]
    outcomes = sorted([attempt.outcome for attempt in attempts] for attempts in tries)
    assert outcomes == [[AttemptOutcome.LOST, AttemptOutcome.RECORDED], *[[AttemptOutcome.RECORDED]] * 3]
    assert place.run_folders() == []


def test_a_worker_that_is_frozen_for_a_while_costs_no_bot_its_game(
    place: Place, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """The machine of a worker may stand still, such as while it is moved: CodinGame/codingame-game-engine#78."""
    bots = [SAMPLES / "uniform", BOTS / "slow", SAMPLES / "uniform", SAMPLES / "lowest"]
    cup = tournament_file(tmp_path, bots, clock="hard_stop = 2.5\nmargin = 0")
    with place.start("tournament", "run", cup, "--json") as run:
        with held_worker(place, run):
            time.sleep(3.0)  # longer than the hard stop, shorter than a lease
        output, _ = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0
    assert standings(output) == undisturbed


def test_one_worker_and_four_come_to_the_same_last_digit(place: Place, cup: Path, undisturbed: dict[str, Any]) -> None:
    outcome = place.run("tournament", "run", cup, "--workers", "1")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    tournament = newest(place)
    with Store.open(place.data / "arbiter.db") as store:
        assert standings(json.dumps(report(store, tournament).to_dict())) == undisturbed
    until(lambda: not place.processes(), "workers, Redis, cages and bots end with the run", place.described)
    assert place.run_folders() == []
    check_page(outcome.stdout, tournament, place.data)


def test_a_run_that_is_ended_in_any_way_goes_on_where_it_was(
    place: Place, cup: Path, undisturbed: dict[str, Any]
) -> None:
    command: list[str | Path] = ["tournament", "run", cup]
    done = 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with place.start(*command) as run:
            is_kill = number is signal.SIGKILL
            errors = end(place, run, number, partial(check_in_use, place, run) if is_kill else lambda: None)
        tournament = newest(place)
        assert recorded(place, tournament) >= done
        done = recorded(place, tournament)
        if number is signal.SIGKILL:
            assert run.returncode == -signal.SIGKILL
        else:
            assert run.returncode == 130
            assert "Interrupted. Nothing that was recorded is lost; to go on:" in errors
            assert place.run_folders() == []
            command = [*resume_arguments(errors)]
            assert command == ["tournament", "resume", tournament]
    outcome = place.run(*command, "--json")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert standings(outcome.stdout) == undisturbed
    assert place.run_folders() == [], "what the killed run left is gone too"


def test_a_knockout_killed_in_its_second_stage_comes_to_the_same_plan_and_standings(
    place: Place, tmp_path: Path
) -> None:
    bots = [SAMPLES / "uniform", BOTS / "slow", SAMPLES / "uniform", SAMPLES / "lowest", SAMPLES / "uniform"]
    cup = tournament_file(tmp_path, bots, boards=1, name="knockout", kind="knockout")
    undisturbed = place.run("tournament", "run", cup, "--json")
    assert (undisturbed.returncode, undisturbed.stderr) == (0, "")
    with place.start("tournament", "run", cup) as run, Store.open(place.data / "arbiter.db") as store:
        first, before = store.tournaments()[0].id, len(store.tournaments())
        until(lambda: len(store.tournaments()) == before + 1, "the plan is written")
        second = store.tournaments()[0].id
        until(lambda: len(store.matches(second)) == 2, "the final is planned")
        end(place, run, signal.SIGKILL)
    outcome = place.run("tournament", "resume", second, "--json")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert standings(outcome.stdout) == standings(undisturbed.stdout)
    with Store.open(place.data / "arbiter.db") as store:
        assert store.matches(second) == store.matches(first)
