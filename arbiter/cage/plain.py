"""No cage: a bare process, for one's own bots on machines where no cage can be built.

The bot sees and can do whatever its user can. Two things hold nevertheless: no bot runs at user id 0 (a service of
root gives each bot a fresh unprivileged one), and a bot's own process does not outlive its worker where ``setpriv`` can
see to it. A process that a bot puts into a session of its own is found only where the bot has a user id of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from arbiter.cage.command import (
    PACKAGE_FOLDER,
    bot_command,
    bot_environment,
    check_socket,
    fresh_uid,
)
from arbiter.cage.errors import CageError
from arbiter.cage.limits import CageSettings
from arbiter.cage.pipes import LogPipe
from arbiter.cage.process import BotProcess, Launch
from arbiter.cage.runtimes import interpreter

_POLL = 0.01  # seconds; a bot's children are not the service's, so the system reports no end of theirs
# Through a shell, so that a command that can't be executed ends the bot with a line in its log, as it does in a cage.
_EXECUTE = ("/bin/sh", "-c", 'exec "$@"', "sh")


class PlainCage:
    """Starts bots as bare processes in sessions of their own.

    Args:
        settings: how bots are started; nothing else of it can hold.
    """

    name = "none (unsafe)"

    def __init__(self, settings: CageSettings | None = None) -> None:
        self._runtimes = (settings or CageSettings()).runtimes

    async def check(self) -> None:
        """Nothing can be missing: what a bot needs is looked at when it is started."""

    async def start(self, launch: Launch) -> BotProcess:
        """Start a bot; see `arbiter.cage.process.Cage.start`."""
        uid = fresh_uid() if os.geteuid() == 0 else None
        check_socket(launch.socket, as_other_user=uid is not None)
        folder, socket = launch.folder.resolve(), launch.socket.resolve()
        if uid is not None:
            python = (interpreter(), interpreter().resolve(), PACKAGE_FOLDER)
            own_python = self._runtimes.named(launch.manifest.runtime).own_python
            for path in (folder, socket, *(python if own_python else ())):
                _check_reach(path)
        home = Path(tempfile.mkdtemp(prefix="bot-"))
        output, output_inside = os.pipe()
        log = LogPipe(output, launch.log_limit)
        started = False
        try:
            if uid is not None:
                os.chown(home, uid, uid)
            environment = bot_environment(f"unix:{socket}", str(home), str(PACKAGE_FOLDER.parent), launch.environment)
            process = await asyncio.create_subprocess_exec(
                *_set_up(uid),
                *_EXECUTE,
                *bot_command(launch.manifest, folder, self._runtimes),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output_inside,
                stderr=output_inside,
                start_new_session=True,
                cwd=folder,
                env=environment,
            )
            started = True
            return _PlainProcess(process, log, home, uid)
        finally:
            os.close(output_inside)
            if not started:
                log.close()
                shutil.rmtree(home)


class _PlainProcess(BotProcess):
    def __init__(self, process: asyncio.subprocess.Process, log: LogPipe, home: Path, uid: int | None) -> None:
        self._home = home
        self._uid = uid
        super().__init__(process, log)

    def _kill(self) -> None:
        _signal(self.pid)
        self._kill_members()

    async def _sweep(self) -> None:
        while self._kill_members():
            await asyncio.sleep(_POLL)
        # A bot can make a folder that its own user can't delete; then it stays, as every other trace of its user does.
        shutil.rmtree(self._home, ignore_errors=True)

    def _kill_members(self) -> int:
        members = [pid for pid in _all_processes() if self._owns(pid)]
        for pid in members:
            _signal(pid)
        return len(members)

    def _owns(self, pid: int) -> bool:
        try:
            lines = Path("/proc", str(pid), "status").read_text().splitlines()
        except OSError:  # gone meanwhile
            return False
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        if status["State"].split()[0] in "ZX":
            return False
        if self._uid is not None:
            return int(status["Uid"].split()[0]) == self._uid
        return int(status["NSsid"].split()[0]) == self.pid


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _signal(pid: int) -> None:
    with suppress(ProcessLookupError):  # dead already
        os.kill(pid, signal.SIGKILL)


def _set_up(uid: int | None) -> list[str]:
    """What comes before a bot's command: its user, and its end with the service where that can be had.

    By a program, because a process that changes its user between fork and exec runs gRPC's handlers for a fork, which
    can end it.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None or Path(setpriv).resolve().name != "setpriv":  # busybox has one that knows no such options
        if uid is not None:
            raise CageError("a bot never runs as root, and setpriv was not found; run: apt install util-linux")
        return []
    user = [] if uid is None else ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    return [setpriv, *user, "--pdeathsig", "KILL", "--"]


def _check_reach(path: Path) -> None:
    for parent in path.parents:
        if not parent.stat().st_mode & 0o001:
            raise CageError(
                f"{path}: a bot never runs as root, and the unprivileged user that it gets can't pass {parent}; "
                f"run the service as an ordinary user, or: chmod o+x {parent}"
            )
