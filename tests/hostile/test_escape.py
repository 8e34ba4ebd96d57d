"""Hostile bots in real sittings: nothing that they try harms the host, another bot or the sitting, or tells them more.

Each case is played by services of root and of an ordinary user, with Debian's bubblewrap and with the one from PyPI.
What a service can't hold is skipped with its reason, which is also what ``arbiter cage check`` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arbiter.cage import Protection
from arbiter.cage.seccomp import ABSENT
from arbiter.links import FaultCode
from tests.hostile.support import NotHere, Service, fingerprint, service, told

MEBIBYTE = 1 << 20
BOMB = 384 * MEBIBYTE
SERVICES = [(user, bubblewrap) for user in ("root", "ordinary") for bubblewrap in ("debian", "wheel")]
NO_SUCH = {"ENOENT"}
NOT_ALLOWED = {"EPERM", "EACCES"}
READ_ONLY = {"EROFS", "EACCES", "EPERM"}
NO_FAMILY = {"EAFNOSUPPORT"}

ATTEMPTS = {
    "read /etc/passwd": NO_SUCH,
    "read /etc/shadow": NO_SUCH,
    "read the home": NO_SUCH,
    "read another bot's files": NO_SUCH,
    "read another bot's environment": NO_SUCH,
    "read the database": NO_SUCH,
    "read another process's memory": NO_SUCH,
    "read the arbiter's memory": NO_SUCH,
    "list the arbiter's descriptors": NO_SUCH,
    "read the memory of process 1": {*NOT_ALLOWED, *NO_SUCH},
    "read the kernel's memory": {*NOT_ALLOWED, *NO_SUCH},
    "read the kernel's log": NO_SUCH,
    "read /dev/mem": NO_SUCH,
    "list /sys": NO_SUCH,
    "dial another seat's socket": NO_SUCH,
    "dial an abstract socket": {"ECONNREFUSED"},
    "dial TCP": NO_FAMILY,
    "send UDP": NO_FAMILY,
    "dial TCP by IPv6": NO_FAMILY,
    "ask DNS": {"no address"},
    "open netlink": NO_FAMILY,
    "open packets": NO_FAMILY,
    "open the host's virtual socket": NO_FAMILY,
    "open the kernel's ciphers": NO_FAMILY,
    "write /proc/sys": READ_ONLY,
    "write the host's name": READ_ONLY,
    "open sysrq": {*READ_ONLY, *NO_SUCH},
    "write /sys": NO_SUCH,
    "write /dev": READ_ONLY,
    "write its own program": READ_ONLY,
    "write the system": READ_ONLY,
    "spare itself from the memory's end": NOT_ALLOWED,
    "make a device": NOT_ALLOWED,
    "become root": {*NOT_ALLOWED, "EINVAL"},
    "become root's group": {*NOT_ALLOWED, "EINVAL"},
    "take other groups": {*NOT_ALLOWED, "EINVAL"},
    "run su": {*NOT_ALLOWED, *NO_SUCH},
    "run setpriv": {*NOT_ALLOWED, *NO_SUCH},
    "trace the decoy": NOT_ALLOWED,
    "signal the decoy": {"ESRCH"},
    "signal the decoy's group": {"ESRCH"},
    "signal everyone": {"ESRCH"},
    "slow the decoy down": {"ESRCH"},
    "move the decoy to other processors": {"ESRCH"},
    "take the decoy's limits": {"ESRCH"},
    "hold the decoy": {"ESRCH"},
    "mount": NOT_ALLOWED,
    "unmount": NOT_ALLOWED,
    "unshare a user namespace": NOT_ALLOWED,
    "clone into a user namespace": NOT_ALLOWED,
    "join the user namespace of process 1": {*NOT_ALLOWED, *NO_SUCH},
    "query the personality": NOT_ALLOWED,
    "feign input": NOT_ALLOWED,
    "enter as a 32-bit program": {"SIGSYS"},
    "enter by x32": {"SIGSYS"},
    "raise its processes": NOT_ALLOWED,
    "raise its open files": NOT_ALLOWED,
    "raise its memory": NOT_ALLOWED,
    "raise its priority": NOT_ALLOWED,
    "run in real time": NOT_ALLOWED,
}


HARMLESS = [
    "read /etc/passwd",
    "read the home",
    "read another bot's files",
    "read another bot's environment",
    "read the database",
    "list the arbiter's descriptors",
    "list /sys",
    "dial another seat's socket",
    "open netlink",
    "signal everyone",
    "slow the decoy down",
    "move the decoy to other processors",
    "take the decoy's limits",
    "hold the decoy",
]
"""Attempts that leave no trace where nothing stops them."""


@pytest.fixture(scope="module", params=SERVICES, ids="-".join)
def hostile(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service that plays hostile bots; the host is as it was when all have been played."""
    try:
        opened = service(*request.param)
        before = fingerprint()
        with opened as running:
            yield running
            assert running.decoys.untouched() == []
        after = fingerprint()
        assert {name for name in before if before[name] != after.get(name)} == set()
    except NotHere as reason:
        if request.param == (("root" if os.geteuid() == 0 else "ordinary"), "wheel") and os.environ.get("CI") == "true":
            raise  # at least the tests' own user has one
        pytest.skip(str(reason))


