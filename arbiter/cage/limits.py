"""What a bot may use of a machine, and what the host asks of the cage: defaults, and the variables that change them.

::

    ARBITER_BOT_MEMORY        1G    memory of a bot with all that it starts and writes; see `Limits.address_space`
    ARBITER_BOT_PROCESSES     64    processes and threads
    ARBITER_BOT_OPEN_FILES    512   open files of a process
    ARBITER_BOT_TMP           64M   bytes in /tmp, the only place to write but for /dev/shm
    ARBITER_BOT_SHM           16M   bytes in /dev/shm
    ARBITER_BOT_CPUS          1     processors at a time, where control groups can hold it; 0.5 is half of one
    ARBITER_CAGE_LEVEL        basic what must hold before a bot is run: basic or full
    ARBITER_CGROUP                  a control group (cgroup v2) of the host's making for the bots' groups
    ARBITER_RUNTIMES                a table of runtimes in place of the shipped one; see `arbiter.cage.runtimes`
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from arbiter.cage.runtimes import Runtimes
from arbiter.errors import UsageError

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,12})([KMG]?)")


class Level(StrEnum):
    """How much protection the host requires."""

    BASIC = "basic"
    """All that needs no control groups: what an ordinary user's cage can hold."""
    FULL = "full"
    """Everything: also memory and processors of a bot as a whole, and a user id of its own for each bot."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one bot may use, with everything that it starts."""

    memory: int = 1 << 30
    """Bytes of memory, files in memory among them."""
    processes: int = 64
    """Processes and threads."""
    open_files: int = 512
    """Open files of each process."""
    tmp: int = 64 << 20
    """Bytes in ``/tmp``; also of any one file."""
    shm: int = 16 << 20
    """Bytes in ``/dev/shm``."""
    cpus: float = 1.0
    """Processors at a time."""

    def address_space(self, grouped: bool) -> int:
        """Bytes of address space for each process.

        Runtimes reserve more than they use (Node.js with a worker thread 1.3 GB). Where a control group bounds what is
        used there is much room for that; else this is all that bounds it, and there is little.
        """
        return (4 if grouped else 2) * self.memory


@dataclass(frozen=True, slots=True)
class CageSettings:
    """What the host sets for all cages of a service."""

    limits: Limits = field(default_factory=Limits)
    level: Level = Level.BASIC
    """What must hold before a bot is run."""
    group: Path | None = None
    """A control group below which the bots' groups are made; None: the service's own or one above it."""
    runtimes: Runtimes = field(default_factory=Runtimes.from_environment)
    """How bots are started."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> CageSettings:
        """Read the variables above.

        Raises:
            UsageError: a value is bad; names the variable and what would be right.
        """
        default = Limits()
        limits = Limits(
            memory=_size(environment, "ARBITER_BOT_MEMORY", default.memory, least=64 << 20),
            processes=_count(environment, "ARBITER_BOT_PROCESSES", default.processes, least=16),
            open_files=_count(environment, "ARBITER_BOT_OPEN_FILES", default.open_files, least=32),
            tmp=_size(environment, "ARBITER_BOT_TMP", default.tmp, least=1 << 20),
            shm=_size(environment, "ARBITER_BOT_SHM", default.shm, least=1 << 20),
            cpus=_processors(environment, "ARBITER_BOT_CPUS", default.cpus),
        )
        level = environment.get("ARBITER_CAGE_LEVEL") or Level.BASIC
        if level not in list(Level):
            raise UsageError(f"ARBITER_CAGE_LEVEL is {level!r}; write {' or '.join(Level)}")
        group = environment.get("ARBITER_CGROUP")
        return cls(limits, Level(level), Path(group) if group else None, Runtimes.from_environment(environment))


def _size(environment: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = environment.get(name)
    if not text:
        return default
    found = _SIZE.fullmatch(text)
    if found is None or (size := int(found[1]) * _UNITS[found[2]]) < least:
        raise UsageError(f"{name} is {text!r}; write bytes such as 512M or 1G, at least {least >> 20}M")
    return size


def _count(environment: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = environment.get(name)
    if not text:
        return default
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < least:
        raise UsageError(f"{name} is {text!r}; write a whole number of at least {least}")
    return int(text)


def _processors(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if not text:
        return default
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text) or float(text) < 0.05:
        raise UsageError(f"{name} is {text!r}; write a number of processors such as 1 or 0.5, at least 0.05")
    return float(text)
