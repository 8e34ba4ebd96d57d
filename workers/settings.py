"""What a worker process is told, all by environment variables ``ARBITER_...``."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arbiter.cage import CageSettings
from arbiter.errors import UsageError


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of one worker process."""

    redis_url: str
    """``ARBITER_REDIS_URL``: the queue, in Celery's form."""
    queue: str
    """``ARBITER_QUEUE``: name of the queue."""
    address: str
    """``ARBITER_WORKER_ADDRESS``: where the arbiter serves workers."""
    token: str = field(repr=False)
    """``ARBITER_WORKER_TOKEN``: what the worker shows there."""
    run_folder: Path
    """``ARBITER_RUN_DIR``: where sittings get their folders and unreported results wait; a short path."""
    hidden: tuple[Path, ...]
    """``ARBITER_HIDDEN``: folders that no bot may see, separated by colons."""
    unsafe_processes: bool
    """``ARBITER_UNSAFE_PROCESSES`` = 1: run bots as plain processes, without a cage."""
    name: str
    """``ARBITER_WORKER_NAME``: name in records; by default host and process id."""
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

        unsafe = environment.get("ARBITER_UNSAFE_PROCESSES", "0")
        if unsafe not in ("0", "1"):
            raise UsageError(f"ARBITER_UNSAFE_PROCESSES is {unsafe!r}; write 1 or 0")
        return cls(
            redis_url=need("ARBITER_REDIS_URL"),
            queue=need("ARBITER_QUEUE"),
            address=need("ARBITER_WORKER_ADDRESS"),
            token=need("ARBITER_WORKER_TOKEN"),
            run_folder=Path(need("ARBITER_RUN_DIR")),
            hidden=tuple(Path(part) for part in environment.get("ARBITER_HIDDEN", "").split(":") if part),
            unsafe_processes=unsafe == "1",
            cage=CageSettings.from_environment(environment),
            name=environment.get("ARBITER_WORKER_NAME") or f"{socket.gethostname()}-{os.getpid()}",
        )
