"""Run inside a cage by itself: tries what a bot must not be able to do, and prints what came of it as a line of JSON.

It needs the standard library alone. Everything is harmless should it succeed: system calls get arguments that mean
nothing, values are written back as they were read, memory is reserved and not used, and all of it is bounded.

Usage: ``look JSON`` with the system calls' numbers and the limits that are to hold, or ``use BYTES``.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

PLACES = ("/", "/usr", "/dev", "/etc", "/run", "/opt/sdk", "/proc/sys/kernel")
OUTSIDE = (
    "/etc/passwd",
    "/etc/hostname",
    "/etc/shadow",
    "/boot",
    "/sys/kernel",
    "/var/log",
)  # no interpreter lies there
MEBIBYTE = 1 << 20


def attempt(action: Callable[[], object]) -> str:
    """ "done", or the name of the error."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "done"


def call(number: int, *arguments: int) -> None:
    """Make a system call by its number."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) == -1:
        raise OSError(ctypes.get_errno(), "refused")


def make_file(path: Path) -> None:
    """Make a file and remove it."""
    path.touch(exist_ok=False)
    path.unlink()


def write_back(path: Path) -> None:
    """Write to a file what is in it."""
    path.write_bytes(path.read_bytes())


def count_threads(most: int) -> int:
    """How many threads there can be at once, this one among them; tried up to a number."""
    end = threading.Event()
    running: list[threading.Thread] = []
    threading.stack_size(256 << 10)
    with suppress(RuntimeError):  # what the interpreter makes of a refused clone
        while len(running) < most:
            thread = threading.Thread(target=end.wait)
            thread.start()
            running.append(thread)
    end.set()
    for thread in running:
        thread.join()
    return len(running) + 1


def count_files(most: int) -> int:
    """How many files can be open at once; tried up to a number."""
    opened = [0]
    with suppress(OSError):
        while len(opened) < most:
            opened.append(os.dup(0))
    for descriptor in opened[1:]:
        os.close(descriptor)
    return max(opened) + 1


def fill(folder: str, most: int) -> int:
    """How many bytes a folder takes, in files of 1 MiB; tried up to a number."""
    made: list[Path] = []
    with suppress(OSError):
        while len(made) * MEBIBYTE < most:
            made.append(Path(folder, f"fill-{len(made)}"))
            with made[-1].open("wb") as sink:
                os.posix_fallocate(sink.fileno(), 0, MEBIBYTE)
    taken = sum(path.stat().st_size for path in made)
    for path in made:
        path.unlink()
    return taken


def look(calls: dict[str, int], limits: dict[str, int]) -> dict[str, object]:
    """Try everything that needs no control group."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return {
        "user": os.getuid(),
        "capabilities": [name for name in ("CapPrm", "CapEff", "CapAmb") if int(status[name], 16)],
        "no_new_privileges": status["NoNewPrivs"] == "1",
        "kernel_settings": attempt(partial(write_back, Path("/proc/sys/kernel/core_pattern"))),
        "writes": [place for place in PLACES if attempt(partial(make_file, Path(place, "new"))) == "done"],
        "sees": [path for path in OUTSIDE if os.path.exists(path)],
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "interfaces": [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]],
        "internet": attempt(lambda: socket.socket(socket.AF_INET).close()),
        "filtered": status["Seccomp"] == "2",
        "calls": {name: attempt(partial(call, number, -1, 0, 0)) for name, number in calls.items()},
        "threads": count_threads(2 * limits["processes"]),
        "files": count_files(2 * limits["open_files"]),
        "core": resource.getrlimit(resource.RLIMIT_CORE)[1],
        "reserve": attempt(lambda: mmap.mmap(-1, limits["address_space"]).close()),
        "tmp": fill("/tmp", limits["tmp"] + 4 * MEBIBYTE),
        "shm": fill("/dev/shm", limits["shm"] + 4 * MEBIBYTE),
    }


def use(most: int) -> None:
    """Use memory up to a number of bytes."""
    kept: list[bytes] = []
    while len(kept) * MEBIBYTE < most:
        kept.append(b"\1" * MEBIBYTE)


def main(way: str, argument: str) -> None:
    """See the module."""
    if way == "look":
        print(json.dumps(look(**json.loads(argument))))
    else:
        use(int(argument))


if __name__ == "__main__":
    main(*sys.argv[1:])
