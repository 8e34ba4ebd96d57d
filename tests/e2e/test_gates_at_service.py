"""Gates at a service by the command line, as pipelines run them, the workflow files in docs/ci among them: real
processes, and a restart of the service in the middle."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arbiter.identity import issue_token
from arbiter.store import Scope, Store, TournamentState
from tests.e2e.gates import BUG, copy_of_careful
from tests.e2e.support import COMMAND, SAMPLES, Place, environment, new_place, until
from tests.e2e.test_pipelines import gate_script, installed
from tests.e2e.test_submission import TIMEOUT, service

SIZE = ("--opponents", "batch", "--seatings", "1", "--block-boards", "96", "--max-boards", "288", "--delta1", "1")
SMALL = "--opponents batch --seatings 1 --block-boards 4 --max-boards 4"
"""One block, which is too few for a verdict."""


@pytest.fixture(scope="module")
def host() -> Iterator[Place]:
    with new_place() as found:
        yield found


@pytest.fixture(scope="module")
def tokens(host: Place) -> dict[str, str]:
    with Store.open(host.data / "arbiter.db") as store:
        return {
            owner: issue_token(store.accounts, owner, Scope.CONTESTANT, datetime.now(UTC))[1]
            for owner in ("ada", "bob")
        }


@pytest.fixture(scope="module")
def served(host: Place, tokens: dict[str, str], bots: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """A service for the pipelines, with somebody to play against."""
    with service(host) as reached:
        variables = settings(host, tokens, reached, "bob")
        assert run(variables, "bot", "submit", SAMPLES / "batch", "--wait").returncode == 0
        variables = settings(host, tokens, reached)
        assert run(variables, "bot", "submit", bots["broken"], "--wait", "--message", "for pipelines").returncode == 0
        yield reached


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of one bot, ``mybot``: with a bug, without it, and one that does not start."""
    found = {}
    for name, bug in (("broken", BUG), ("sound", ""), ("crashing", "")):
        found[name] = copy_of_careful(tmp_path_factory.mktemp(name), "mybot", bug=bug)
    (found["crashing"] / "bot.py").write_text("raise SystemExit('no model file')\n")
    return found


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Closed at the end of the test."""
    with ExitStack() as found:
        yield found


def settings(host: Place, tokens: dict[str, str], reached: tuple[str, str], owner: str = "ada") -> dict[str, str]:
    address, certificate = reached
    where = {"ARBITER_SERVER": address, "ARBITER_CA": certificate, "ARBITER_API_TOKEN": tokens[owner]}
    return environment(host.temporary) | where


def run(variables: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env=variables, capture_output=True, text=True, timeout=TIMEOUT)


@contextmanager
def begun(variables: dict[str, str], *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """The command as a process, which does not outlive the block."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def under_way(host: Place) -> bool:
    """Whether a worker plays a gate."""
    with Store.open(host.data / "arbiter.db") as store:
        running = [each.id for each in store.tournaments() if each.state is TournamentState.RUNNING]
        return any(store.leases(gate) for gate in running)


def versions(variables: dict[str, str]) -> dict[int, str]:
    """The states of mybot's versions by number."""
    listed: list[dict[str, Any]] = json.loads(run(variables, "bot", "versions", "mybot", "--json").stdout)
    return {version["number"]: version["state"] for version in listed}


