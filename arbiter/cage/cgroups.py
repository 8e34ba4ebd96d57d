"""Control groups of bots: memory, processes and processors of a bot with all that it starts, where the host has them.

Each bot has a group of its own, in a group of its sitting, so that what a sitting does to itself can be told from what
is done to it. Version 1 (one hierarchy for each controller) and version 2 (one for all) are both used, each controller
where it is; see `cgroups(7) <https://man7.org/linux/man-pages/man7/cgroups.7.html>`_. Groups are made below the one
that the service is in, or, where version 2 does not allow that because there are processes in it, below one above.

Names of groups begin with the service's PID namespace, process id and start time: what a killed service left is removed
by the next one that works in the same place.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.cage.errors import CageError
from arbiter.cage.limits import Limits

CONTROLLERS: Final = ("memory", "pids", "cpu", "cpuacct")
"""Those that are used; ``cpuacct`` is part of ``cpu`` in version 2."""

_numbers_of_bots: Final = itertools.count(1)  # all of this process's, whichever cage starts them
_PREFIX: Final = "hearts"
_PERIOD: Final = 100_000  # microseconds over which processor time is counted
# The bot's group holds two processes of the cage beside the bot's: the outermost, and process 1.
_OF_THE_CAGE: Final = 2
_REMOVAL_PATIENCE: Final = 2.0
_MOST_WEIGHED: Final = 100  # the largest weight of version 2, in single ones


@dataclass(frozen=True, slots=True)
class Usage:
    """What a bot, or a sitting's bots together, have used; None where the machine does not tell."""

    cpu_seconds: float | None = None
    """Processor time."""
    throttled_seconds: float | None = None
    """Time for which a bot was held back because it had used up its processors. Version 1 tells it of bots alone."""
    waiting_seconds: float | None = None
    """Time for which something of it was ready to run and had no processor (version 2 with pressure information)."""
    memory_peak: int | None = None
    """Most bytes at once."""
    oom_kills: int = 0
    """Processes that the kernel killed because the memory limit was reached."""


@dataclass(frozen=True, slots=True)
class Base:
    """A folder of the control groups' file system, and the version that it belongs to."""

    folder: Path
    version: int


class Group:
    """A control group, with a folder for each controller that it has (in version 2 they are the same one)."""

    def __init__(self, folders: Mapping[str, Base], sitting: Group | None = None) -> None:
        self.folders: Final = folders
        """By controller."""
        self._sitting = sitting

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its folders: a process that is to be in it is written to ``cgroup.procs`` of each."""
        return tuple(dict.fromkeys(base.folder for base in self.folders.values()))

    def usage(self) -> Usage:
        """What it has used until now."""
        cpu = self._cpu_usage()
        memory = self.folders.get("memory")
        if memory is None:
            return cpu
        names = (
            ("memory.peak", "memory.events")
            if memory.version == 2
            else ("memory.max_usage_in_bytes", "memory.oom_control")
        )
        peak, events = _read(memory.folder / names[0]), _numbers(_read(memory.folder / names[1]))
        return Usage(
            cpu.cpu_seconds,
            cpu.throttled_seconds,
            cpu.waiting_seconds,
            int(peak) if peak else None,
            events.get("oom_kill", 0),
        )

    def _cpu_usage(self) -> Usage:
        base = self.folders.get("cpu")
        if base is not None and base.version == 2:
            stat = _numbers(_read(base.folder / "cpu.stat"))
            waiting = re.search(r"^some .*total=(\d+)", _read(base.folder / "cpu.pressure"))
            return Usage(
                _seconds(stat.get("usage_usec"), 1e6),
                _seconds(stat.get("throttled_usec"), 1e6),
                _seconds(int(waiting[1]) if waiting else None, 1e6),
            )
        account = self.folders.get("cpuacct")
        used = _read(account.folder / "cpuacct.usage") if account is not None else ""
        stat = _numbers(_read(base.folder / "cpu.stat")) if base is not None else {}
        return Usage(_seconds(int(used) if used else None, 1e9), _seconds(stat.get("throttled_time"), 1e9))

    def limit(self, limits: Limits) -> None:
        """Set the limits, before a process is in it."""
        for controller, base in self.folders.items():
            for name, value in _settings(controller, base.version, limits):
                _write(base.folder / name, value)

    def weigh(self) -> None:
        """Give it the weight of as many processes as there are bots in it: by itself it would count as one."""
        base = self.folders.get("cpu")
        if base is not None:
            bots = len(_subfolders(base.folder))
            name, single = ("cpu.weight", 100) if base.version == 2 else ("cpu.shares", 1024)
            _write(base.folder / name, str(single * min(bots, _MOST_WEIGHED)))

    async def remove(self) -> None:
        """Remove it once the last process in it is gone, and its sitting's if it was the last there.

        What can't be removed in time is left to the next service.
        """
        end = time.monotonic() + _REMOVAL_PATIENCE
        while not self.try_remove() and time.monotonic() < end:
            await asyncio.sleep(0.002)

    def try_remove(self) -> bool:
        """Remove it if nothing is in it, and its sitting's if it was the last there; True when it is gone."""
        gone = not [path for path in self.paths if not _rmdir(path)]
        if gone and self._sitting is not None:
            self._sitting.try_remove()
        return gone


