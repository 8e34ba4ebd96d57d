"""Gates by the command line on one machine: real processes and exit statuses."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.e2e.gates import LEADS_THE_QUEEN, copy_of
from tests.e2e.support import BOTS, SEED, Place, interrupt, resume_arguments, until
from tests.patience import PATIENCE

SIZE = ("--seatings", "1", "--block-boards", "48", "--max-boards", "288", "--delta1", "2")
"""One drawn seating per board takes two sittings a block, so that few processes are started."""

FEW = ("--seatings", "1", "--block-boards", "2", "--max-boards", "2", "--workers", "1")
FIELD = ("--opponents", "careful", "--deal-seed", SEED)


@pytest.fixture(scope="module")
def sound(place: Place) -> Path:
    return copy_of("careful", place.data, "sound")


@pytest.fixture(scope="module")
def broken(place: Place) -> Path:
    return copy_of("careful", place.data, "broken", bug=LEADS_THE_QUEEN)


def parsed(text: str) -> dict[str, Any]:
    """A report without the gate's random id."""
    found: dict[str, Any] = json.loads(text)
    del found["gate"]
    return found


def mirrored(report: dict[str, Any]) -> dict[str, Any]:
    """What a report says of the bots, with the candidate and the baseline exchanged."""
    return {
        "blocks": report["blocks"],
        "boards": report["boards"],
        "hands": report["hands"],
        "improvement": -report["improvement"],
        "interval_95": [-end for end in reversed(report["interval_95"])],
        "candidate_points_per_hand": report["baseline_points_per_hand"],
        "baseline_points_per_hand": report["candidate_points_per_hand"],
    }


@pytest.fixture(scope="module")
def undisturbed(place: Place, sound: Path, broken: Path) -> dict[str, Any]:
    """The report on the broken bot."""
    outcome = place.run("gate", broken, "--against", sound, *FIELD, *SIZE, "--workers", "2", "--json")
    assert outcome.returncode == 1, outcome.stderr
    assert place.run_folders() == []
    return parsed(outcome.stdout)


def test_the_bug_fails_the_gate(undisturbed: dict[str, Any]) -> None:
    assert (undisturbed["verdict"], undisturbed["reason"]) == ("failed", "bound")
    assert undisturbed["improvement"] < -0.5
    assert undisturbed["interval_95"][1] < 0
    assert undisturbed["evidence_for_delta0"]["value"] >= undisturbed["evidence_for_delta0"]["limit"]
    assert undisturbed["boards"] < 288, "what the verdict did not need was not played"
    assert undisturbed["candidate_faults"] == []


def test_the_bug_mended_passes_the_gate_though_it_is_stopped_in_the_middle(
    place: Place, sound: Path, broken: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    """Stopped, it has no verdict. In the end all is as it was the other way round without a stop, to the last digit."""
    junit = tmp_path / "junit.xml"
    command = ("gate", sound, "--against", broken, *FIELD, *SIZE, "--workers", "1", "--junit", junit)
    with place.start(*command) as run:
        interrupt(place, run, signal.SIGTERM)
        output, errors = run.communicate(timeout=PATIENCE)
    assert run.returncode == 3
    assert output.startswith("no verdict: it was stopped before the test had an answer\n")
    assert ElementTree.parse(junit).getroot().get("skipped") == "1"
    until(lambda: not place.processes(), "workers, Redis, cages and bots end with the run")

    gate = resume_arguments(errors, "gate --resume")[2]
    short = place.run("gate", "--resume", gate, "--time-limit", "1", "--json")
    assert short.returncode == 3
    assert parsed(short.stdout)["reason"] == "time limit"

    resumed = place.run("gate", "--resume", gate, "--json")
    assert resumed.returncode == 0, resumed.stderr
    found = parsed(resumed.stdout)
    assert (found["verdict"], found["reason"], found["candidate"]) == ("passed", "bound", "sound")
    assert found["evidence_for_delta1"]["value"] >= found["evidence_for_delta1"]["limit"]
    assert found["interval_95"][0] > 0
    assert mirrored(found) == {name: undisturbed[name] for name in mirrored(found)}


def test_a_bot_is_not_declared_better_than_itself(place: Place, sound: Path) -> None:
    outcome = place.run("gate", sound, "--against", "careful", *FIELD, *FEW, "--json")
    assert outcome.returncode == 3, outcome.stderr
    found = parsed(outcome.stdout)
    assert (found["verdict"], found["reason"], found["improvement"]) == ("none", "no difference", 0)
    assert (found["boards"], found["hands"]) == (2, 4)


def test_a_candidate_that_crashes_fails_the_gate_with_its_log(place: Place, tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    outcome = place.run("gate", BOTS / "crashing", "--against", "careful", *FIELD, *FEW, "--junit", junit)
    assert outcome.returncode == 1, outcome.stderr
    assert outcome.stdout.startswith("failed: crashing committed 1 fault\n")
    assert "  CRASH in sitting gate-" in outcome.stdout
    assert "  its log:\n    no  [31mweights [0m to load\n" in outcome.stdout
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("failures"), suites.get("skipped")) == ("1", "1")
    assert suites.findtext(".//testcase/system-err") == "no  [31mweights [0m to load"


def test_what_is_no_bots_fault_is_no_verdict_either(place: Place, sound: Path) -> None:
    nowhere = "redis+socket:///nowhere/redis.sock"
    outcome = place.run("gate", sound, "--against", "careful", *FIELD, *FEW, "--redis", nowhere)
    assert (outcome.returncode, outcome.stdout) == (4, "")
    assert outcome.stderr.startswith("error: no Redis answers at ")
    assert outcome.stderr.count("\n") == 1
