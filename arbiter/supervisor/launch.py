"""Becomes a program that dies with whoever started it: ``python -m arbiter.supervisor.launch OWNER -- PROGRAM ARG...``.

A server such as Redis would outlive an owner that was killed. The parent-death signal of Linux prevents that: see
PR_SET_PDEATHSIG in https://man7.org/linux/man-pages/man2/prctl.2.html. It has to be asked for between fork and exec,
and a program between the two does that without code in the forked copy of an owner that has threads. It is sent when
the *thread* ends that started the child, and it reaches this one process: what a child starts itself, it has to end
itself. Other systems have no such signal; there a child of a killed owner stays.

``OWNER`` is the process id of the owner. Exit status: 2 usage, 126 can't be executed, 127 not found, as in a shell.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def launch_command(argv: Sequence[str]) -> list[str]:
    """The command by which the running process starts `argv` through this module.

    By file and isolated, so that neither the child's environment nor the working folder decides what is imported.
    """
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), "--", *argv]


def main(arguments: list[str]) -> int:
    """Replace this process by the program; returns an exit status only when that fails."""
    match arguments:
        case [owner, "--", program, *_] if owner.isdigit():
            argv = arguments[2:]
        case _:
            print("usage: python -m arbiter.supervisor.launch OWNER -- PROGRAM ARG...", file=sys.stderr)
            return 2
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
            print(f"launch: prctl: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
            return 1
    if os.getppid() != int(owner):  # it ended before the signal was asked for, so the signal would never come
        print(f"launch: the owner, process {owner}, has ended; {program} was not started", file=sys.stderr)
        return 1
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):  # an exec would pass that on
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvp(program, argv)
    except FileNotFoundError:
        print(f"launch: {program}: no such program", file=sys.stderr)
        return 127
    except OSError as error:
        print(f"launch: {program}: {error.strerror}", file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
