"""Waiting for a while that only counts while the machine runs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final

_PARTS: Final = 20


async def first_within(waits: Collection[asyncio.Future[Any]], seconds: float) -> bool:
    """Wait until the first of some has come, ``seconds`` at the most; whether one has.

    While the whole machine stands still, as when it is moved or its lid is closed, nothing can come, and time goes on:
    of that at most a twentieth of ``seconds`` counts.
    """
    for _ in range(_PARTS):
        done, _ = await asyncio.wait(waits, timeout=seconds / _PARTS, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return True
    return False
