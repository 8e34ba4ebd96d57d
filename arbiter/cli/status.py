"""``arbiter status`` and ``arbiter top``: what goes on in a service, for its host, from its database and its Redis."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from arbiter.cli.console import errors, one_line, print_json, results_console
from arbiter.cli.options import DataDir, Json, RedisUrl, data_folder, need_server
from arbiter.cli.serve import Queue
from arbiter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arbiter.tournament.overview import Overview

REFRESH = 1.0
"""Seconds between two looks."""


def status(redis_url: RedisUrl = None, queue: Queue = "hearts", data_dir: DataDir = None, json: Json = False) -> None:
    """Show what goes on in a service: who leads, who plays, what waits. With --redis idle workers and queues too."""
    need_server()
    with _looking(redis_url, queue, data_dir) as look:
        found = look()
    if json:
        print_json(found.to_dict())
    else:
        results_console().print(_picture(found))


def top(redis_url: RedisUrl = None, queue: Queue = "hearts", data_dir: DataDir = None) -> None:
    """Show the same live, until Ctrl-C."""
    need_server()
    if not errors.is_terminal:
        raise UsageError("top draws on a terminal; for one look: arbiter status")
    with _looking(redis_url, queue, data_dir) as look, Live(console=errors, transient=True) as display:
        while True:
            display.update(_picture(look()))
            time.sleep(REFRESH)


@contextmanager
def _looking(redis_url: str | None, queue: str, data_dir: Path | None) -> Iterator[Callable[[], Overview]]:
    """What takes a look."""
    from arbiter.cage import CageSettings
    from arbiter.cli.event import open_store
    from arbiter.tournament import CelerySender
    from arbiter.tournament.overview import overview

    table = CageSettings.from_environment().runtimes
    special = [name for name, runtime in table.items() if runtime.special]
    sender = None if redis_url is None else CelerySender(redis_url, queue)
    try:
        with open_store(data_folder(data_dir)) as store:
            yield lambda: overview(store, sender, datetime.now(UTC), special)
    finally:
        if sender is not None:
            sender.close()


def _picture(found: Overview) -> RenderableType:
    tournaments = Table(title="Running tournaments", title_justify="left")
    for name in ("id", "led by", "recorded", "playing", "waiting", "failed", "hands"):
        tournaments.add_column(name, justify="left" if name in ("id", "led by") else "right")
    for each in found.tournaments:
        numbers = (each.recorded, each.playing, each.waiting, each.failed, each.hands)
        leader = Text("nobody", style="red") if each.leader is None else Text(one_line(each.leader))
        tournaments.add_row(each.id, leader, *(f"{number:,}" for number in numbers))
    workers = Table(title="Workers" if found.queues is not None else "Workers at work", title_justify="left")
    for name in ("worker", "sitting", "attempt"):
        workers.add_column(name)
    for worker in found.workers:
        workers.add_row(one_line(worker.name), worker.sitting or "idle", str(worker.attempt or ""))
    parts: list[RenderableType] = [tournaments, workers]
    if found.queues is not None:
        parts.append(Text("waiting: " + ", ".join(f"{name} {length}" for name, length in found.queues.items())))
    rates = f"in the last minute: {found.sittings_per_minute:g} sittings, {found.hands_per_second:,.1f} hands a second"
    return Group(*parts, Text(rates))
