"""Keeps children running: starts again what ended unasked, later each time, and gives up on what never came up."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from arbiter.errors import InfrastructureError
from arbiter.supervisor.children import Child, Command, describe_exit

_LOG = logging.getLogger(__name__)
_LINES = 5  # last lines of a log in events and errors


@dataclass(frozen=True)
class Started:
    """A child was started."""

    name: str
    pid: int


@dataclass(frozen=True)
class Ended:
    """A child ended unasked.

    Attributes:
        name: the child's.
        exit: as `Child.exit`.
        life: seconds that it ran.
        lines: the last lines of its log.
        delay: seconds until it is started again; None when it is given up.
    """

    name: str
    exit: int
    life: float
    lines: tuple[str, ...]
    delay: float | None


Event = Started | Ended
Report = Callable[[Event], None]


def log_event(event: Event) -> None:
    """Write an event to the log of this module: starts as INFO, ends as WARNING."""
    match event:
        case Started(name, pid):
            _LOG.info("%s: started as process %d", name, pid)
        case Ended(name, exit_status, life, _, delay):
            then = "given up" if delay is None else f"starting it again in {delay:.1f} s"
            level = logging.INFO if exit_status == 0 else logging.WARNING  # a worker that has played enough ends so
            _LOG.log(level, "%s: %s after %.1f s; %s", name, describe_exit(exit_status), life, then)


@dataclass(frozen=True)
class Patience:
    """How long to wait for what; all times in seconds.

    Attributes:
        shortest: the least time before a child is started again.
        longest: the most.
        reset: life after which a child's next end counts as its first.
        healthy: life after which a child is known to work and is never given up.
        attempts: ends in a row, none of them healthy, after which a child is given up.
        grace: time that a child has to end when asked, before it is killed.
    """

    shortest: float = 0.2
    longest: float = 10.0
    reset: float = 10.0
    healthy: float = 2.0
    attempts: int = 5
    grace: float = 10.0

    def delay(self, end: int, draw: Callable[[float, float], float] = random.uniform) -> float:
        """Seconds to wait after the `end`-th end in a row (from 0).

        The upper bound doubles with each end; the time is drawn between it and its half, so that children which
        ended together do not come back together.
        """
        upper = min(self.longest, self.shortest * 2.0 ** min(end + 1, 64))
        return draw(max(self.shortest, upper / 2), upper)


class Keeper:
    """Keeps one child running for each command."""

    def __init__(
        self, commands: Sequence[Command], *, patience: Patience | None = None, report: Report = log_event
    ) -> None:
        """Nothing is started before `run`. `report` is called with every event, on the event loop."""
        self._commands = list(commands)
        self._patience = patience or Patience()
        self._report = report
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._children: set[Child] = set()

    async def run(self) -> None:
        """Keep the children running until `stop` is called; when this ends in any way, so have they.

        On the main thread alone; see `Child`.

        Raises:
            InfrastructureError: a child ended time after time and never once was healthy.
        """
        self._tasks = [asyncio.create_task(self._keep(command), name=command.name) for command in self._commands]
        if not self._tasks:
            await self._stopping.wait()
            return
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for task in done:
            task.result()

    def hurry(self) -> None:
        """Ask the children that are still there once more."""
        for child in self._children:
            child.terminate()

    async def stop(self) -> None:
        """Ask all children to end, kill those that do not within the grace, and wait until they have ended."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _keep(self, command: Command) -> None:
        ends = 0
        healthy = False
        while not self._stopping.is_set():
            started = time.monotonic()
            child = Child(command)
            self._children.add(child)
            try:
                self._report(Started(command.name, child.pid))
                await self._until_stopping_or(child)
                ended_unasked = child.exit is not None and not self._stopping.is_set()
                life = time.monotonic() - started
            finally:
                status = await child.stop(self._patience.grace)
                self._children.discard(child)
            if not ended_unasked:
                return
            healthy = healthy or life >= self._patience.healthy
            ends = 0 if life >= self._patience.reset else ends
            lost = not healthy and ends + 1 >= self._patience.attempts
            lines = tuple(child.last_lines(_LINES))
            delay = None if lost else self._patience.delay(ends)
            self._report(Ended(command.name, status, life, lines, delay))
            if delay is None:
                raise InfrastructureError(
                    f"{command.name} ended {self._patience.attempts} times in a row right after its start "
                    f"({describe_exit(status)}); {last_words(lines)}"
                )
            ends += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    async def _until_stopping_or(self, child: Child) -> None:
        waits = [asyncio.ensure_future(child.wait()), asyncio.ensure_future(self._stopping.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def last_words(lines: Sequence[str]) -> str:
    """The last lines of a log within a message of one line."""
    return f"it last said: {' | '.join(lines)}" if lines else "it said nothing"
