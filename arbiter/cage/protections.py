"""What a cage protects from, each seen by trying it on this machine, and what the host requires of that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from arbiter.cage.cgroups import Usage
from arbiter.cage.command import is_fresh_uid
from arbiter.cage.limits import Level, Limits
from arbiter.cage.seccomp import Architecture


class Protection(StrEnum):
    """One thing that a cage does; its value is how it is called in tables."""

    USER = "unprivileged user"
    """Not user 0 of the host, no capability, no way to gain one."""
    FILES = "files"
    """The system is seen read-only, the host's other files not at all."""
    PROCESSES = "processes hidden"
    """Only its own processes are seen, so no other can be signalled."""
    NETWORK = "no network"
    """Nothing but the seat's socket."""
    CALLS = "system calls"
    """The filter of `arbiter.cage.seccomp`."""
    COUNTS = "counts"
    """Processes and threads, open files, no core dumps."""
    ADDRESS_SPACE = "memory of a process"
    """What one process can reserve."""
    DISK = "disk"
    """Bytes in the only places to write."""
    OWN_USER = "own user"
    """A user id that no other bot and nobody on the host has."""
    MEMORY = "memory of a bot"
    """Everything that a bot uses in all its processes, the kernel's buffers and the number of its files among it."""
    PROCESSORS = "processors"
    """Processor time of a bot in all its processes and threads."""


FULL_ONLY: Final = (Protection.OWN_USER, Protection.MEMORY, Protection.PROCESSORS)
"""What the level ``full`` requires and ``basic`` does not."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What trying showed of one protection."""

    protection: Protection
    holds: bool
    seen: str
    """What was seen, or why it does not hold."""

    def required(self, level: Level) -> bool:
        """Whether a bot may be run without it."""
        return level is Level.FULL or self.protection not in FULL_ONLY


def missing(findings: Iterable[Finding], level: Level) -> list[Finding]:
    """Those that are required at this level and do not hold."""
    return [finding for finding in findings if finding.required(level) and not finding.holds]


# Harmless with arguments that mean nothing, on a kernel that lets them through; most are refused by the filter alone.
_TRIED: Final = {
    **dict.fromkeys(("io_uring_setup", "clone3", "memfd_create", "shmget"), "ENOSYS"),
    **dict.fromkeys(
        ("ptrace", "process_vm_readv", "keyctl", "bpf", "perf_event_open", "userfaultfd", "personality"), "EPERM"
    ),
    **dict.fromkeys(("mount", "unshare", "setns"), "EPERM"),
}


def question(machine: Architecture, limits: Limits, grouped: bool) -> dict[str, object]:
    """What the program `arbiter.cage.probe` is to look at."""
    space = {"address_space": limits.address_space(grouped)}
    whole = {name: value for name, value in asdict(limits).items() if isinstance(value, int)}
    return {"calls": {name: machine.number(name) for name in _TRIED}, "limits": {**whole, **space}}


class Report(NamedTuple):
    """The answer of `arbiter.cage.probe`, key by key."""

    user: int
    capabilities: list[str]
    no_new_privileges: bool
    kernel_settings: str
    writes: list[str]
    sees: list[str]
    processes: int
    interfaces: list[str]
    internet: str
    filtered: bool
    calls: dict[str, str]
    threads: int
    files: int
    core: int
    reserve: str
    tmp: int
    shm: int


def judge(answer: Mapping[str, object], limits: Limits, grouped: bool) -> tuple[Finding, ...]:
    """What the probe's answer says of the protections that need no control group."""
    report = Report(**answer)  # type: ignore[arg-type]  # written by the program of the same package
    space = limits.address_space(grouped)
    # An ordinary user's bots are that user, whatever they are called in their user namespace; root's are in none.
    user = os.geteuid() or report.user
    passed = sorted(name for name, wanted in _TRIED.items() if report.calls[name] != wanted)
    return (
        Finding(
            Protection.USER,
            user != 0 and not report.capabilities and report.no_new_privileges and report.kernel_settings != "done",
            f"user {user}, {_list(report.capabilities, 'no capabilities')}",
        ),
        Finding(
            Protection.FILES,
            not report.writes and not report.sees,
            f"writable: {_list(report.writes, 'nothing')}; seen of the host: {_list(report.sees, 'programs only')}",
        ),
        Finding(Protection.PROCESSES, report.processes <= 2, f"{report.processes} seen, its own and the cage's"),
        Finding(
            Protection.NETWORK,
            report.internet == "EAFNOSUPPORT" and set(report.interfaces) <= {"lo"},
            f"internet sockets: {report.internet}; interfaces: {_list(report.interfaces, 'none')}",
        ),
        Finding(
            Protection.CALLS,
            report.filtered and not passed,
            f"{len(_TRIED)} tried; not refused as they should be: {_list(passed, 'none')}",
        ),
        Finding(
            Protection.COUNTS,
            report.threads <= limits.processes and report.files <= limits.open_files and report.core == 0,
            f"{report.threads} threads, {report.files} open files, core dumps of {report.core} bytes",
        ),
        Finding(
            Protection.ADDRESS_SPACE,
            report.reserve == "ENOMEM",
            f"reserving {space >> 20} MiB: {report.reserve}",
        ),
        Finding(
            Protection.DISK,
            report.tmp <= limits.tmp and report.shm <= limits.shm,
            f"{report.tmp >> 20} MiB in /tmp, {report.shm >> 20} MiB in /dev/shm",
        ),
        Finding(
            Protection.OWN_USER,
            is_fresh_uid(user),
            f"user {user}" + ("" if is_fresh_uid(user) else ", the service's own: it is not run by root"),
        ),
    )


def judge_usage(memory: Usage | None, time: Usage | None) -> tuple[Finding, ...]:
    """What was counted of two probes that asked for more memory, and for more processor time, than they might have.

    None where no control group for it can be made.
    """
    if memory is None:
        bounded = Finding(Protection.MEMORY, False, "no control group can be made here for memory")
    else:
        bounded = Finding(Protection.MEMORY, memory.oom_kills > 0, f"{memory.oom_kills} killed at the limit")
    if time is None:
        return bounded, Finding(Protection.PROCESSORS, False, "no control group can be made here for processor time")
    held_back = time.throttled_seconds or 0.0
    return bounded, Finding(Protection.PROCESSORS, held_back > 0, f"held back for {held_back * 1000:.0f} ms")


def _list(items: list[str], nothing: str) -> str:
    return ", ".join(items) if items else nothing
