"""Builds a bot version in a cage: no network, limited time, memory, processes, disk and output.

The program `arbiter.packages.builder` runs in the cage in the bot's place, with a copy of the source in the only folder
that can be written, which is in memory and gone afterwards. The result comes back over the cage's socket and is checked
as a package from outside is; then it is a version of its own, with its own digest.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final, cast

from arbiter.cage import (
    BotProcess,
    CageSettings,
    Exit,
    Launch,
    Limits,
    Manifest,
    ManifestError,
    Runtime,
    Runtimes,
    SnapshotError,
    choose_cage,
    load_manifest,
)
from arbiter.packages import builder
from arbiter.packages.limits import CHUNK, PackageError, PackageLimits
from arbiter.packages.unpacking import unpacked
from arbiter.packages.versions import Versions

_PROGRAM: Final = Path(builder.__file__).read_text(encoding="utf-8")
_BUILDER: Final = Manifest("build", "builder", ("builder", "-c", _PROGRAM))
_RUNTIMES: Final = Runtimes({"builder": Runtime("builder", word="builder", program=("{python}",))}, "the build step")
_LAST: Final = 4096
"""Bytes of the log in which a sign of a limit is looked for."""
_ARRIVAL: Final = 5.0
"""Seconds that a finished build's result may take to arrive: it is in the socket already, if it was sent."""
_LOOK: Final = 0.05
"""Seconds between two looks at how much a build has printed."""
_MACHINE: Final = Limits(memory=2 << 30, processes=64, tmp=1 << 30, cpus=2.0)
# Compilers' output may well be as empty as deflate can make use of.
_RESULT: Final = PackageLimits(
    archive_bytes=256 << 20, unpacked_bytes=512 << 20, file_bytes=256 << 20, entries=10_000, ratio=1100
)
# How programs say it when a limit stops them; the kernel keeps no record of these.
_SIGNS: Final = (
    (b"No space left on device", "disk"),
    (b"File size limit exceeded", "disk"),
    (b"Cannot fork", "processes"),
    (b"Resource temporarily unavailable", "processes"),
    (b"can't start new thread", "processes"),
    (b"MemoryError", "memory"),
    (b"bad_alloc", "memory"),
    (b"Cannot allocate memory", "memory"),
    (b"virtual memory exhausted", "memory"),
    (b"out of memory", "memory"),
)


class BuildEnd(StrEnum):
    """How a build ended."""

    BUILT = "built"
    """The result is a version."""
    NOT_NEEDED = "not needed"
    """The runtime builds nothing: the version is started as it is."""
    FAILED = "failed"
    """The build command ended with an error of its own."""
    TIMEOUT = "timeout"
    """It took too long."""
    OUT_OF_MEMORY = "out of memory"
    """It asked for more memory than it may have."""
    PROCESSES = "too many processes"
    """It started more processes and threads than it may have."""
    DISK = "disk full"
    """It wrote more than it may."""
    OUTPUT = "too much output"
    """It printed more than it may."""
    REFUSED = "result refused"
    """What it made is no bot package."""


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """What one build may use."""

    seconds: float = 300.0
    """Wall time."""
    printed_bytes: int = 16 << 20
    """Bytes on stdout and stderr, after which it is stopped."""
    log_bytes: int = 256 << 10
    """Bytes of that which are kept: the first and the last half."""
    machine: Limits = _MACHINE
    """Memory, processes, disk and processors; see `arbiter.cage.Limits`."""
    result: PackageLimits = _RESULT
    """What the result may be."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What came of a build."""

    end: BuildEnd
    detail: str
    """One line for the author."""
    log: bytes
    """What it printed, cut in the middle when long."""
    digest: str | None
    """The version that is to be started; None when there is none."""
    seconds: float

    @property
    def ok(self) -> bool:
        """There is a version that can be started."""
        return self.digest is not None


