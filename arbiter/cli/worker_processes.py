"""The commands by which worker processes are started as children."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import arbiter
from arbiter.cli.options import DATABASE_URL
from arbiter.match.routes import SERVICE
from arbiter.supervisor.children import Command
from arbiter.telemetry import read_listen


@dataclass(frozen=True, slots=True)
class Workplace:
    """What the workers of one command share."""

    redis_url: str
    address: str
    """Where the arbiter serves workers."""
    token: str
    run: Path
    """The command's own folder."""
    cache: Path
    """Where copies of bots are kept."""
    spool: Path
    """Where results wait that the arbiter has not acknowledged."""
    drain_seconds: float
    """How long a worker may go on with its sitting when it is asked to stop."""
    queue: str = SERVICE
    hidden: tuple[Path, ...] = ()
    """Folders that no bot may see."""
    unsafe_processes: bool = False
    authority: Path | None = None
    """Certificates to trust instead of the system's, PEM."""
    plain_text: bool = False
    """Call without TLS, also beyond this machine."""
    metrics: str | None = None
    """HOST:PORT for this command's metrics; worker N has port + N."""
    cpus: int | None = None
    """Processors that each offers a sitting; None: as its environment says, else all of the machine."""


def worker_commands(count: int, place: Workplace, name: str = "worker", *, logs: bool = False) -> list[Command]:
    """The commands of so many workers, called by a name and their numbers.

    Args:
        logs: what they say goes to files in the command's folder, and not to its stderr.
    """
    # The workers' package comes from where this one does, whatever lies in the folder that the command was called in.
    package = str(Path(arbiter.__file__).resolve().parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "ARBITER_REDIS_URL": place.redis_url,
        "ARBITER_QUEUE": place.queue,
        "ARBITER_WORKER_ADDRESS": place.address,
        "ARBITER_WORKER_TOKEN": place.token,
        "ARBITER_RUN_DIR": str(place.run),
        "ARBITER_CACHE_DIR": str(place.cache),
        "ARBITER_SPOOL_DIR": str(place.spool),
        "ARBITER_HIDDEN": ":".join(str(folder) for folder in place.hidden),
        "ARBITER_UNSAFE_PROCESSES": "1" if place.unsafe_processes else "0",
        "ARBITER_DRAIN_SECONDS": str(place.drain_seconds),
        "ARBITER_PLAIN_TEXT": "1" if place.plain_text else "0",
        "ARBITER_CA": str(place.authority or ""),
    }
    if place.cpus is not None:
        environment["ARBITER_WORKER_CPUS"] = str(place.cpus)
    environment.pop(DATABASE_URL, None)  # the arbiter alone opens the database
    argv = [sys.executable, "-P", "-m", "workers"]
    return [
        Command(
            f"worker {number}",
            argv,
            place.run / f"worker-{number}.log" if logs else None,
            {**environment, "ARBITER_WORKER_NAME": f"{name}-{number}", "ARBITER_METRICS": _port(place.metrics, number)},
        )
        for number in range(1, count + 1)
    ]


def _port(listen: str | None, number: int) -> str:
    """Where worker ``number`` serves metrics: so many ports on; nowhere when the command does not."""
    if listen is None:
        return ""
    host, port = read_listen(listen)
    return f"{host}:{port + number}"
