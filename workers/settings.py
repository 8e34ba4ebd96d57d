"""What a worker process is told, all by environment variables ``ARBITER_...``."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from arbiter.cage import CageSettings, RuntimeMissing, Runtimes
from arbiter.errors import UsageError
from arbiter.match.routes import PRIORITY_STEPS, SERVICE, Route, routes_of
from arbiter.packages.cache import DEFAULT_BYTES

DRAIN_SECONDS: Final = 60.0

RECYCLE: Final = 500

VISIBILITY_SECONDS: Final = 3600
"""Seconds after which Redis hands out an unacknowledged task again, unless the host says otherwise."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of one worker process."""

    redis_url: str
    """``ARBITER_REDIS_URL``: the queue, in Celery's form."""
    queue: str
    """``ARBITER_QUEUE``: what the queues of the service are called; ``hearts`` by default."""
    address: str
    """``ARBITER_WORKER_ADDRESS``: where the arbiter serves workers."""
    token: str = field(repr=False)
    """``ARBITER_WORKER_TOKEN``: what the worker shows there, of scope ``worker``."""
    authority: Path | None
    """``ARBITER_CA``: certificates to trust instead of the system's, PEM."""
    plain_text: bool
    """``ARBITER_PLAIN_TEXT`` = 1: call without TLS, also beyond this machine."""
    run_folder: Path
    """``ARBITER_RUN_DIR``: where sittings get their folders; a short path."""
    spool_folder: Path
    """``ARBITER_SPOOL_DIR``: where results wait that the arbiter has not acknowledged; by default ``spool`` in the run
    folder."""
    cache_folder: Path
    """``ARBITER_CACHE_DIR``: where copies of bots are kept; several workers of a machine may share it. By default
    ``bots`` in the run folder."""
    cache_bytes: int
    """``ARBITER_CACHE_BYTES``: how much they may take up; 4 GiB by default."""
    hidden: tuple[Path, ...]
    """``ARBITER_HIDDEN``: folders that no bot may see, separated by colons."""
    unsafe_processes: bool
    """``ARBITER_UNSAFE_PROCESSES`` = 1: run bots as plain processes, without a cage."""
    name: str
    """``ARBITER_WORKER_NAME``: name in records; by default host and process id."""
    cpus: int
    """``ARBITER_WORKER_CPUS``: processors that it offers a sitting; by default those that it keeps to, or all
    of the machine."""
    runtimes: tuple[str, ...] | None
    """``ARBITER_WORKER_RUNTIMES``: which of the runtimes that not every machine has it offers, separated by commas; by
    default those that it finds."""
    drain_seconds: float
    """``ARBITER_DRAIN_SECONDS``: how long it may go on with a sitting when it is asked to stop; then it gives the
    sitting back. 60 by default."""
    recycle: int
    """``ARBITER_WORKER_RECYCLE``: sittings after which the process ends, for its supervisor to start a fresh one;
    500 by default."""
    visibility_seconds: int = VISIBILITY_SECONDS
    """``ARBITER_WORKER_VISIBILITY``: seconds after which Redis hands out a task again that is not acknowledged, which
    is harmless while its sitting is played; 3600 by default."""
    pinned: frozenset[int] = frozenset()
    """``ARBITER_WORKER_PIN``: numbers of the processors that it keeps to with its bots, such as ``0,2-3``. So many bots
    of a sitting are at work at once, and no more. Empty: all, and no bound."""
    metrics: str | None = None
    """``ARBITER_METRICS``: HOST:PORT for metrics, health and readiness."""
    cage: CageSettings = field(default_factory=CageSettings)
    """What bots may use and what must hold: variables of :mod:`arbiter.cage.limits`."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> WorkerSettings:
        """Read the settings.

        Raises:
            UsageError: a variable is missing or bad; names it.
        """

        def need(name: str) -> str:
            value = environment.get(name)
            if not value:
                raise UsageError(f"{name} is not set: a worker is started by the arbiter, or by hand with its settings")
            return value

        def switch(name: str) -> bool:
            value = environment.get(name, "0")
            if value not in ("0", "1"):
                raise UsageError(f"{name} is {value!r}; write 1 or 0")
            return value == "1"

        def number(name: str, default: int) -> int:
            value = environment.get(name) or str(default)
            if not value.isdecimal() or not 0 < int(value) < 2**63:
                raise UsageError(f"{name} is {value!r}; write a whole number above 0")
            return int(value)

        def seconds(name: str, default: float) -> float:
            value = environment.get(name) or str(default)
            try:
                found = float(value)
            except ValueError:
                found = -1.0
            if not 0 <= found < 1e9:
                raise UsageError(f"{name} is {value!r}; write seconds, 0 or more")
            return found

        redis_url, address, token, run_folder = (
            need(f"ARBITER_{name}") for name in ("REDIS_URL", "WORKER_ADDRESS", "WORKER_TOKEN", "RUN_DIR")
        )
        cage = CageSettings.from_environment(environment)
        authority = environment.get("ARBITER_CA")
        pinned = _processors(environment.get("ARBITER_WORKER_PIN", ""))
        return cls(
            redis_url=redis_url,
            queue=environment.get("ARBITER_QUEUE") or SERVICE,
            address=address,
            token=token,
            authority=Path(authority) if authority else None,
            plain_text=switch("ARBITER_PLAIN_TEXT"),
            run_folder=Path(run_folder),
            spool_folder=Path(environment.get("ARBITER_SPOOL_DIR") or Path(run_folder, "spool")),
            cache_folder=Path(environment.get("ARBITER_CACHE_DIR") or Path(run_folder, "bots")),
            cache_bytes=number("ARBITER_CACHE_BYTES", DEFAULT_BYTES),
            hidden=tuple(Path(part) for part in environment.get("ARBITER_HIDDEN", "").split(":") if part),
            unsafe_processes=switch("ARBITER_UNSAFE_PROCESSES"),
            metrics=environment.get("ARBITER_METRICS") or None,
            cage=cage,
            cpus=number("ARBITER_WORKER_CPUS", len(pinned) or os.cpu_count() or 1),
            pinned=pinned,
            runtimes=_names(environment.get("ARBITER_WORKER_RUNTIMES")),
            drain_seconds=seconds("ARBITER_DRAIN_SECONDS", DRAIN_SECONDS),
            recycle=number("ARBITER_WORKER_RECYCLE", RECYCLE),
            visibility_seconds=number("ARBITER_WORKER_VISIBILITY", VISIBILITY_SECONDS),
            name=environment.get("ARBITER_WORKER_NAME") or f"{socket.gethostname()}-{os.getpid()}",
        )

    def queues(self) -> list[str]:
        """The queues that this worker takes sittings from, the most demanding first. Tries runtimes.

        Raises:
            UsageError: a runtime that is named is unknown, or they are too many.
            RuntimeMissing: a runtime that is named can't be used here.
        """
        runtimes = _offered(self.runtimes, self.cage.runtimes)
        return [route.queue(self.queue) for route in routes_of(self.cpus, runtimes)]


def celery_settings(settings: WorkerSettings) -> dict[str, Any]:
    """Celery's settings of a worker, each with its reason."""
    return {
        "broker_url": settings.redis_url,
        # A task is done when its sitting is given back, or played and on this machine's disk. Redis hands it out again
        # when a worker dies before, though the coordinator is quicker: it sees the lease expire.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # One sitting at a time: what waits in a queue is free for whoever is idle, and for what is more urgent.
        "worker_prefetch_multiplier": 1,
        # Nobody reads results from Redis, the arbiter learns them by RPC: so none is kept there, and nothing expires.
        # Should somebody configure a backend all the same, what it holds goes within the hour.
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "result_backend": None,
        "result_expires": 3600,
        # A sitting has no upper bound, since a host may allow clocks of any length, and Redis can't renew a task. So
        # the lease is what is renewed, every two seconds, and this bounds nothing but how long a dead worker's task
        # lies about. One that is handed out while its sitting is still played is refused by the arbiter and dropped.
        "broker_transport_options": {
            "visibility_timeout": settings.visibility_seconds,
            # What senders use too: gates, then tournaments, then the ladder, whatever queue they are in.
            "priority_steps": PRIORITY_STEPS,
            # Of equal urgency, first what only a worker like this one can play.
            "queue_order_strategy": "priority",
            # A Redis that hangs, or a link that was cut, is noticed.
            "socket_connect_timeout": 5.0,
            "socket_keepalive": True,
            "health_check_interval": 10,
        },
        # A queue for each set of needs, see arbiter.match.routes; a name that is not listed is a mistake.
        "task_default_queue": Route().queue(settings.queue),
        # Redis may start after the worker, and may go away and come back; see workers.consumer.
        "worker_consumer": "workers.consumer:Consumer",
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # In pool solo nothing runs while the worker notices that its connection was lost.
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        # Plain data alone: whoever can write to Redis must not be able to run code here.
        "task_serializer": "json",
        "accept_content": ["json"],
        # Nobody listens to events or remote commands; a worker is stopped by signals, and seen by workers.presence.
        "worker_send_task_events": False,
        "worker_enable_remote_control": False,
        # Recycled by ARBITER_WORKER_RECYCLE: Celery's own setting works in pools that fork.
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
    }


def _processors(text: str) -> frozenset[int]:
    """Numbers as the kernel writes them: single ones and spans, separated by commas."""
    if text and not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text):
        raise UsageError(f"ARBITER_WORKER_PIN is {text!r}; write numbers of processors such as 0,2-3")
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    if text and not found:
        raise UsageError(f"ARBITER_WORKER_PIN is {text!r}, which names none; write a span such as 2-3, not 3-2")
    return frozenset(found)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _offered(named: Sequence[str] | None, table: Runtimes) -> Sequence[str]:
    """The special runtimes that a worker offers."""
    special = [name for name, runtime in table.items() if runtime.special]
    if named is not None:
        for name in named:
            if name not in special:
                known = ", ".join(special) or "none"
                raise UsageError(f"ARBITER_WORKER_RUNTIMES names {name!r}; special runtimes are: {known}")
            table[name].require()
        return named
    return [name for name in special if _usable(name, table)]


def _usable(name: str, table: Runtimes) -> bool:
    try:
        table[name].require()
    except RuntimeMissing:
        return False
    return True
