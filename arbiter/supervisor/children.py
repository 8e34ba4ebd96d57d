"""A child process with a log: how it is started, stopped and read."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from arbiter.errors import InfrastructureError
from arbiter.supervisor.launch import launch_command

_TAIL = 65536  # bytes of a log that are looked at for its last lines


@dataclass(frozen=True)
class Command:
    """What to start.

    Attributes:
        name: what messages call the child, e.g. ``worker 2``.
        argv: program and arguments; the program is looked for on PATH.
        log: file that stdout and stderr are appended to, made with mode 0600 when missing; None: the owner's stderr.
        env: the whole environment; None is the owner's.
    """

    name: str
    argv: Sequence[str]
    log: Path | None
    env: Mapping[str, str] | None = field(default=None, repr=False)


class Child:
    """A process that dies with its owner, even when that is killed (on Linux).

    It leads a session of its own, so that a Ctrl-C on the terminal reaches the owner alone. When it ends, for whatever
    reason, everything that is left of its process group is killed.
    """

    def __init__(self, command: Command) -> None:
        """Start it; call this on the main thread, in a running event loop.

        Raises:
            InfrastructureError: its log can't be written, or the system starts no more processes. (A program that
                can't be executed is no such error: the child then ends with status 126 or 127 and a line in its log.)
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(f"{command.name}: start it on the main thread, for it dies with the thread that did")
        self.command = command
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._lock = threading.Lock()
        self._exit: int | None = None
        try:
            self._process, self._log_start = _spawn(command)
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise InfrastructureError(
                f"{command.name} can't be started: {error.strerror}{where}; "
                f"it needs {command.log or 'stderr'} to be writable and room for a process"
            ) from error
        # No thread of a pool, for these are waited for at the end of the event loop.
        threading.Thread(target=self._watch, name=f"watch {command.name}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id; also the id of its process group and session."""
        return self._process.pid

    @property
    def exit(self) -> int | None:
        """Exit status, or the negative number of the signal that killed it; None while it runs."""
        return self._exit

    async def wait(self) -> int:
        """Wait until it has ended; returns its `exit`."""
        await self._ended.wait()
        assert self._exit is not None
        return self._exit

    def terminate(self) -> None:
        """Send SIGTERM; its end is not waited for."""
        self._signal(signal.SIGTERM)

    async def stop(self, grace: float) -> int:
        """Send SIGTERM, wait up to `grace` seconds, kill its process group, wait; returns its `exit`.

        When the call is cancelled, the group is killed at once.
        """
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                return await self.wait()
        except TimeoutError:
            self.kill()
            return await self.wait()
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        """Send SIGKILL to its process group; its end is not waited for."""
        with self._lock:
            if self._exit is None:
                self._kill_group()

    def last_lines(self, count: int) -> list[str]:
        """The last `count` lines of its own in the log (empty ones left out); what ran before it is not among them."""
        if self.command.log is None:
            return []
        try:
            with self.command.log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, size - _TAIL))
                text = log.read().decode(errors="replace")
        except OSError:  # someone removed it
            return []
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:  # with `_watch`: the id belongs to the child until it has been reaped
            if self._exit is None:
                os.kill(self.pid, number)

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # none left; left ones have changed their user
            os.killpg(self.pid, signal.SIGKILL)

    def _watch(self) -> None:
        with suppress(ChildProcessError):  # where SIGCHLD is ignored, the system reaps
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._kill_group()  # before the child is reaped, so that the id can't mean another group yet
            self._exit = self._process.wait()
        with suppress(RuntimeError):  # the event loop is closed, nobody waits
            self._loop.call_soon_threadsafe(self._ended.set)


def describe_exit(status: int) -> str:
    """`Child.exit` in words, e.g. ``exit status 1`` or ``killed by SIGKILL``."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:  # realtime signals have no names
        return f"killed by signal {-status}"


def _spawn(command: Command) -> tuple[subprocess.Popen[bytes], int]:
    """The started process, and the size of the log before it."""
    if command.log is None:
        log, size = os.dup(sys.stderr.fileno()), 0
    else:
        log = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        size = os.fstat(log).st_size
    try:
        process = subprocess.Popen(
            launch_command(command.argv),
            env=command.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        return process, size
    finally:
        os.close(log)