def need(hostile: Service, *protections: Protection) -> None:
    """Skip what this service's cage was seen not to hold: it is not covered at its level."""
    lacking = [protection.value for protection in protections if not hostile.held[protection.value]]
    if lacking:
        pytest.skip(f"not covered at this level: {', '.join(lacking)}")


def others_are_well(outcome: dict[str, Any]) -> None:
    """Nobody but the hostile bot has come to harm, and nothing of it is left."""
    assert {fault[0] for fault in outcome["faults"]} <= {0}
    assert outcome["endings"][1] == "exit status 0"
    assert "found" not in outcome["logs"][1]
    assert set(outcome["stood_in"]) <= {0}
    assert len(outcome["hands"]) == 2
    assert outcome["left"] == []


def unharmed(hostile: Service, attack: str, **limits: int | float) -> dict[str, Any]:
    """Play an attack after which the bot plays on, and ends by itself."""
    outcome = undisturbed(hostile, attack, **limits)
    assert outcome["endings"][0] == "exit status 0"
    return outcome


def undisturbed(hostile: Service, attack: str, **limits: int | float) -> dict[str, Any]:
    """Play an attack that changes nothing: the sitting is to the last card as if it had not been."""
    outcome = hostile.play(attack, **limits)
    others_are_well(outcome)
    assert outcome["faults"] == []
    assert outcome["hands"] == hostile.play("honest")["hands"]
    return outcome


def ended(hostile: Service, attack: str, **limits: int | float) -> dict[str, Any]:
    """Play an attack that ends the bot."""
    outcome = hostile.play(attack, **limits)
    others_are_well(outcome)
    assert len(outcome["faults"]) == 1
    return outcome


def test_what_a_cage_must_hold_does_hold(hostile: Service) -> None:
    assert {name for name, holds in hostile.held.items() if not holds} <= {"own user", "memory of a bot", "processors"}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_refused(hostile: Service, name: str) -> None:
    """No code, memory, file or socket of another's, nor anything of the host's (battlehack20#69)."""
    found = told(unharmed(hostile, "quiet"))["found"]
    assert found[name] in ATTEMPTS[name]


def test_attempts_succeed_where_there_is_no_cage(hostile: Service) -> None:
    """Else their refusal in one would show nothing."""
    assert hostile.bare(HARMLESS) == dict.fromkeys(HARMLESS, "done")


def test_every_attempt_is_looked_at(hostile: Service) -> None:
    others = {"calls", "descriptors", "environment", "processes", "own"}
    assert set(told(hostile.play("quiet"))["found"]) == set(ATTEMPTS) | others