class Cgroups:
    """The place where a service may make groups.

    Args:
        group: a group of version 2 to make them in; None: where the service's own group allows it.

    Raises:
        CageError: none can be made in `group`.
    """

    def __init__(self, group: Path | None = None) -> None:
        self._mark = f"{_PREFIX}-{_pid_namespace()}-{os.getpid()}-{_start_time(os.getpid())}"
        self._bases = _find_bases(group, self._mark)
        for folder in {base.folder for base in self._bases.values()} | set(_version_2_candidates()):
            _remove_orphans(folder)

    @property
    def controllers(self) -> frozenset[str]:
        """Those of `CONTROLLERS` that groups made here have; empty where none can be made."""
        return frozenset(self._bases)

    def sitting(self, name: str) -> Group:
        """The group of a sitting, made when there is none."""
        return Group(_children(self._bases, self._name(name)))

    def _name(self, sitting: str) -> str:
        return f"{self._mark}-{sitting}"

    def usage(self, sitting: str) -> Usage | None:
        """What the bots of a sitting have used together; None when it has no group."""
        group = Group(
            {name: Base(base.folder / self._name(sitting), base.version) for name, base in self._bases.items()}
        )
        return group.usage() if group.paths and group.paths[0].exists() else None

    def bot(self, sitting: str, limits: Limits) -> Group:
        """A new group for a bot of a sitting, with its limits set.

        Raises:
            OSError: the machine no longer lets it be made.
        """
        parent = self.sitting(sitting)
        group = Group(_children(parent.folders, str(next(_numbers_of_bots))), parent)
        try:
            group.limit(limits)
            parent.weigh()
        except OSError:
            group.try_remove()
            raise
        return group


def _children(parent: Mapping[str, Base], name: str) -> dict[str, Base]:
    folders: dict[str, Base] = {}
    for controller, base in parent.items():
        if base.version == 2:
            _enable(base.folder)
        (base.folder / name).mkdir(exist_ok=True)
        folders[controller] = Base(base.folder / name, base.version)
    return folders


def _settings(controller: str, version: int, limits: Limits) -> Iterator[tuple[str, str]]:
    quota = str(max(1000, int(limits.cpus * _PERIOD)))
    match controller, version:
        case "memory", 1:
            yield "memory.limit_in_bytes", str(limits.memory)
            yield "memory.memsw.limit_in_bytes", str(limits.memory)  # with swap; absent where swap is not counted
        case "memory", 2:
            yield "memory.max", str(limits.memory)
            yield "memory.swap.max", "0"
            yield "memory.oom.group", "1"
        case "pids", _:
            yield "pids.max", str(limits.processes + _OF_THE_CAGE)
        case "cpu", 1:
            yield "cpu.cfs_period_us", str(_PERIOD)
            yield "cpu.cfs_quota_us", quota
        case "cpu", 2:
            yield "cpu.max", f"{quota} {_PERIOD}"


