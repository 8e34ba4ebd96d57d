"""What happens to a version between its submission and its first match: it is built, and plays against stand-ins."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from arbiter.cage import Runtime, Runtimes, load_manifest
from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.packages import Builder, BuildResult
from arbiter.packages import Versions as Contents
from arbiter.store import (
    AT_REST,
    BuildState,
    Quota,
    QuotaExceeded,
    Store,
    TransitionRefused,
    UnknownVersion,
    Version,
    VersionState,
)

log = logging.getLogger(__name__)

TICK: Final = 1.0
"""Seconds between two looks for versions when nobody said that there is one."""

MAX_TRIES: Final = 3
"""How often a version is built and tried out on a machine that fails at it."""

LOG_CHARACTERS: Final = 65536
"""Characters of a version's log that are kept, the first and the last half."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What came of a version's first sittings."""

    ok: bool
    detail: str
    """One line: what failed, or what was played."""
    log: str
    """What the bot wrote."""
    rules: tuple[str, ...] = ()
    """Names of the rule sets in which it played."""


Validate = Callable[[Path], Awaitable[Validation]]
"""Tries out the bot in a folder."""


class Life:
    """Moves every new version on, one after the other, in rounds: of each owner one, however many others have.

    Args:
        store: where versions are recorded.
        contents: where their content is kept.
        builder: builds.
        validate: tries a built version out.
        runtimes: those that a version may name.
        quota: what an owner may store, with what is built.
    """

    def __init__(
        self,
        store: Store,
        contents: Contents,
        builder: Builder,
        validate: Validate,
        runtimes: Runtimes,
        quota: Quota | None = None,
    ) -> None:
        self._store: Final = store
        self._contents: Final = contents
        self._builder: Final = builder
        self._validate: Final = validate
        self._runtimes: Final = runtimes
        self._quota: Final = quota or Quota()
        self._woken: Final = asyncio.Event()
        self._put_offs: Final = Counter[str]()

    def wake(self) -> None:
        """Say that there is a new version; from the event loop's own thread."""
        self._woken.set()

    async def run(self) -> None:
        """Go on until cancelled. What an earlier service left half done begins anew; a database that fails is waited
        for."""
        while True:
            self._woken.clear()
            try:
                while waiting := await asyncio.to_thread(self._store.versions.next_of_each_owner):
                    for version in waiting:
                        await self._take_on(version)
            except (InfrastructureError, OSError) as error:
                log.error("new versions wait: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._woken.wait()

    async def _take_on(self, version: Version) -> None:
        try:
            await self.advance(await self._anew(version))
        except (TransitionRefused, UnknownVersion) as error:
            log.info("a version was retired meanwhile: %s", error)

    async def finish(self, version: Version) -> Version:
        """Bring one version to its end; returns it active, failed or retired. Nobody else may be at work on it."""
        while version.state not in AT_REST:
            version = await self.advance(await self._anew(version))
        return version

    async def _anew(self, version: Version) -> Version:
        """What somebody left half done begins again: nobody works on it, for only this does."""
        if version.state is VersionState.RECEIVED:
            return version
        return await self._move(version, VersionState.RECEIVED)

    async def advance(self, version: Version) -> Version:
        """Build and validate one received version; returns it active or failed, or received when the machine
        was at fault."""
        version = await self._move(version, VersionState.BUILDING)
        written = ""
        try:
            source = version.submission.digest
            manifest = load_manifest(await asyncio.to_thread(self._contents.open, source), self._runtimes, built=False)
            built = await self._build(version, source, self._runtimes.named(manifest.runtime))
            written = built.log.decode(errors="replace")
            if built.digest is None:
                return await self._fail(version, f"the build failed: {built.detail}", written)
            what = (built.digest, await asyncio.to_thread(self._size, built.digest))
            try:
                version = await self._move(version, VersionState.VALIDATING, built=what, log=_cut(written))
            except QuotaExceeded as error:  # it is on the disk for a while all the same, and counts
                return await self._fail(version, str(error), written, built=what)
            tried = await self._validate(await asyncio.to_thread(self._contents.open, built.digest))
        except (InfrastructureError, OSError) as error:
            return await self._put_off(version, str(error), written)
        except ArbiterError as error:
            return await self._fail(version, str(error), written)
        written += tried.log
        if not tried.ok:
            return await self._fail(version, tried.detail, written)
        return await self._move(version, VersionState.ACTIVE, log=_cut(written), tried=tried.rules)

    async def _build(self, version: Version, source: str, runtime: Runtime) -> BuildResult:
        """Build a version, and keep what became of it where there was anything to build."""
        if not runtime.build:
            return await self._builder.build(source, runtime)
        builds, of = self._store.builds, (version.submission.bot, version.number)
        number = await asyncio.to_thread(builds.begin, *of, self._quota, datetime.now(UTC))
        try:
            built = await self._builder.build(source, runtime)
            size = await asyncio.to_thread(self._size, built.digest) if built.digest else 0
        except (ArbiterError, OSError) as error:
            await asyncio.to_thread(builds.end, *of, number, BuildState.INTERRUPTED, str(error), datetime.now(UTC))
            raise
        state = BuildState.FAILED if built.digest is None else BuildState.BUILT
        log = _cut(built.log.decode(errors="replace"))
        await asyncio.to_thread(
            lambda: builds.end(
                *of, number, state, built.detail, datetime.now(UTC), log=log, digest=built.digest or "", size=size
            )
        )
        return built

    def _size(self, digest: str) -> int:
        """Bytes of a content."""
        return sum(path.stat().st_size for path in self._contents.open(digest).rglob("*") if path.is_file())

    async def _put_off(self, version: Version, why: str, written: str) -> Version:
        """The machine failed, not the bot: another time, but not for ever."""
        self._put_offs[version.name] += 1
        if self._put_offs[version.name] >= MAX_TRIES:
            return await self._fail(version, f"it could not be tried out: {why}", written)
        log.warning("version %s is put off: %s", version.name, why)
        await asyncio.sleep(TICK)
        return await self._move(version, VersionState.RECEIVED)

    async def _fail(self, version: Version, why: str, written: str, *, built: tuple[str, int] = ("", 0)) -> Version:
        log.warning("version %s failed: %s", version.name, why)
        return await self._move(version, VersionState.FAILED, built=built, log=_cut(written), failure=why)

    async def _move(
        self,
        version: Version,
        state: VersionState,
        *,
        built: tuple[str, int] = ("", 0),
        log: str = "",
        failure: str = "",
        tried: Sequence[str] = (),
    ) -> Version:
        return await asyncio.to_thread(
            lambda: self._store.versions.move(
                version.submission.bot,
                version.number,
                state,
                datetime.now(UTC),
                built=built[0],
                built_size=built[1],
                quota=None if state is VersionState.FAILED else self._quota,
                log=log,
                failure=failure,
                tried=tried,
            )
        )


def _cut(text: str) -> str:
    if len(text) <= LOG_CHARACTERS:
        return text
    half = LOG_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters cut ...\n{text[-half:]}"
