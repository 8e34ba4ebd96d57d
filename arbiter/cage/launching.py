"""Starts one cage of bubblewrap's and holds it until all of it is gone.

The life of a cage hangs on process 1 of its PID namespace: when it is dead the kernel has killed all others, and it
dies with the outer bubblewrap, which dies with the thread of the service that started it. Process 1 asks for that
only when all else is set up, so the bot has to wait until it has: a service that is killed before leaves a shell that
ends by itself. One that is killed in the instant between the making of process 1 and its first instruction leaves that
one behind, asleep, with no bot; the next service of the same user ends it (see `arbiter.cage.orphans`).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from arbiter.cage.cgroups import Group, Usage
from arbiter.cage.errors import CageError
from arbiter.cage.pipes import LogPipe, read_until, readable
from arbiter.cage.process import BotProcess, Exit
from arbiter.cage.seccomp import adds_filter

# The shell reports on its stdin, a socket, that everything is set up, waits there for the word to go on, and puts
# /dev/null in its place for the bot. Should the service die before it gives the word, the bot is never run.
ANNOUNCE = ("/bin/sh", "-c", 'echo >&0 && read go || exit; unset PWD OLDPWD SHLVL go; exec "$@" </dev/null', "sh")
"""Goes into a cage's command after everything that sets the cage up."""

# Before bubblewrap, so that its cgroup namespace begins at the bot's group and hides how that is called.
_JOIN = (
    *("/bin/sh", "-c"),
    'while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs" || exit; shift; done; shift; unset PWD OLDPWD SHLVL; exec "$@"',
    "sh",
)


async def launch(
    bwrap: Path, arguments: list[str], command: list[str], seccomp: bytes, group: Group, log_limit: int
) -> BotProcess:
    """Start a cage; when this returns, what follows `ANNOUNCE` in `command` is being executed inside.

    Args:
        bwrap: the program.
        arguments: its arguments, which nobody but it can read.
        command: what is run inside; see `ANNOUNCE`.
        seccomp: the filter of system calls.
        group: the control group of the cage; removed with it.
        log_limit: as for `arbiter.cage.process.Launch`.

    Raises:
        CageError: the cage could not be set up; says what was seen last.
    """
    ready, ready_inside = (end.detach() for end in socket.socketpair())
    info, info_inside = os.pipe()
    blocked, unblock = os.pipe()
    output, output_inside = os.pipe()
    log = LogPipe(output, log_limit)
    options = _memory_file(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
    program = _memory_file(seccomp)
    process: asyncio.subprocess.Process | None = None
    first: int | None = None
    started = False
    join = [*_JOIN, *map(str, group.paths), "--"] if group.paths else []
    handed = {"--args": options, "--info-fd": info_inside, "--block-fd": blocked, "--seccomp": program}
    words = [word for option, descriptor in handed.items() for word in (option, str(descriptor))]
    try:
        try:
            process = await _spawn(
                [*join, str(bwrap), *words, "--", *command],
                stdin=ready_inside,
                output=output_inside,
                others=tuple(handed.values()),
            )
        except OSError as error:
            raise CageError(f"{bwrap}: can't be run ({error.strerror}); install bubblewrap again") from error
        finally:
            for descriptor in (ready_inside, info_inside, output_inside, options, program):
                os.close(descriptor)
        # Process 1 waits on the blocking pipe until a pidfd holds it: its number alone could come to mean another one.
        if about := await read_until(info, b"}"):
            number = json.loads(about)["child-pid"]
            first = _open_process(number)
        os.write(unblock, b"\n")
        if first is None or not (await read_until(ready, b"\n") and await _dies_with_us(number) and _go(ready)):
            await process.wait()
            await log.finish(1.0)
            raise CageError(last_line(log.text))
        started = True
        return _BubblewrapProcess(process, log, first, group)
    finally:
        for descriptor in (ready, info, blocked, unblock):
            os.close(descriptor)
        if not started:
            log.close()
            if process is not None:
                await _destroy(process, first)
            await group.remove()


def last_line(output: bytes) -> str:
    """The last line in which there is something."""
    lines = output.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")


class _BubblewrapProcess(BotProcess):
    def __init__(self, process: asyncio.subprocess.Process, log: LogPipe, first: int, group: Group) -> None:
        self._first: int | None = first  # pidfd of process 1 of the cage
        self._group = group
        self._used: Usage | None = None
        super().__init__(process, log)

    @property
    def usage(self) -> Usage | None:
        """See `BotProcess.usage`."""
        return self._used or (self._group.usage() if self._group.paths else None)

    def _kill(self) -> None:
        if self._first is not None:
            _signal(self._first)

    async def _sweep(self) -> None:
        if self._first is None:
            return
        # The end of the outer process has killed process 1 already; the wait is for the last process of the namespace,
        # which the kernel kills before it reports process 1 as dead.
        try:
            _signal(self._first)
            await readable(self._first)
        finally:
            os.close(self._first)
            self._first = None
            self._used = self.usage
            await self._group.remove()

    def _read_status(self, status: int) -> Exit:
        out_of_memory = self._used is not None and self._used.oom_kills > 0
        if status < 0:  # the outermost process itself, which shares the bot's memory
            return Exit(signal=-status, out_of_memory=out_of_memory)
        # Bubblewrap reports a signal as shells do, as 128 plus its number.
        try:
            return Exit(signal=signal.Signals(status - 128), out_of_memory=out_of_memory)
        except ValueError:
            return Exit(code=status, out_of_memory=out_of_memory)


def _signal(pidfd: int) -> None:
    with suppress(ProcessLookupError):  # dead already
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


async def _spawn(command: list[str], stdin: int, output: int, others: tuple[int, ...]) -> asyncio.subprocess.Process:
    creation = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=output,
            stderr=output,
            pass_fds=others,
            start_new_session=True,  # a Ctrl-C in the service's terminal is the service's to handle
            cwd="/",
            env={},  # what bubblewrap is started with can be read in the cage, at /proc/1/environ
        )
    )
    try:
        return await asyncio.shield(creation)
    except asyncio.CancelledError:
        await _destroy(await creation, None)
        raise


async def _destroy(process: asyncio.subprocess.Process, first: int | None) -> None:
    """Kill a cage that is not complete: what is to be process 1 does not die with the outer process yet.

    Until it is held by `first`, a pidfd that this closes, it is in the outer one's process group.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):  # ended meanwhile, and its end is about to be reported
            os.killpg(process.pid, signal.SIGKILL)
    if first is not None:
        _signal(first)
        await readable(first)
        os.close(first)
    await process.wait()


async def _dies_with_us(first: int) -> bool:
    """Wait until process 1 of a cage has asked to die with the outer one; False when it has ended instead.

    It asks just before it applies the filter of system calls, which can be seen. The service may be under one itself,
    as in a container, and all that it starts is too.
    """
    inherited = Path("/proc/self/status").read_text()
    while True:
        try:
            status = Path(f"/proc/{first}/status").read_text()
        except OSError:
            return False
        if adds_filter(status, inherited):
            return True
        if "\nState:\tZ" in status:
            return False
        await asyncio.sleep(0.001)


def _go(ready: int) -> bool:
    """Give the word for which the shell in a cage waits; False when it has ended meanwhile."""
    try:
        return os.write(ready, b"\n") == 1
    except BrokenPipeError:
        return False


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:  # setting up the cage has failed already
        return None


def _memory_file(content: bytes) -> int:
    """Content in a file of memory: a command line can be read by every user of the host, and arguments hold tokens."""
    descriptor = os.memfd_create("cage")
    with os.fdopen(os.dup(descriptor), "wb") as sink:
        sink.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
