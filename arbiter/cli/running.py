"""Runs a service's parts until it is asked to stop: first in order, and at once when it is asked again."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.cli.console import ConsoleHandler, errors
from arbiter.cli.event import open_store
from arbiter.errors import InfrastructureError
from arbiter.store import Store, StoreUnavailable
from arbiter.telemetry import set_up_logging

log = logging.getLogger(__name__)

MAX_PAUSE: Final = 10.0
"""Longest pause in seconds between two tries to reach the database."""


@dataclass(frozen=True, slots=True)
class Running:
    """What runs while it is entered."""

    says: tuple[str, ...]
    """Lines for people, when everything is up."""
    jobs: tuple[Callable[[], Awaitable[object]], ...]
    """What has to go on meanwhile, each until it is cancelled; its end in any other way ends the service."""
    hurry: Callable[[], None] = lambda: None
    """Called when it is asked to stop once more, while the jobs end in order."""


def opened_store(data: Path) -> Store:
    """The store of a data folder. A database that can't be reached is waited for, as machines start in any order.

    Raises:
        ArbiterError: there is a database, and it can't be used.
    """
    _set_up_logging()
    pause = 0.0
    while True:
        try:
            store = open_store(data)
        except StoreUnavailable as error:
            if not pause:  # one line, however long it takes
                _say(f"waiting: {error}")
            pause = min(MAX_PAUSE, max(0.5, 2 * pause))
            time.sleep(pause * random.uniform(0.5, 1.5))
        else:
            if pause:
                _say("the database answers")
            return store


def run_service(service: AbstractAsyncContextManager[Running]) -> None:
    """Run until SIGINT or SIGTERM.

    Raises:
        ArbiterError: a part of it failed.
    """
    _set_up_logging()
    asyncio.run(_run(service))


def _set_up_logging() -> None:
    set_up_logging(text=ConsoleHandler(), default="INFO" if _for_programs() else "WARNING")


async def _run(service: AbstractAsyncContextManager[Running]) -> None:
    asked = asyncio.Event()
    hurry: list[Callable[[], None]] = []

    def ask() -> None:
        if asked.is_set():
            _say("hurrying")
            for each in hurry:
                each()
        asked.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    async with AsyncExitStack() as stack:
        with errors.status("starting"):  # drawn on a terminal alone
            running = await stack.enter_async_context(service)
        hurry.append(running.hurry)
        for line in running.says:
            _say(line)
        jobs = [asyncio.ensure_future(job()) for job in running.jobs]
        waiting = asyncio.ensure_future(asked.wait())
        try:
            await asyncio.wait({*jobs, waiting}, return_when=asyncio.FIRST_COMPLETED)
            for job in jobs:
                if job.done():
                    job.result()
                    raise InfrastructureError("a part of the service ended by itself")
            _say("stopping; ask again to hurry")
        finally:
            for task in (*jobs, waiting):
                task.cancel()
            await asyncio.gather(*jobs, waiting, return_exceptions=True)


def _for_programs() -> bool:
    return os.environ.get("ARBITER_LOG_FORMAT") == "json"


def _say(line: str) -> None:
    """Tell people; where programs read the logs, as one of those."""
    if _for_programs():
        log.info(line)
    else:
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
