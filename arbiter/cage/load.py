"""What ran on this machine since the last look: this process, the bots' process trees, and everything else.

All figures are differences between two readings, taken from ``/proc`` as proc(5) and the kernel's
``Documentation/scheduler/sched-stats.rst`` describe it. Where there is no ``/proc``, all that is known is the time
that passed and what this process used of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
_QUOTA: Final = (
    (Path("/sys/fs/cgroup/cpu.stat"), b"throttled_usec", 1e-6),
    (Path("/sys/fs/cgroup/cpu/cpu.stat"), b"throttled_time", 1e-9),
)
"""Where a container sees for how long its CPU quota held it up, under cgroup v2 and v1; the name there, its unit."""


@dataclass(frozen=True, slots=True)
class BotLoad:
    """What one bot's processes did between two readings, in seconds."""

    cpu: float
    """CPU time of all of them, those that ended meanwhile included."""
    waited: float
    """For how long a thread of it was ready to run and got no CPU: the longest of its threads."""
    hidden: bool = False
    """Whether some of its CPU time may have gone unseen."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the machine did between two readings, in seconds."""

    elapsed: float
    """Wall time."""
    own: float
    """CPU time of this process."""
    queued: float
    """For how long the calling thread was ready to run and got no CPU, or was held up by its container's quota."""
    busy: float
    """CPU time of everything on the CPUs that this process may use."""
    stolen: float
    """Time that a hypervisor took from those CPUs while they had work."""
    bots: tuple[BotLoad, ...]
    """In the order in which their processes were given."""
    at: float
    """When the second reading began, on the clock of ``time.monotonic``."""


@dataclass(slots=True)
class _Tree:
    """The last reading of one bot's processes."""

    cpu: float = 0.0
    waited: dict[str, int] = field(default_factory=dict)
    """By thread: nanoseconds."""


class LoadMeter:
    """Reads the load from one thread, the one whose waiting is to be known."""

    def __init__(self) -> None:
        self._cpus: Final = _own_cpus()
        self._trees: dict[int, _Tree] = {}
        self._at = time.monotonic()
        self._own = time.process_time()
        self._queued = _thread_waited("thread-self")
        self._throttled = _throttled()
        self._busy, self._stolen = self._machine()

    def read(self, roots: Sequence[int | None]) -> Load:
        """The load since the last reading, or since the meter was made.

        Args:
            roots: for each bot, the outermost process of its own; None for one without a process.
        """
        now, own, queued, throttled = time.monotonic(), time.process_time(), _thread_waited("thread-self"), _throttled()
        busy, stolen = self._machine()
        children = _children() if any(root is not None for root in roots) else {}
        held_up = max(0.0, throttled - self._throttled) / max(1, len(self._cpus))  # the kernel adds all CPUs up
        load = Load(
            elapsed=now - self._at,
            own=own - self._own,
            queued=(queued - self._queued) / 1e9 + held_up,
            busy=busy - self._busy,
            stolen=stolen - self._stolen,
            bots=tuple(BotLoad(0.0, 0.0) if root is None else self._bot(root, children) for root in roots),
            at=now,
        )
        self._at, self._own, self._queued, self._throttled = now, own, queued, throttled
        self._busy, self._stolen = busy, stolen
        return load

    def _bot(self, root: int, children: dict[int, list[int]]) -> BotLoad:
        before = self._trees.get(root, _Tree())
        now = _Tree()
        for pid in _descent(root, children):
            now.cpu += _cpu_with_ended_children(pid)
            for thread in _threads(pid):
                now.waited[thread] = _thread_waited(thread)
        self._trees[root] = now
        waited = (total - before.waited.get(thread, 0) for thread, total in now.waited.items())
        return BotLoad(cpu=max(0.0, now.cpu - before.cpu), waited=max(waited, default=0) / 1e9)

    def _machine(self) -> tuple[float, float]:
        """Busy and stolen seconds since the machine started, over this process's CPUs."""
        busy = stolen = 0
        for line in _read(PROC / "stat").split(b"\n"):
            name, _, numbers = line.partition(b" ")
            if name.decode(errors="replace") in self._cpus:
                user, nice, system, _idle, _iowait, irq, softirq, steal = (int(n) for n in numbers.split()[:8])
                busy += user + nice + system + irq + softirq
                stolen += steal
        return busy * _TICK, stolen * _TICK


def _own_cpus() -> frozenset[str]:
    return frozenset(f"cpu{number}" for number in os.sched_getaffinity(0)) if _PROC_STAT else frozenset()


def _read(path: Path) -> bytes:
    """A file's content; nothing when its process has ended, or where there is no such file."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


_PROC_STAT: Final = bool(_read(PROC / "stat"))


def _children() -> dict[int, list[int]]:
    """Every process's children, by process id."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir(PROC) if _PROC_STAT else ():
        if entry.isdigit():
            fields = _fields(int(entry))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(entry))
    return children


def _descent(root: int, children: dict[int, list[int]]) -> Iterator[int]:
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, ())


def _fields(pid: int) -> list[bytes]:
    """The fields of ``/proc/PID/stat`` from the third, the state, on; none when the process has ended."""
    return _read(PROC / str(pid) / "stat").rpartition(b")")[2].split()


def _cpu_with_ended_children(pid: int) -> float:
    fields = _fields(pid)
    return sum(int(number) for number in fields[11:15]) * _TICK


def _threads(pid: int) -> list[str]:
    try:
        return [f"{pid}/task/{thread}" for thread in os.listdir(PROC / str(pid) / "task")]
    except OSError:
        return []


def _thread_waited(thread: str) -> int:
    """Nanoseconds for which a thread was ready to run and had no CPU."""
    fields = _read(PROC / thread / "schedstat").split()
    return int(fields[1]) if len(fields) == 3 else 0


def _throttled() -> float:
    """Seconds for which this container was held up, all its CPUs added."""
    for path, name, unit in _QUOTA:
        for line in _read(path).splitlines():
            if line.startswith(name + b" "):
                return int(line.split()[1]) * unit
    return 0.0