_OPTIONAL: Final = ("memory.memsw.limit_in_bytes", "memory.swap.max", "memory.oom.group")


def _find_bases(group: Path | None, mark: str) -> dict[str, Base]:
    """For each controller the group below which this process can make others."""
    if group is not None:
        found = {name: Base(group, 2) for name in _try_version_2(group, mark)}
        if not found:
            raise CageError(
                f"{group}: no control groups can be made below it; name a group of version 2 that is this user's, with "
                "controllers, and with no process in it"
            )
        return found
    places = _own_groups()
    found = {}
    for folder in _version_2_candidates():
        found = {name: Base(folder, 2) for name in _try_version_2(folder, mark)}
        if found:
            break
    for name in CONTROLLERS:
        if name not in found and name in places and _try_version_1(name, places[name][0], mark):
            found[name] = Base(places[name][0], 1)
    return found


def _version_2_candidates() -> list[Path]:
    """This process's group of version 2 and those above it, as far as it can see."""
    own, top = _own_groups().get("", (None, None))
    if own is None or top is None:
        return []
    return [own, *(parent for parent in own.parents if parent.is_relative_to(top))]


def _own_groups() -> dict[str, tuple[Path, Path]]:
    """This process's group and the topmost that it can see, as folders, for each controller; "" is version 2."""
    own: dict[str, str] = {}
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    places: dict[str, tuple[Path, Path]] = {}
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        root, mounted = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        version_1 = options.split(",") if kind == "cgroup" else []
        for name in ("",) if kind == "cgroup2" else CONTROLLERS:
            if name not in own or name in places or (name and name not in version_1):
                continue
            relative = os.path.relpath(own[name], root)
            if not relative.startswith(".."):
                places[name] = (Path(mounted, relative), Path(mounted))
    return places


def _try_version_1(controller: str, folder: Path, mark: str) -> bool:
    probe = folder / f"{mark}-probe"
    try:
        probe.mkdir()
        Group({controller: Base(probe, 1)}).limit(Limits())
    except OSError:  # not ours to write, or less is allowed here than a bot is to have
        return False
    finally:
        _rmdir(probe)
    return True


def _try_version_2(folder: Path, mark: str) -> frozenset[str]:
    """Controllers that a group made in this folder has and that processes could be put under."""
    probe = folder / f"{mark}-probe"
    try:
        _enable(folder)
        probe.mkdir()
    except OSError:
        return frozenset()
    try:
        return frozenset(_read(probe / "cgroup.controllers").split()) & frozenset(CONTROLLERS)
    finally:
        _rmdir(probe)


def _enable(folder: Path) -> None:
    """Hand on to the groups below what this one has (version 2)."""
    wanted = set(_read(folder / "cgroup.controllers").split()) & {"memory", "pids", "cpu"}
    missing = wanted - set(_read(folder / "cgroup.subtree_control").split())
    if missing:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(missing)))


def _remove_orphans(folder: Path) -> None:
    """Remove groups of services of this PID namespace that are no more."""
    pattern = re.compile(rf"{_PREFIX}-{_pid_namespace()}-(\d+)-(\d+)-.*")
    for sitting in _subfolders(folder):
        found = pattern.fullmatch(sitting.name)
        if found is None or _start_time(int(found[1])) == int(found[2]):
            continue
        for path in (*_subfolders(sitting), sitting):
            for pid in _read(path / "cgroup.procs").split():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)
            _rmdir(path)


def _subfolders(folder: Path) -> list[Path]:
    """Groups in a group; none where it is gone, out of sight, or another's to see."""
    try:
        return [Path(entry) for entry in os.scandir(folder) if entry.is_dir()]
    except OSError:
        return []


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since the machine did; None when there is none."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def _rmdir(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # something is still in it
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _write(path: Path, value: str) -> None:
    if path.name in _OPTIONAL and not path.exists():
        return
    path.write_text(value)


def _numbers(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _seconds(count: int | None, per_second: float) -> float | None:
    return None if count is None else count / per_second