def test_from_the_first_version_to_a_better_one(
    host: Place, tokens: dict[str, str], bots: dict[str, Path], tmp_path: Path, stack: ExitStack
) -> None:
    """The bug mended passes though the service is started anew in the middle; the bug again fails and is taken back,
    so that ``latest`` stays what passed; what does not start fails with its log; what is stopped has no verdict."""
    with service(host) as reached:
        ada, bob = (settings(host, tokens, reached, owner) for owner in ("ada", "bob"))
        assert run(bob, "bot", "submit", SAMPLES / "batch", "--wait").returncode == 0
        first = run(ada, "bot", "submit", bots["broken"], "--wait")
        assert first.stdout == "mybot@1 is active\n", first.stderr

        junit, markdown, summary = (tmp_path / name for name in ("junit.xml", "gate.md", "summary.md"))
        port = reached[0].rpartition(":")[2]
        command = ("gate", bots["sound"], "--against", "mybot@latest", *SIZE, "--junit", junit, "--markdown", markdown)
        gate = stack.enter_context(begun(ada | {"GITHUB_STEP_SUMMARY": str(summary)}, *command))
        until(lambda: under_way(host), "the gate is played")
    until(lambda: not host.workers(), "nothing outlives the service")
    with service(host, port) as reached:
        output, errors = gate.communicate(timeout=TIMEOUT)
        assert (gate.returncode, "Traceback" in errors) == (0, False), errors
        assert output.startswith("passed: mybot@2 is better than mybot@1\n")
        assert markdown.read_text() == summary.read_text()
        assert markdown.read_text().startswith("### passed: mybot@2 is better than mybot@1\n")
        assert ElementTree.parse(junit).getroot().get("failures") == "0"
        assert versions(ada) == {1: "active", 2: "active"}

        worse = run(ada, "gate", bots["broken"], "--against", "mybot@latest", *SIZE, "--json")
        assert worse.returncode == 1, worse.stderr
        report = json.loads(worse.stdout)
        assert (report["candidate"], report["baseline"]) == ("mybot@3", "mybot@2")
        assert (report["verdict"], report["reason"], report["opponents"]) == (
            "failed",
            "bound",
            ["batch@1", "batch@1-2", "batch@1-3"],
        )
        assert report["interval_95"][1] < 0
        assert "mybot@3 is taken back, since it did not pass\n" in worse.stderr
        assert versions(ada)[3] == "retired"

        dead = run(ada, "gate", bots["crashing"], "--against", "mybot@latest", *SIZE, "--junit", junit)
        assert dead.returncode == 1, dead.stderr
        assert dead.stdout.startswith("failed: mybot@4 committed 1 fault\n")
        assert "no model file" in dead.stdout
        assert (ElementTree.parse(junit).getroot().findtext(".//testcase/system-err") or "").endswith("no model file")
        assert versions(ada)[4] == "failed"

        with begun(ada, "gate", "mybot@1", "--against", "mybot@2", *SIZE, "--delta1", "0.01") as stopped:
            until(lambda: under_way(host), "the gate is played")
            stopped.send_signal(signal.SIGTERM)
            output, errors = stopped.communicate(timeout=TIMEOUT)
        assert stopped.returncode == 3, errors
        assert output.startswith("no verdict: it was stopped before the test had an answer\n")
        named = re.match(r"(gate-[0-9a-f]{12}): mybot@1 against mybot@2", errors)
        assert named is not None
        until(lambda: not under_way(host), "a cancelled gate is not played on")
        again = run(ada, "gate", "--resume", named[1], "--json")
        assert (again.returncode, json.loads(again.stdout)["reason"]) == (3, "stopped")
        assert versions(ada)[1] == "active", "it was not sent for this gate"


@pytest.mark.parametrize(("name", "expected"), [("github-service.yml", 0), ("gitlab-service.yml", 3)])
def test_a_pipeline_runs_its_gate_at_a_service(
    host: Place,
    served: tuple[str, str],
    tokens: dict[str, str],
    bots: dict[str, Path],
    tmp_path: Path,
    name: str,
    expected: int,
) -> None:
    """One block gives no verdict."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "bot").symlink_to(bots["sound"], target_is_directory=True)
    summary = tmp_path / "summary.md"
    variables = settings(host, tokens, served) | {"GATE_OPTIONS": SMALL, "GITHUB_STEP_SUMMARY": str(summary)}
    variables["PATH"] = f"{installed(tmp_path)}:{variables['PATH']}"
    outcome = subprocess.run(
        ["bash", "-e", "-c", gate_script(name)],
        cwd=checkout,
        env=variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert outcome.returncode == expected, outcome.stderr
    sent = versions(variables)
    assert sent[max(sent)] == "retired"
    assert "no verdict: every board" in outcome.stdout
    assert summary.read_text().startswith("### no verdict: ")
    suites = ElementTree.parse(checkout / "gate.xml").getroot()
    assert (suites.get("tests"), suites.get("skipped")) == ("2", "1")
