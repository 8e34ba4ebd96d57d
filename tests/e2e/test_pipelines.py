"""The workflow files in docs/ci: they can be read, what they call exists, and their gates run as in a pipeline."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.e2e.gates import copy_of
from tests.e2e.support import COMMAND, REPOSITORY, SEED, Place, environment, until
from tests.patience import PATIENCE

FILES = ("github.yml", "gitlab.yml")
AT_A_SERVICE = ("github-service.yml", "gitlab-service.yml")
SMALL = f"--opponents lowest --seatings 1 --block-boards 4 --max-boards 4 --workers 1 --deal-seed {SEED}"
"""One block, which is too few for a verdict."""

UNCAGED = " --unsafe-processes"
"""Bots run in a cage here: without one they might not reach the interpreter of these tests."""


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((REPOSITORY / "docs" / "ci" / name).read_text())
    return found


def scripts(name: str) -> Iterator[str]:
    """The shell scripts of a workflow, one for each step."""
    if name.startswith("github"):
        for step in workflow(name)["jobs"]["gate"]["steps"]:
            if "run" in step:
                yield step["run"]
    else:
        job = workflow(name)["gate"]
        yield from [*job["before_script"], *job["script"]]


def gate_script(name: str) -> str:
    (script,) = (script for script in scripts(name) if "arbiter gate " in script)
    return script


def options_of(name: str) -> str:
    job = workflow(name)["jobs"]["gate"] if name.startswith("github") else workflow(name)["gate"]
    options: str = job["env" if name.startswith("github") else "variables"]["GATE_OPTIONS"]
    return options


def installed(folder: Path) -> Path:
    """A folder with the command, as an installation has it."""
    programs = folder / "bin"
    programs.mkdir()
    arbiter = programs / "arbiter"
    arbiter.write_text(f'#!/bin/sh\nexec {sys.executable} -m arbiter "$@"\n')
    arbiter.chmod(0o755)
    return programs


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The options of ``arbiter gate``."""
    command = [*COMMAND, "gate", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env={"COLUMNS": "200", "PATH": ""})
    return set(re.findall(r"--[a-z-]+", shown.stdout))


@pytest.mark.parametrize("name", FILES + AT_A_SERVICE)
def test_what_a_workflow_calls_exists(known: set[str], name: str) -> None:
    script = gate_script(name)
    (line,) = (line for line in script.splitlines() if line.strip().startswith("arbiter gate "))
    words = shlex.split(line.replace("$GATE_OPTIONS", options_of(name)).partition("||")[0])
    used = {word for word in words if word.startswith("--")}
    assert used >= {"--against", "--junit", "--time-limit"}
    assert used <= known
    package = "hearts-arbiter" if name in AT_A_SERVICE else "'hearts-arbiter[server]'"
    assert any(f"pip install {package}" in script.splitlines() for script in scripts(name))


def test_the_github_workflow_is_one() -> None:
    found = workflow("github.yml")
    assert found[True] == "pull_request"  # YAML 1.1 reads "on" so
    steps = found["jobs"]["gate"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    (baseline,) = (step["with"]["path"] for step in steps if "ref" in step.get("with", {}))
    assert f"--against {baseline}/bot " in gate_script("github.yml")


def test_the_gitlab_job_takes_no_verdict_for_a_warning() -> None:
    job = workflow("gitlab.yml")["gate"]
    assert job["allow_failure"] == {"exit_codes": [3]}
    assert f"--junit {job['artifacts']['reports']['junit']} " in gate_script("gitlab.yml")
    assert f"--markdown {job['artifacts']['paths'][0]}" in gate_script("gitlab.yml")


@pytest.mark.parametrize(("name", "expected"), [("github.yml", 0), ("gitlab.yml", 3)])
def test_a_pipeline_runs_its_gate(place: Place, tmp_path: Path, name: str, expected: int) -> None:
    """Both run one after the other in a checkout with the version before; one block gives no verdict."""
    checkout = place.temporary / name
    (checkout / "baseline").mkdir(parents=True)
    copy_of("careful", checkout, "bot")
    copy_of("lowest", checkout / "baseline", "bot")
    programs = installed(checkout)
    summary = tmp_path / "summary.md"
    variables = environment(place.temporary)
    variables |= {
        "PATH": f"{programs}:{variables['PATH']}",
        "GATE_OPTIONS": SMALL,
        "GITHUB_STEP_SUMMARY": str(summary),
        "ARBITER_DATA_DIR": str(place.data),
    }
    script = gate_script(name)
    assert UNCAGED in script
    command = ["bash", "-e", "-c", script.replace(UNCAGED, "")]
    outcome = subprocess.run(
        command, cwd=checkout, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert outcome.returncode == expected, outcome.stderr
    assert "no verdict: every board that may be played was played" in outcome.stdout
    assert ("::warning title=arbiter gate::no verdict" in outcome.stdout) == (name == "github.yml")
    assert summary.read_text().startswith("### no verdict: ")
    assert "bot@baseline" in summary.read_text()
    suites = ElementTree.parse(checkout / "gate.xml").getroot()
    assert (suites.get("tests"), suites.get("skipped")) == ("2", "1")
    until(lambda: not place.processes(), "workers, Redis, cages and bots end with the run", place.described)
