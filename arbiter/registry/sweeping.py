"""Deletes what nothing needs any more: contents of versions, uploads that nobody went on with, request ids, and what a
killed service left half unpacked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.packages import ForeignContents, last_changed, remove
from arbiter.packages import Versions as Contents
from arbiter.registry.uploads import Uploads
from arbiter.store import Store

log = logging.getLogger(__name__)

TICK: Final = 3600.0
"""Seconds between two sweeps."""

STALE: Final = 24 * 3600.0
"""Seconds after which what lies in a staging folder belongs to no one."""


class Sweeper:
    """Sweeps from time to time.

    Content that somebody is about to refer to is safe: it was kept within the last day, or belongs to a version that
    failed or was retired within the last day.

    Args:
        store: says what is needed.
        contents: where the content of versions is.
        uploads: packages on their way in.
        staging: folders in which packages are unpacked.
    """

    def __init__(self, store: Store, contents: Contents, uploads: Uploads, staging: Sequence[Path]) -> None:
        self._store: Final = store
        self._contents: Final = contents
        self._uploads: Final = uploads
        self._staging: Final = tuple(staging)

    async def run(self) -> None:
        """Go on until cancelled; what can't be deleted now is tried again."""
        while True:
            deleted = await asyncio.to_thread(self.sweep)
            if deleted:
                log.info("%d contents that nothing needs were deleted", len(deleted))
            await asyncio.sleep(TICK)

    def sweep(self) -> list[str]:
        """Delete what nothing needs; returns the digests of the contents among it.

        What can't be deleted is said in the log, and keeps nothing else from being deleted.
        """
        now = datetime.now(UTC)
        deleted: list[str] = []
        steps: list[tuple[str, Callable[[], object]]] = [
            ("uploads", self._uploads.sweep),
            ("request ids", lambda: self._store.requests.forget(now)),
            ("contents", lambda: deleted.extend(self._sweep_contents(now))),
            *((str(folder), partial(_clear, folder)) for folder in self._staging),
        ]
        for what, clear in steps:
            try:
                clear()
            except (InfrastructureError, OSError, ForeignContents) as error:
                log.error("%s that nothing needs stay for now: %s", what, error)
        return deleted

    def _sweep_contents(self, now: datetime) -> list[str]:
        self._contents.claim(self._store.identity())  # what others need is not known here
        return self._contents.sweep(self._store.versions.referenced(now))


def _clear(staging: Path) -> None:
    """Delete what has lain in a staging folder for long."""
    for path in list(staging.iterdir()) if staging.is_dir() else ():
        changed = last_changed(path)
        if changed is not None and changed < time.time() - STALE:
            remove(path)
