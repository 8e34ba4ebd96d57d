"""Attempts to take too much of the machine. Each looks for the limit that must stop it before it begins, is bounded
nevertheless, and says how far it came.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

MEBIBYTE = 1 << 20
MOST_PROCESSES = 400
PATIENCE = 60  # seconds after which whatever is left behind ends by itself

HELD: list[socket.socket] = []
"""Open as long as the process lives."""

Facts = dict[str, Any]


def need_limit(name: str, most: int) -> None:
    """End this process, loudly, when nothing would stop the attack."""
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
    if os.getuid() == 0 or not 0 <= hard <= most:
        sys.exit(f"RLIMIT_{name} is {hard} for user {os.getuid()}: not attacking without a limit")


def spawn(script: str) -> subprocess.Popen[bytes]:
    """A shell that runs a script, and ends after a while whatever that is."""
    return subprocess.Popen(["/bin/sh", "-c", f"ulimit -t {PATIENCE}; {script}"], stdin=subprocess.DEVNULL)


def end(children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def fork_bomb(facts: Facts) -> dict[str, Any]:
    need_limit("NPROC", MOST_PROCESSES)
    children: list[int] = []
    stopped = ""
    try:
        while len(children) < MOST_PROCESSES:
            children.append(os.fork())
            if children[-1] == 0:
                signal.alarm(PATIENCE)
                signal.pause()
                os._exit(0)
    except OSError as error:
        stopped = errno.errorcode[error.errno or 0]
    end(children[20:])  # some are left, for the cage to end
    return {"made": len(children), "stopped": stopped}


def thread_bomb(facts: Facts) -> dict[str, Any]:
    need_limit("NPROC", MOST_PROCESSES)
    enough = threading.Event()
    threads: list[threading.Thread] = []
    threading.stack_size(256 << 10)
    stopped = ""
    try:
        while len(threads) < MOST_PROCESSES:
            thread = threading.Thread(target=enough.wait)
            thread.start()
            threads.append(thread)
    except RuntimeError as error:
        stopped = str(error)
    enough.set()
    for thread in threads:
        thread.join()
    return {"made": len(threads), "stopped": stopped}


def memory_bomb(facts: Facts) -> dict[str, Any]:
    """Three times the memory that is allowed, in one process."""
    need_limit("AS", 4 * facts["memory"])
    kept: list[bytes] = []
    while len(kept) * 16 * MEBIBYTE < 3 * facts["memory"]:
        kept.append(b"\1" * (16 * MEBIBYTE))
    return {"taken": len(kept) * 16 * MEBIBYTE}


def many_memory_bombs(facts: Facts) -> dict[str, Any]:
    """Twice the memory that is allowed, in eight processes, each of which stays well below it."""
    need_limit("AS", 4 * facts["memory"])
    if not facts["grouped"]:
        sys.exit("no control group holds the memory: not attacking without a limit")
    hold = [sys.executable, __file__, str(facts["memory"] // 4)]
    holders = [subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)]
    for holder in holders:
        assert holder.stdout is not None
        if not holder.stdout.readline():
            os._exit(9)  # killed for the memory, though it took little itself
    # All have said that they hold theirs, but one that was killed after that may not have been seen to end yet.
    patience = time.monotonic() + 10
    while time.monotonic() < patience:
        if any(holder.poll() is not None for holder in holders):
            os._exit(9)
        time.sleep(0.01)
    return {"held": len(holders)}


def disk_fill(facts: Facts) -> dict[str, Any]:
    need_limit("FSIZE", facts["tmp"])
    taken = {}
    for place in ("/tmp", "/dev/shm"):
        taken[place] = 0
        with suppress(OSError):
            while taken[place] < 4 * facts["tmp"]:
                Path(place, f"fill-{taken[place]}").write_bytes(bytes(MEBIBYTE))
                taken[place] += MEBIBYTE
    return taken


def inode_fill(facts: Facts) -> dict[str, Any]:
    """Empty files, of which only the kernel's memory for them is used."""
    if not facts["grouped"]:
        sys.exit("no control group holds the kernel's memory: not attacking without a limit")
    made = 0
    while made < 600_000:
        os.mknod(f"/tmp/{made}")
        made += 1
    return {"made": made}


def descriptor_bomb(facts: Facts) -> dict[str, Any]:
    """Open files until there are no more."""
    need_limit("NOFILE", 4096)
    kept: list[int] = []
    stopped = ""
    try:
        while len(kept) < 4096:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        stopped = errno.errorcode[error.errno or 0]
    for descriptor in kept:
        os.close(descriptor)
    return {"made": len(kept), "stopped": stopped}


def dial_flood(facts: Facts) -> dict[str, Any]:
    """Dial its own seat again and again, and say nothing there; the connections stay to the end of the sitting."""
    address = os.environ["ARBITER_ADDRESS"].removeprefix("unix:")
    made = 0
    with suppress(OSError):
        for _ in range(300):
            line = socket.socket(socket.AF_UNIX)
            line.settimeout(2.0)
            HELD.append(line)
            line.connect(address)
            made += 1
    return {"made": made}


def log_flood(facts: Facts) -> dict[str, Any]:
    for _ in range(64):
        os.write(2, b"flood\n" * (MEBIBYTE // 6))
    return {}


def burn(facts: Facts) -> dict[str, Any]:
    """Eight processes that compute from now on, whoever's turn it is; the play goes on when they have used much."""
    need_limit("NPROC", MOST_PROCESSES)
    children = [spawn("while :; do :; done").pid for _ in range(8)]
    end, used = time.monotonic() + PATIENCE, 0.0
    while used < 0.3 and time.monotonic() < end:
        time.sleep(0.02)
        fields = (Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children)
        used = sum(int(field[11]) for field in fields) / os.sysconf("SC_CLK_TCK")
    return {"used": used}


def zombies(facts: Facts) -> dict[str, Any]:
    """Children that have ended and that nobody asks after."""
    need_limit("NPROC", MOST_PROCESSES)
    return {"children": [spawn("exit").pid for _ in range(30)]}


def daemons(facts: Facts) -> dict[str, Any]:
    """Processes in sessions of their own, deaf to all that can be ignored, whose parents have ended."""
    need_limit("NPROC", MOST_PROCESSES)
    deaf = f"trap '' TERM INT HUP PIPE; sleep {PATIENCE}; sleep {PATIENCE}"
    for _ in range(5):
        spawn(f'setsid /bin/sh -c "{deaf}" & exit').wait()
    return {}


def leave_traces(facts: Facts) -> dict[str, Any]:
    """Write a mark wherever that is possible."""
    left = []
    for place in ("/", "/bot", "/tmp", "/dev/shm", "/run", "/opt/sdk", "/usr/share", sys.prefix):
        with suppress(OSError):
            Path(place, facts["mark"]).write_text("I was here")
            left.append(place)
    return {"left": left}


def find_traces(facts: Facts) -> dict[str, Any]:
    """Look for the mark everywhere."""
    places = ("/bot", "/tmp", "/dev", "/run", "/opt", "/etc", sys.prefix)
    return {"met": [str(path) for place in places for path in Path(place).rglob(facts["mark"] + "*")]}


def hold(size: int) -> None:
    """Keep so many bytes in use until the end of stdin."""
    kept = b"\1" * size
    print(len(kept), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    hold(int(sys.argv[1]))
