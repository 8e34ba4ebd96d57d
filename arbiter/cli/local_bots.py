"""Bots kept on this machine: what `arbiter.cli.registry_client` asks of a service, done in a data folder."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO, Final

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.cage import CageSettings
from arbiter.cli.event import open_store
from arbiter.cli.local import LocalOptions, bots_of, versions_lock
from arbiter.engine import rule_set
from arbiter.errors import UsageError
from arbiter.packages import Builder
from arbiter.registry.life import Life
from arbiter.registry.registry import Registry
from arbiter.registry.uploads import Declared
from arbiter.registry.validation import Validator
from arbiter.service.registry_service import bot_to_message, build_to_message, version_to_message
from arbiter.store import AT_REST, Quota, Scope, Token, Version, VersionState
from arbiter.tournament.naming import HOST_OWNER

LOOK_AGAIN: Final = 0.25
"""Seconds between two looks at a version that is followed."""

USUAL: Final = ("black_lady",)
"""In which rule sets versions are tried out unless others are named."""

_NO_QUOTA: Final = Quota(
    submissions_per_day=1 << 31, builds_per_day=1 << 31, stored_bytes=1 << 62, bots=1 << 31
)  # gates are the service's alone


class LocalBots:
    """The bots of a data folder; close it by leaving its ``with`` statement.

    Args:
        options: the data folder, and how bots are run.
        rules: names of the rule sets in which new versions are tried out; none for the usual one.
    """

    def __init__(self, options: LocalOptions, rules: Sequence[str] = ()) -> None:
        data = options.data
        self._data: Final = data
        self._store: Final = open_store(data)
        try:
            contents = bots_of(self._store, data)
        except BaseException:
            self._store.close()
            raise
        validator = Validator(options.cage, {name: rule_set(name) for name in rules or USUAL})
        builder = Builder(contents, data / "staging", unsafe=options.unsafe_processes, hidden=(data,))
        self._registry: Final = Registry(self._store, contents, data / "registry", _NO_QUOTA)
        runtimes = CageSettings.from_environment().runtimes
        self._life: Final = Life(self._store, contents, builder, validator, runtimes, _NO_QUOTA)
        now = datetime.now(UTC)
        self._token: Final = Token("cli", HOST_OWNER, Scope.HOST, "", created_at=now, expires_at=now)

    def __enter__(self) -> LocalBots:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def submit(
        self,
        package: BinaryIO,
        *,
        request_id: str,
        message: str = "",
        commit: str = "",
        on_progress: Callable[[int, int], None],
    ) -> pb.Version:
        """Keep a package as a version; the same request id again gives the version that it made."""
        size = package.seek(0, 2)
        package.seek(0)
        sha256 = hashlib.file_digest(package, "sha256").hexdigest()  # type: ignore[arg-type]  # any file has readinto
        package.seek(0)
        declared = Declared(HOST_OWNER, request_id, size, sha256)
        version = self._registry.submit(self._token, declared, package, message, commit, datetime.now(UTC))
        on_progress(size, size)
        return version_to_message(version)

    def watch(self, bot: str, number: int) -> Iterator[pb.Version]:
        """A version now and after each change, up to its end. It is built and tried out here, unless a service of this
        data folder does it."""
        with ExitStack() as stack:
            work: Callable[[], None] | None = None
            seen: VersionState | None = None
            while seen not in AT_REST:
                version = self._store.versions.get(bot, number)
                if version.state is not seen:
                    seen = version.state
                    yield version_to_message(version)
                    continue
                work = work or self._begin(stack, version)
                if work is None:
                    time.sleep(LOOK_AGAIN)
                else:
                    work()

    def _begin(self, stack: ExitStack, version: Version) -> Callable[[], None] | None:
        """Begin to build and try a version out; None while a service or another command holds the versions, which may
        do it or not: then it is to be asked again."""
        try:
            stack.enter_context(versions_lock(self._data))
        except UsageError:
            return None
        runner = stack.enter_context(asyncio.Runner())
        return partial(_work, runner, runner.get_loop().create_task(self._life.finish(version)))

    def bots(self) -> Iterator[pb.Bot]:
        """All bots by name."""
        return map(bot_to_message, self._store.versions.bots())

    def versions(self, bot: str = "") -> Iterator[pb.Version]:
        """All versions of a bot, or of all."""
        return map(version_to_message, self._store.versions.versions(bot or None))

    def log(self, bot: str, number: int) -> str:
        """What building and validating a version wrote."""
        return self._registry.log(self._token, bot, number)

    def builds(self, bot: str = "") -> Iterator[pb.Build]:
        """All builds of a bot's versions, or of all."""
        return map(build_to_message, self._store.builds.builds(bot or None))

    def build_log(self, bot: str, number: int, build: int) -> str:
        """What a build of a version wrote."""
        return self._registry.build_log(self._token, bot, number, build)

    def retire(self, bot: str, number: int) -> pb.Version:
        """Take a version back."""
        return version_to_message(self._registry.retire(self._token, bot, number, datetime.now(UTC)))


def _work(runner: asyncio.Runner, working: asyncio.Task[Version]) -> None:
    """Let a version's work go on for as long as nobody looks; raises what it raised."""
    runner.run(asyncio.wait([working], timeout=LOOK_AGAIN))
    if working.done():
        working.result()
