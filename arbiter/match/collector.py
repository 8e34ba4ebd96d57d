"""Has Python's collector of cycles look less often while sittings are played.

It looks after 700 new objects as it comes, and a sitting of many tables makes that many in some milliseconds: what is
due and what is kept of every hand, all of it alive and none of it in a cycle. That took a tenth of the arbiter's time.
"""

from __future__ import annotations

import gc
from threading import Lock
from types import TracebackType
from typing import Final

COLLECT_AFTER: Final = 50_000
"""How many more objects are alive, of those that can be in a cycle, when it looks: a thousand hands or so."""


class SeldomCollecting:
    """A context that may be entered many times at once; the last to leave sets the threshold back."""

    def __init__(self) -> None:
        self._lock: Final = Lock()
        self._inside = 0
        self._before = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before, *others = gc.get_threshold()
                if self._before:  # 0 is a collector that is off
                    gc.set_threshold(max(self._before, COLLECT_AFTER), *others)
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _, *others = gc.get_threshold()
                gc.set_threshold(self._before, *others)


seldom_collecting: Final = SeldomCollecting()
"""The one of this process."""
