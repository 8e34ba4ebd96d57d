"""What a worker process is told, all by environment variables ``ARBITER_...``."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arbiter.cage import CageSettings
from arbiter.errors import UsageError
from arbiter.packages.cache import DEFAULT_BYTES


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
    """``ARBITER_WORKER_TOKEN``: what the worker shows there, of scope ``worker``."""
    authority: Path | None
    """``ARBITER_CA``: certificates to trust instead of the system's, PEM."""
    plain_text: bool
    """``ARBITER_PLAIN_TEXT`` = 1: call without TLS, also beyond this machine."""
    run_folder: Path
    """``ARBITER_RUN_DIR``: where sittings get their folders and unreported results wait; a short path."""
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

        redis_url, queue, address, token, run_folder = (
            need(f"ARBITER_{name}") for name in ("REDIS_URL", "QUEUE", "WORKER_ADDRESS", "WORKER_TOKEN", "RUN_DIR")
        )
        cache_bytes = environment.get("ARBITER_CACHE_BYTES", str(DEFAULT_BYTES))
        if not cache_bytes.isdecimal() or int(cache_bytes) == 0:
            raise UsageError(f"ARBITER_CACHE_BYTES is {cache_bytes!r}; write a number of bytes above 0")
        authority = environment.get("ARBITER_CA")
        return cls(
            redis_url=redis_url,
            queue=queue,
            address=address,
            token=token,
            authority=Path(authority) if authority else None,
            plain_text=switch("ARBITER_PLAIN_TEXT"),
            run_folder=Path(run_folder),
            cache_folder=Path(environment.get("ARBITER_CACHE_DIR") or Path(run_folder, "bots")),
            cache_bytes=int(cache_bytes),
            hidden=tuple(Path(part) for part in environment.get("ARBITER_HIDDEN", "").split(":") if part),
            unsafe_processes=switch("ARBITER_UNSAFE_PROCESSES"),
            cage=CageSettings.from_environment(environment),
            name=environment.get("ARBITER_WORKER_NAME") or f"{socket.gethostname()}-{os.getpid()}",
        )