class Builder:
    """Builds versions on this machine, one cage for each build.

    Args:
        versions: where sources are, and where results go.
        staging: a folder of the service's for what is not checked yet.
        settings: the host's, of which the control group, the level and the runtimes hold here too.
        limits: what one build may use.
        unsafe: build without a cage; only for bots of one's own.
        hidden: files and folders that no build may see.
    """

    def __init__(
        self,
        versions: Versions,
        staging: Path,
        settings: CageSettings | None = None,
        limits: BuildLimits | None = None,
        unsafe: bool = False,
        hidden: Sequence[Path] = (),
    ) -> None:
        host = settings or CageSettings.from_environment()
        self._versions: Final = versions
        self._staging: Final = staging
        self._limits: Final = limits or BuildLimits()
        self._runtimes: Final = host.runtimes
        self._unsafe: Final = unsafe
        inside = replace(host, limits=self._limits.machine, runtimes=_RUNTIMES)
        self._cage: Final = choose_cage(unsafe, hidden, inside)

    async def build(self, source: str, runtime: Runtime) -> BuildResult:
        """Build a version, if its runtime needs it.

        Args:
            source: digest of the version as it was submitted.
            runtime: its own.

        Raises:
            RuntimeMissing: this machine lacks what the runtime needs.
            VersionMissing: there is no such version.
            CageError: the cage can't be built.
        """
        await asyncio.to_thread(runtime.require)
        folder = await asyncio.to_thread(self._versions.open, source)
        if not runtime.build:
            return BuildResult(BuildEnd.NOT_NEEDED, f"the runtime {runtime.name} builds nothing", b"", source, 0.0)
        begun = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="build-", ignore_cleanup_errors=True) as place,
            tempfile.TemporaryFile() as result,
        ):
            if self._unsafe:  # then a build of root's is another user, who has to pass to the socket
                Path(place).chmod(0o711)
            async with _Receiver(Path(place, "result"), cast("BinaryIO", result), self._limits.result) as receiver:
                launch = Launch(
                    folder,
                    replace(_BUILDER, run=(*_BUILDER.run, *runtime.build_command)),
                    receiver.socket,
                    log_limit=self._limits.log_bytes,
                    sitting="build",
                )
                process = await self._cage.start(launch)
                end, detail = await self._watch(process, begun)
                log = process.log
                digest = None
                if end is BuildEnd.BUILT:
                    await receiver.complete()
                    end, detail, digest = await asyncio.to_thread(self._keep, cast("BinaryIO", result), folder)
        return BuildResult(end, detail, log, digest, time.monotonic() - begun)

    async def _watch(self, process: BotProcess, begun: float) -> tuple[BuildEnd, str]:
        """Wait for the end of the cage, and bring it about when a limit is reached."""
        limits = self._limits
        stopped: tuple[BuildEnd, str] | None = None
        ended = asyncio.ensure_future(process.wait())
        try:
            while not ended.done() and stopped is None:
                await asyncio.wait({ended}, timeout=_LOOK)
                if process.printed > limits.printed_bytes:
                    stopped = BuildEnd.OUTPUT, f"printed more than {limits.printed_bytes} bytes and was stopped"
                elif not ended.done() and time.monotonic() - begun > limits.seconds:
                    stopped = BuildEnd.TIMEOUT, f"took longer than {limits.seconds:g} s and was stopped"
        finally:
            status = await process.stop(0.0)
        if stopped is not None and stopped[0] is BuildEnd.OUTPUT:
            return stopped
        # Out of time may well be out of something else: a command that can't fork tries again and again.
        return _judge(status, process.log, limits.machine, stopped or (BuildEnd.FAILED, f"the build command: {status}"))

    def _keep(self, result: BinaryIO, source: Path) -> tuple[BuildEnd, str, str | None]:
        try:
            with unpacked(
                result, self._staging, self._limits.result, self._runtimes, "the build's result", built=True
            ) as made:
                if made.manifest != load_manifest(source, self._runtimes, built=False):
                    raise PackageError("the build changed bot.toml; it has to stay as it was submitted")
                snapshot = self._versions.put(made.folder)
        except (PackageError, ManifestError, SnapshotError) as error:
            return BuildEnd.REFUSED, f"the build's result is refused: {error}", None
        return BuildEnd.BUILT, f"built version {snapshot.digest[:12]}", snapshot.digest


def _judge(status: Exit, log: bytes, limits: Limits, otherwise: tuple[BuildEnd, str]) -> tuple[BuildEnd, str]:
    """Why a build did not succeed; `otherwise` when it shows no sign of a limit."""
    if status == Exit(code=0):
        return BuildEnd.BUILT, "built"
    last = log[-_LAST:]
    why = "memory" if status.out_of_memory else next((limit for sign, limit in _SIGNS if sign in last), None)
    match why:
        case "memory":
            return BuildEnd.OUT_OF_MEMORY, f"needed more than {limits.memory >> 20} MiB of memory ({status})"
        case "processes":
            return BuildEnd.PROCESSES, f"needed more than {limits.processes} processes and threads ({status})"
        case "disk":
            return BuildEnd.DISK, f"wrote more than {limits.tmp >> 20} MiB ({status})"
    return otherwise


class _Receiver:
    """A unix socket that takes one stream into a file, up to a limit."""

    def __init__(self, path: Path, sink: BinaryIO, limits: PackageLimits) -> None:
        self.socket: Final = path
        self._sink: Final = sink
        self._limit: Final = limits.archive_bytes
        self._received = 0
        self._taken = False
        self._done: Final = asyncio.Event()

    async def __aenter__(self) -> _Receiver:
        self._server = await asyncio.start_unix_server(self._take, self.socket, limit=CHUNK)
        self.socket.chmod(0o666)  # the build is another user, and only it is shown the socket
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def complete(self) -> None:
        """After the end of the cage: wait until what it had sent is in the file."""
        with contextlib.suppress(TimeoutError):  # it sent nothing, which is refused as any other empty file
            await asyncio.wait_for(self._done.wait(), _ARRIVAL)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = not self._taken
        self._taken = True
        try:
            while first and (data := await reader.read(CHUNK)):
                self._received += len(data)
                if self._received > self._limit + CHUNK:  # enough to be refused for its size
                    break
                self._sink.write(data)
        finally:
            if first:
                self._done.set()
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
