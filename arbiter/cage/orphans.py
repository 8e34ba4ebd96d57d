"""Ends what a killed service left of a cage that it was just making: process 1, asleep before its first instruction.

Bubblewrap tells that process by an eventfd that it may start, and only then does it die with its parent. It holds the
eventfd itself, so when its parent is killed before that it waits for ever.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_orphans() -> list[int]:
    """Kill such processes of this user and return their ids on the host.

    One is known by this: a bubblewrap that is process 1 of a PID namespace of its own, asleep, whose parent is no
    bubblewrap, which has no child, and whose command holds what no other program's has: the launcher of this package's
    cages. Process 1 of a cage that is ending by itself can be seen like that for a moment, but not asleep.
    """
    ended: list[int] = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and _is_orphan(Path("/proc", entry)):
            with suppress(ProcessLookupError):
                os.kill(int(entry), signal.SIGKILL)
                ended.append(int(entry))
    return ended


def _is_orphan(process: Path) -> bool:
    try:
        if process.stat().st_uid != os.geteuid() or (process / "comm").read_text() != "bwrap\n":
            return False
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        inside = status["NSpid"].split()
        parent = Path("/proc", status["PPid"], "comm").read_text()
        children = (process / "task" / process.name / "children").read_text().split()
        words = (process / "cmdline").read_bytes().split(b"\0")
    except (OSError, KeyError):  # ended meanwhile, or not ours to look at
        return False
    ours = b"--args" in words and any(word.endswith(b"/prlimit") for word in words)
    asleep = status["State"].startswith("S")
    return ours and asleep and len(inside) > 1 and inside[-1] == "1" and parent != "bwrap\n" and not children
