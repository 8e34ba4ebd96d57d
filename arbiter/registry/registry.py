"""Submitted bots: from a whole upload to a version that is kept, and who may see and do what with it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from arbiter.cage import Runtimes
from arbiter.errors import UsageError
from arbiter.identity import Forbidden
from arbiter.packages import PackageLimits, unpacked
from arbiter.packages import Versions as Contents
from arbiter.registry.uploads import Declared, Uploads
from arbiter.store import AuditEntry, Quota, Request, Scope, Store, Submission, Token, Version, VersionState

MAX_MESSAGE: Final = 1000
MAX_COMMIT: Final = 64


class Registry:
    """All that can be asked of submitted bots. Methods may be called from several threads.

    Args:
        store: where versions are recorded.
        contents: where their content is kept.
        folder: the registry's own, for what is on its way in.
        quota: what one contestant may submit.
        limits: what a package may hold.
        runtimes: those that a package may name; None for the host's.
    """

    def __init__(
        self,
        store: Store,
        contents: Contents,
        folder: Path,
        quota: Quota | None = None,
        limits: PackageLimits | None = None,
        runtimes: Runtimes | None = None,
    ) -> None:
        self._store: Final = store
        self._contents: Final = contents
        self._staging: Final = folder / "staging"
        self._quota: Final = quota or Quota()
        self._limits: Final = limits or PackageLimits()
        self._runtimes: Final = runtimes or Runtimes.from_environment()
        self.uploads: Final = Uploads(folder / "uploads", self._limits.archive_bytes)
        """Packages on their way in."""

    def submit(
        self, token: Token, declared: Declared, package: BinaryIO, message: str, commit: str, now: datetime
    ) -> Version:
        """Check a package, keep its content and record it as a version.

        Raises:
            PackageError, ManifestError: the package is refused.
            NameTaken, QuotaExceeded: the sender may not submit it.
            UsageError: message or commit are too long.
        """
        for name, text, most in (("message", message, MAX_MESSAGE), ("commit", commit, MAX_COMMIT)):
            if len(text) > most or not text.isprintable():
                raise UsageError(f"{name}: write one line of {most} characters at the most")
        with unpacked(package, self._staging, self._limits, self._runtimes) as found:
            submission = Submission(
                owner=token.owner,
                bot=found.manifest.name,
                request_id=declared.request_id,
                digest="",
                size=found.contents.size,
                message=message,
                commit=commit,
                manifest={**asdict(found.manifest), "run": list(found.manifest.run)},
                needs_build=bool(self._runtimes.named(found.manifest.runtime).build),
            )
            self._store.versions.check(submission, self._quota, now)  # before anything of it is kept
            snapshot = self._contents.put(found.folder)
            with self._store.together() as part:
                version = part.versions.receive(replace(submission, digest=snapshot.digest), self._quota, now)
                if version.created_at == now:  # and not by the same request before
                    _note(part, token, "bot.submit", version, now, snapshot.digest)
        return version

    def log(self, token: Token, bot: str, number: int) -> str:
        """What building and validating a version wrote; raises `Forbidden` for all but its owner and the host."""
        _check_owner(token, self._store.versions.get(bot, number))
        return self._store.versions.log(bot, number)

    def build_log(self, token: Token, bot: str, number: int, build: int | None) -> str:
        """What a build of a version wrote, without a number the newest; raises `Forbidden` as `log` does."""
        _check_owner(token, self._store.versions.get(bot, number))
        return self._store.builds.log(bot, number, build)

    def retire(self, token: Token, bot: str, number: int, now: datetime, request_id: str = "") -> Version:
        """Take a version back; the same request id again changes nothing.

        Raises:
            Forbidden: the caller is neither its owner nor the host.
            TransitionRefused: it is being built or validated, or retired already.
        """
        version = self._store.versions.get(bot, number)
        _check_owner(token, version)
        with self._store.once(Request(token.owner, request_id, "RetireVersion", version.name), now) as part:
            if part is not None:
                part.versions.move(bot, number, VersionState.RETIRED, now)
                _note(part, token, "bot.retire", version, now)
        return self._store.versions.get(bot, number)


def _note(store: Store, token: Token, action: str, version: Version, now: datetime, detail: str = "") -> None:
    store.accounts.note(AuditEntry(now, token.id, token.owner, action, version.name, detail))


def _check_owner(token: Token, version: Version) -> None:
    if token.scope is not Scope.HOST and token.owner != version.submission.owner:
        raise Forbidden(f"{version.name} is another contestant's; only its owner and the host may do that")
