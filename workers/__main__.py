"""Run one worker process: ``python -m workers``. Settings come from the environment, see :mod:`workers.settings`."""

from __future__ import annotations

import logging
import os
import socket
import sys
import warnings
from contextlib import ExitStack
from typing import Final

from celery.exceptions import SecurityWarning

from arbiter.cage import uncompiled
from arbiter.errors import ArbiterError, UsageError
from arbiter.telemetry import Endpoint, set_up_logging
from workers.app import app, configure, loop, settings, worker
from workers.consumer import reached
from workers.presence import Presence

log = logging.getLogger(__name__)

PATIENCE: Final = 1.0
"""Seconds that the arbiter has to be reached when somebody asks whether this worker is ready."""


def main() -> None:
    """Take sittings from the queue until SIGTERM.

    Exit status 2 when a setting is missing or bad, 4 when the machine does not protect from bots as required.
    """
    with ExitStack() as stack:
        try:
            set_up_logging()
            _pin(settings().pinned)
            configure(settings())
            queues = settings().queues()
            stack.callback(loop().close)
            loop().run(worker().check())
            if (advice := uncompiled()) is not None:
                log.warning("%s", advice)
            if (listen := settings().metrics) is not None:
                checks = {"redis": _redis_amiss, "arbiter": _arbiter_amiss, "worker": _stopping}
                stack.enter_context(Endpoint(listen, checks))
        except ArbiterError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        try:
            with Presence(app, settings().queue, settings().name):
                _take_sittings(settings().name, queues)
        finally:
            loop().run(worker().close())


def _redis_amiss() -> str | None:
    return None if reached.is_set() else "can't be reached"


def _arbiter_amiss() -> str | None:
    """Whether anybody listens there; who that is comes out with the first sitting."""
    address = settings().address
    try:
        if address.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as dialling:
                dialling.settimeout(PATIENCE)
                dialling.connect(address.removeprefix("unix:"))
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, ValueError) as error:
        return f"{address} can't be reached: {error}"
    return None


def _stopping() -> str | None:
    return "is being stopped" if worker().stopping else None


def _pin(processors: frozenset[int]) -> None:
    """Keep to these processors, with all that is started from here on."""
    if not processors:
        return
    if not hasattr(os, "sched_setaffinity"):
        raise UsageError("ARBITER_WORKER_PIN: this system can't keep a process to some processors; leave it out")
    if missing := processors - os.sched_getaffinity(0):
        raise UsageError(f"ARBITER_WORKER_PIN names processor {min(missing)}, which this process may not use")
    os.sched_setaffinity(0, processors)


def _take_sittings(name: str, queues: list[str]) -> None:
    # Celery warns root of tasks that are pickles; ours are JSON, and bots are never root, whoever the worker is.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    app.worker_main(
        [
            "--quiet",  # no banner among the lines of the log
            "worker",
            "--pool=solo",
            f"--queues={','.join(queues)}",
            f"--hostname={name}@%h",
            # Workers need not know of one another.
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
        ]
    )


if __name__ == "__main__":
    main()
