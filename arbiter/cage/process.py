"""The interface of all cages: what is launched, the running process, how it ended."""

from __future__ import annotations

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from arbiter.cage.cgroups import Usage
from arbiter.cage.manifest import Manifest
from arbiter.cage.pipes import LogPipe
from arbiter.cage.waiting import first_within

# After the last process of a bot is dead its log has ended, unless someone outside holds the other end.
_LOG_PATIENCE = 1.0


@dataclass(frozen=True)
class Launch:
    """What to start.

    Attributes:
        folder: the bot's folder, a snapshot's.
        manifest: what its ``bot.toml`` says.
        socket: unix socket of the arbiter on the host, listening, and open to the bot's user (mode 0666).
        environment: variables beside those of the contract (see `arbiter.cage.command`); may hold tokens.
        log_limit: bytes of stdout and stderr together that are kept.
        sitting: a word; bots of the same one share a control group above their own.
    """

    folder: Path
    manifest: Manifest
    socket: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    log_limit: int = 65536
    sitting: str = "alone"


@dataclass(frozen=True)
class Exit:
    """How a bot's process ended: exactly one of the first two is set."""

    code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    """The kernel killed a process of it because its memory limit was reached."""

    def __str__(self) -> str:
        cause = ", out of memory" if self.out_of_memory else ""
        if self.signal is None:
            return f"exit status {self.code}{cause}"
        try:
            return f"killed by {signal.Signals(self.signal).name}{cause}"
        except ValueError:
            return f"killed by signal {self.signal}{cause}"


class BotProcess(ABC):
    """A started bot. Create and use it on one event loop, in a thread that lives as long as the bot.

    When the bot's own process ends, by itself or by `stop`, everything that it started is killed with it.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: LogPipe) -> None:
        self._process = process
        self._log = log
        self._exit: Exit | None = None
        self._end = asyncio.get_running_loop().create_task(self._watch())

    @property
    def pid(self) -> int:
        """Process id on the host of the outermost process; all others descend from it."""
        return self._process.pid

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while anything of it may still run."""
        return self._exit

    @property
    def usage(self) -> Usage | None:
        """What it has used until now, or in all; None where no control group counts it."""
        return None

    @property
    def log(self) -> bytes:
        """stdout and stderr until now: the first and the last half of the limit, with a mark where bytes were cut."""
        return self._log.text

    @property
    def printed(self) -> int:
        """Bytes of stdout and stderr until now, kept or not."""
        return self._log.taken

    async def wait(self) -> Exit:
        """Wait until the bot and everything that it started is gone."""
        return await asyncio.shield(self._end)

    async def ended_within(self, seconds: float) -> Exit | None:
        """How it ended, as soon as everything of it is gone; None when that takes longer. See `first_within`."""
        return await self.wait() if await first_within({self._end}, seconds) else None

    async def stop(self, grace: float) -> Exit:
        """Wait up to `grace` seconds for the bot to end by itself, then kill everything of it and wait for that.

        A bot learns that it should end from its stream, not by a signal. When the call is cancelled, the bot is
        killed at once.
        """
        try:
            await self.ended_within(grace)
        finally:
            if not self._end.done():
                self._kill()
        return await self.wait()

    async def _watch(self) -> Exit:
        try:
            status = await self._process.wait()
        except asyncio.CancelledError:  # the event loop is being taken down around a running bot, and waits for this
            self._kill()
            await self._bury(await self._process.wait())
            raise
        return await self._bury(status)

    async def _bury(self, status: int) -> Exit:
        await self._sweep()
        await self._log.finish(_LOG_PATIENCE)
        self._exit = self._read_status(status)
        return self._exit

    def _read_status(self, status: int) -> Exit:
        return Exit(signal=-status) if status < 0 else Exit(code=status)

    @abstractmethod
    def _kill(self) -> None:
        """Send SIGKILL to everything of the bot."""

    @abstractmethod
    async def _sweep(self) -> None:
        """After the end of the outermost process: kill what is left of the bot and wait until it is gone."""


class Cage(Protocol):
    """A way to start bots."""

    @property
    def name(self) -> str:
        """What the host reads in listings and logs."""

    async def check(self) -> None:
        """Find out, once, whether this cage works on this machine.

        Raises:
            CageError: it does not; the message has the cause and the remedy.
        """

    async def start(self, launch: Launch) -> BotProcess:
        """Start a bot; when this returns, its command is being executed inside the cage.

        Raises:
            CageError: the cage could not be set up; the bot was not run.
        """
