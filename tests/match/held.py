"""An event loop whose time passes only while everybody waits: no machine is too slow for it, and nothing is waited for.

For sittings of bots in this process. What is due next comes at once, and the loop's clock then says that it is time; so
a bound on time means the same on every machine, and what took how long can be asserted.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

TURN: Final = 1e-6
"""Seconds that a turn of the loop takes, so that a wait too short to move the clock comes to its end too."""

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits for nothing but moves a clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nothing is due any more, and nobody goes on"
        self.now += max(timeout, TURN)
        return super().select(0)


class HeldLoop(asyncio.SelectorEventLoop):
    """Its clock stands at 0 when it begins."""

    def __init__(self) -> None:
        self._clock: Final = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        """See :meth:`asyncio.loop.time`."""
        return self._clock.now

    def stop_for(self, seconds: float) -> None:
        """Let time pass as it does for a process that is stopped."""
        self._clock.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` on such a loop."""
    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        return runner.run(main)
