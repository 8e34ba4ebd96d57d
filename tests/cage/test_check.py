"""What the host requires is seen to hold before a bot is run; what does not hold is said, never passed over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import arbiter
from arbiter.cage import Level, Limits, Protection, Usage
from arbiter.cage.protections import FULL_ONLY, Finding, judge, judge_usage, missing
from tests.cage.conftest import Service
from tests.cage.support import make_bot

CHECK = (sys.executable, "-m", "arbiter", "cage", "check")
# Control groups out of reach: in a mount namespace of its own something else lies over them.
WITHOUT_GROUPS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh")
GOOD = {
    "user": 0x70000001,
    "capabilities": [],
    "no_new_privileges": True,
    "kernel_settings": "EACCES",
    "writes": [],
    "sees": [],
    "processes": 2,
    "interfaces": ["lo"],
    "internet": "EAFNOSUPPORT",
    "filtered": True,
    "calls": {
        **dict.fromkeys(("io_uring_setup", "clone3", "memfd_create", "shmget"), "ENOSYS"),
        **dict.fromkeys(("ptrace", "process_vm_readv", "keyctl", "bpf", "perf_event_open", "userfaultfd"), "EPERM"),
        **dict.fromkeys(("personality", "mount", "unshare", "setns"), "EPERM"),
    },
    "threads": 64,
    "files": 512,
    "core": 0,
    "reserve": "ENOMEM",
    "tmp": 64 << 20,
    "shm": 16 << 20,
}
BAD = [
    ("user", 0, Protection.USER),
    ("capabilities", ["CapEff"], Protection.USER),
    ("no_new_privileges", False, Protection.USER),
    ("kernel_settings", "done", Protection.USER),
    ("writes", ["/usr"], Protection.FILES),
    ("sees", ["/etc/passwd"], Protection.FILES),
    ("processes", 80, Protection.PROCESSES),
    ("interfaces", ["lo", "eth0"], Protection.NETWORK),
    ("internet", "done", Protection.NETWORK),
    ("filtered", False, Protection.CALLS),
    ("calls", {**GOOD["calls"], "ptrace": "ESRCH"}, Protection.CALLS),  # type: ignore[dict-item]  # a dict in a dict
    ("threads", 129, Protection.COUNTS),
    ("files", 1024, Protection.COUNTS),
    ("core", -1, Protection.COUNTS),
    ("reserve", "done", Protection.ADDRESS_SPACE),
    ("tmp", 68 << 20, Protection.DISK),
    ("shm", 20 << 20, Protection.DISK),
]


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ARBITER_")}
    path = str(Path(arbiter.__file__).parents[1])
    environment = {**clean, "PYTHONPATH": path, "COLUMNS": "160", **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd="/")


def test_nothing_is_missing_where_all_was_refused() -> None:
    findings = judge(GOOD, Limits(), grouped=True)
    assert missing(findings, Level.BASIC) == []
    assert len({finding.protection for finding in findings}) == len(findings) == len(Protection) - 2


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's bots are that user whatever they say")
@pytest.mark.parametrize(("key", "value", "protection"), BAD)
def test_each_thing_that_a_bot_could_do_is_missed(key: str, value: object, protection: Protection) -> None:
    lacking = missing(judge({**GOOD, key: value}, Limits(), grouped=True), Level.BASIC)
    assert [finding.protection for finding in lacking] == [protection]


def test_groups_hold_only_where_they_were_seen_to() -> None:
    seen = Usage(throttled_seconds=0.1, oom_kills=1)
    assert all(finding.holds for finding in judge_usage(seen, seen))
    for usage in (Usage(throttled_seconds=0.0), Usage(), None):
        assert not any(finding.holds for finding in judge_usage(usage, usage))


def test_level_basic_requires_what_needs_no_groups() -> None:
    nothing = [Finding(protection, False, "") for protection in Protection]
    assert {finding.protection for finding in missing(nothing, Level.BASIC)} == set(Protection) - set(FULL_ONLY)
    assert {finding.protection for finding in missing(nothing, Level.FULL)} == set(Protection)


def test_the_table_has_every_protection_and_they_hold_here() -> None:
    outcome = run(*CHECK, "--json")
    assert outcome.returncode == 0, outcome.stderr
    told = json.loads(outcome.stdout)
    assert told["level"] == "basic"
    assert [row["name"] for row in told["protections"]] == [protection.value for protection in Protection]
    for row in told["protections"]:
        assert row["holds"] or not row["required"]
        assert row["required"] == (row["name"] not in FULL_ONLY)
    table = run(*CHECK).stdout
    for protection in Protection:
        assert protection.value in table


def test_a_required_protection_that_is_missing_ends_the_check(root: None) -> None:
    outcome = run(*WITHOUT_GROUPS, *CHECK, "--level", "full")
    assert outcome.returncode == 4
    assert "no control group can be made here for memory" in outcome.stdout
    assert outcome.stderr.startswith("error: the level 'full' requires what does not hold here: memory of a bot, proc")
    assert outcome.stderr.count("\n") == 1
    assert run(*WITHOUT_GROUPS, *CHECK).returncode == 0


def test_a_worker_refuses_to_start_below_the_required_level(root: None, spot: Path) -> None:
    names = ("REDIS_URL", "QUEUE", "WORKER_ADDRESS", "WORKER_TOKEN")
    settings = {**{f"ARBITER_{name}": "nowhere" for name in names}, "ARBITER_RUN_DIR": str(spot)}
    worker = (sys.executable, "-P", "-m", "workers")
    outcome = run(*WITHOUT_GROUPS, *worker, **settings, ARBITER_CAGE_LEVEL="full")
    assert (outcome.returncode, outcome.stdout) == (4, "")
    assert outcome.stderr.startswith("error: this machine protects from less than the level 'full' requires (memory of")
    assert outcome.stderr.endswith("no bot is run; see: arbiter cage check\n")
    assert outcome.stderr.count("\n") == 1


def test_no_bot_is_started_below_the_required_level(
    ordinary_service: Service, spot: Path, arbiter_socket: Path
) -> None:
    folder = make_bot(spot, "print('played')")
    asked = Service(ordinary_service.command, {**ordinary_service.environment, "LEVEL": "full"})
    (report,) = asked.run("caged", "finish", folder, arbiter_socket)
    assert "own user: user " in str(report["error"])
    assert "no bot is run" in str(report["error"])