def test_forbidden_system_calls_are_refused_and_others_not_there(hostile: Service) -> None:
    """Called by their numbers, past everything that a language could filter (battlehack20#136)."""
    calls = told(hostile.play("quiet"))["found"]["calls"]
    assert len(calls) > 50
    assert {name for name, result in calls.items() if result != ("ENOSYS" if name in ABSENT else "EPERM")} == set()


def test_nothing_but_its_own_is_there(hostile: Service) -> None:
    found = told(hostile.play("quiet"))["found"]
    assert found["processes"] == [1, found["own"]]
    assert found["descriptors"] == ["/dev/null", "pipe", "pipe"]
    assert not {"ARBITER_RUN_DIR", "ARBITER_WORKER_TOKEN"} & set(found["environment"])


@pytest.mark.parametrize("attack", ["fork_bomb", "thread_bomb"])
def test_processes_and_threads_are_counted(hostile: Service, attack: str) -> None:
    found = told(unharmed(hostile, attack))["found"]
    assert 0 < found["made"] < 64
    assert found["stopped"] in {"EAGAIN", "can't start new thread"}


def test_memory_of_one_process(hostile: Service) -> None:
    outcome = ended(hostile, "memory_bomb", memory=BOMB)
    assert outcome["faults"][0][1] == FaultCode.OUT_OF_MEMORY
    assert "found" not in told(outcome)


def test_memory_of_many_processes(hostile: Service) -> None:
    need(hostile, Protection.MEMORY)
    outcome = ended(hostile, "many_memory_bombs", memory=BOMB)
    assert outcome["faults"][0][1] == FaultCode.OUT_OF_MEMORY
    assert outcome["usage"]["memory_peak"] <= BOMB
    assert outcome["usage"]["oom_kills"] > 0


def test_number_of_files(hostile: Service) -> None:
    need(hostile, Protection.MEMORY)
    outcome = ended(hostile, "inode_fill", memory=BOMB // 2)
    assert outcome["faults"][0][1] == FaultCode.OUT_OF_MEMORY
    assert outcome["usage"]["memory_peak"] <= BOMB // 2


def test_bytes_in_files(hostile: Service) -> None:
    found = told(unharmed(hostile, "disk_fill"))["found"]
    assert 60 * MEBIBYTE < found["/tmp"] <= 64 * MEBIBYTE
    assert 12 * MEBIBYTE < found["/dev/shm"] <= 16 * MEBIBYTE


def test_open_files(hostile: Service) -> None:
    found = told(unharmed(hostile, "descriptor_bomb"))["found"]
    assert found["stopped"] == "EMFILE"
    assert 0 < found["made"] < 512


def test_connections_to_its_own_seat(hostile: Service) -> None:
    assert told(unharmed(hostile, "dial_flood"))["found"]["made"] > 100


def test_log_flood(hostile: Service) -> None:
    log = unharmed(hostile, "log_flood")["logs"][0]
    assert len(log) < 70_000
    assert "bytes cut ...]" in log


def test_computing_when_it_is_not_its_turn(hostile: Service) -> None:
    need(hostile, Protection.PROCESSORS)
    # Who burns its share up to the end may have nothing left of it to end in time, and is killed then.
    outcome = undisturbed(hostile, "burn", cpus=0.2)
    assert outcome["usage"]["throttled_seconds"] > 0


@pytest.mark.parametrize("attack", ["zombies", "daemons"])
def test_what_it_leaves_running_ends_with_it(hostile: Service, attack: str) -> None:
    unharmed(hostile, attack)


def test_nothing_is_left_for_its_next_sitting(hostile: Service) -> None:
    """Nor anywhere on the host (aichallenge#13)."""
    assert set(told(unharmed(hostile, "leave_traces"))["found"]["left"]) == {"/tmp", "/dev/shm"}
    mark = hostile.decoys.facts["mark"]
    assert [place for place in ("/", "/tmp", "/dev/shm", "/run") if Path(place, mark).exists()] == []
    assert list(Path(hostile.decoys.facts["folder"]).rglob(mark)) == []
    assert told(unharmed(hostile, "find_traces"))["found"]["met"] == []
