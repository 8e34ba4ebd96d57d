"""Gates and a ladder at a service by the command line, as pipelines and contestants use them, the workflow files in
docs/ci among them: real processes, and a restart of the service in the middle. One service has all of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from arbiter.identity import issue_token
from arbiter.store import Scope, Store, TournamentState
from tests.e2e.gates import copy_of
from tests.e2e.support import COMMAND, SAMPLES, Place, environment, new_place, until
from tests.e2e.test_pipelines import gate_script, installed
from tests.e2e.test_submission import service
from tests.patience import PATIENCE

SIZE = ("--opponents", "lowest", "--seatings", "1", "--block-boards", "48", "--max-boards", "288", "--delta1", "2")
"""The bots differ by four points a hand, so two blocks are nearly always enough, whatever the service deals."""

SMALL = "--opponents lowest --seatings 1 --block-boards 4 --max-boards 4"
"""One block, which is too few for a verdict."""

SCOPES = {"hal": Scope.HOST, "eve": Scope.SPECTATOR} | dict.fromkeys(("ada", "bob", "cyd", "dan"), Scope.CONTESTANT)


class Served:
    """A service with users, which is stopped and started again in one place."""

    def __init__(self, place: Place) -> None:
        self.place: Final = place
        self._stack: Final = ExitStack()
        self._address = "127.0.0.1:0"
        self._certificate = ""
        with Store.open(place.data / "arbiter.db") as store:
            now = datetime.now(UTC)
            self._tokens = {owner: issue_token(store.accounts, owner, SCOPES[owner], now)[1] for owner in SCOPES}

    def start(self) -> None:
        """Start it, at the address that it had before."""
        port = self._address.rpartition(":")[2]
        self._address, self._certificate = self._stack.enter_context(service(self.place, port))

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        self._stack.close()
        until(lambda: not self.place.workers(), "nothing outlives the service")

    def settings(self, owner: str = "ada") -> dict[str, str]:
        """The environment of a user's commands."""
        where = {"ARBITER_SERVER": self._address, "ARBITER_CA": self._certificate}
        return environment(self.place.temporary) | where | {"ARBITER_API_TOKEN": self._tokens[owner]}

    def call(self, owner: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """A user's command."""
        command = [*COMMAND, *arguments]
        return subprocess.run(command, env=self.settings(owner), capture_output=True, text=True, timeout=PATIENCE)

    def versions(self) -> dict[int, str]:
        """The states of mybot's versions by number."""
        listed: list[dict[str, Any]] = json.loads(self.call("ada", "bot", "versions", "mybot", "--json").stdout)
        return {version["number"]: version["state"] for version in listed}

    def plays_a_gate(self) -> bool:
        """Whether a worker does."""
        with Store.open(self.place.data / "arbiter.db") as store:
            running = [each.id for each in store.tournaments() if each.state is TournamentState.RUNNING]
            return any(store.leases(gate) for gate in running)


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of one bot, ``mybot``: a weak one, one that is far better, and one that does not start."""
    samples = {"weak": "lowest", "better": "careful", "crashing": "lowest"}
    found = {name: copy_of(sample, tmp_path_factory.mktemp(name), "mybot") for name, sample in samples.items()}
    (found["crashing"] / "bot.py").write_text("raise SystemExit('no model file')\n")
    return found


@pytest.fixture(scope="module")
def served(bots: dict[str, Path]) -> Iterator[Served]:
    """A service with a first version of mybot, and somebody to play against."""
    with new_place() as place:
        found = Served(place)
        found.start()
        try:
            submitted = found.call("bob", "bot", "submit", SAMPLES / "lowest", "--wait")
            assert submitted.stdout == "lowest@1 is active\n", submitted.stderr
            submitted = found.call("ada", "bot", "submit", bots["weak"], "--wait")
            assert submitted.stdout == "mybot@1 is active\n", submitted.stderr
            yield found
        finally:
            found.stop()


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


def test_from_the_first_version_to_a_better_one(served: Served, bots: dict[str, Path], tmp_path: Path) -> None:
    """It passes though the service is started anew in the middle; the weak one again fails and is taken back, so that
    ``latest`` stays what passed; what does not start fails with its log; what is stopped has no verdict."""
    junit, markdown, summary = (tmp_path / name for name in ("junit.xml", "gate.md", "summary.md"))
    variables = served.settings() | {"GITHUB_STEP_SUMMARY": str(summary)}
    command = ("gate", bots["better"], "--against", "mybot@latest", *SIZE, "--junit", junit, "--markdown", markdown)
    with begun(variables, *command) as gate:
        until(served.plays_a_gate, "the gate is played")
        served.stop()
        served.start()
        output, errors = gate.communicate(timeout=PATIENCE)
    assert (gate.returncode, "Traceback" in errors) == (0, False), errors
    assert output.startswith("passed: mybot@2 is better than mybot@1\n")
    assert markdown.read_text() == summary.read_text()
    assert markdown.read_text().startswith("### passed: mybot@2 is better than mybot@1\n")
    assert ElementTree.parse(junit).getroot().get("failures") == "0"
    assert served.versions() == {1: "active", 2: "active"}

    worse = served.call("ada", "gate", bots["weak"], "--against", "mybot@latest", *SIZE, "--json")
    assert worse.returncode == 1, worse.stderr
    report = json.loads(worse.stdout)
    assert (report["candidate"], report["baseline"]) == ("mybot@3", "mybot@2")
    assert (report["verdict"], report["reason"]) == ("failed", "bound")
    assert report["opponents"] == ["lowest@1", "lowest@1-2", "lowest@1-3"]
    # Not its interval's end: that of an estimate which ended the test early reaches 0 once in three hundred runs.
    assert report["improvement"] < 0
    assert "mybot@3 is taken back, since it did not pass\n" in worse.stderr
    assert served.versions()[3] == "retired"

    dead = served.call("ada", "gate", bots["crashing"], "--against", "mybot@latest", *SIZE, "--junit", junit)
    assert dead.returncode == 1, dead.stderr
    assert dead.stdout.startswith("failed: mybot@4 committed 1 fault\n")
    assert "no model file" in dead.stdout
    assert (ElementTree.parse(junit).getroot().findtext(".//testcase/system-err") or "").endswith("no model file")
    assert served.versions()[4] == "failed"

    # Nobody could say so soon whether an improvement is 0 or a hundredth, and the boards do not come to their end.
    undecided = ("gate", "mybot@1", "--against", "mybot@2", *SIZE, "--delta1", "0.01", "--max-boards", "2880")
    with begun(served.settings(), *undecided) as stopped:
        until(served.plays_a_gate, "the gate is played")
        stopped.send_signal(signal.SIGTERM)
        output, errors = stopped.communicate(timeout=PATIENCE)
    assert stopped.returncode == 3, errors
    assert output.startswith("no verdict: it was stopped before the test had an answer\n")
    named = re.match(r"(gate-[0-9a-f]{12}): mybot@1 against mybot@2", errors)
    assert named is not None
    until(lambda: not served.plays_a_gate(), "a cancelled gate is not played on")
    again = served.call("ada", "gate", "--resume", named[1], "--json")
    assert (again.returncode, json.loads(again.stdout)["reason"]) == (3, "stopped")
    assert served.versions()[1] == "active", "it was not sent for this gate"


@pytest.mark.parametrize(("name", "expected"), [("github-service.yml", 0), ("gitlab-service.yml", 3)])
def test_a_pipeline_runs_its_gate_at_a_service(
    served: Served, bots: dict[str, Path], tmp_path: Path, name: str, expected: int
) -> None:
    """One block gives no verdict."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "bot").symlink_to(bots["better"], target_is_directory=True)
    summary = tmp_path / "summary.md"
    variables = served.settings() | {"GATE_OPTIONS": SMALL, "GITHUB_STEP_SUMMARY": str(summary)}
    variables["PATH"] = f"{installed(tmp_path)}:{variables['PATH']}"
    outcome = subprocess.run(
        ["bash", "-e", "-c", gate_script(name)],
        cwd=checkout,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert outcome.returncode == expected, outcome.stderr
    sent = served.versions()
    assert sent[max(sent)] == "retired"
    assert "no verdict: every board" in outcome.stdout
    assert summary.read_text().startswith("### no verdict: ")
    suites = ElementTree.parse(checkout / "gate.xml").getroot()
    assert (suites.get("tests"), suites.get("skipped")) == ("2", "1")


def test_contestants_enter_a_ladder_which_the_service_plays(served: Served, tmp_path: Path) -> None:
    """Folders and a version."""
    file = tmp_path / "ladder.toml"
    file.write_text('name = "ladder"\nformat = "ladder"\n[match]\nboards = 2\nseatings = 1\n')
    ladder = served.call("hal", "service", "create", file, "--start").stdout.strip()

    def enter(owner: str, bot: str | Path, name: str) -> None:
        entered = served.call(owner, "ladder", "enter", bot)
        assert (entered.returncode, entered.stdout) == (0, f"{name} plays on ladder {ladder}\n"), entered.stderr

    def shown() -> dict[str, int]:
        found = json.loads(served.call("eve", "ladder", "show", "--json").stdout)
        return {row["version"]: row["matches"] for row in found["leaderboard"]}

    first = [("ada", SAMPLES / "uniform", "uniform@1"), ("bob", "lowest", "lowest@1")]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: enter(*each), [*first, ("cyd", SAMPLES / "careful", "careful@1")]))
    waiting = served.call("ada", "ladder", "next", "uniform")
    assert waiting.stderr.startswith("nothing is planned or expected: ")
    enter("dan", SAMPLES / "batch", "batch@1")
    until(lambda: min(shown().values()) >= 1, "a match of all four is complete")
    assert served.call("bob", "ladder", "leave", "uniform").returncode == 2, "it is another's"
    assert served.call("ada", "ladder", "leave", "uniform").returncode == 0
    assert set(shown()) == {"lowest@1", "uniform@1", "careful@1", "batch@1"}
    history = json.loads(served.call("eve", "ladder", "history", "lowest", "--json").stdout)["history"]
    assert len(history) >= 1
    assert served.call("hal", "service", "cancel", ladder).returncode == 0
