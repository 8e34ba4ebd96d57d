"""Run one worker process: ``python -m workers``. Settings come from the environment, see :mod:`workers.settings`."""

from __future__ import annotations

import logging
import os
import sys

from arbiter.errors import ArbiterError, UsageError
from workers.app import app, configure, runner, settings, worker


def main() -> None:
    """Take sittings from the queue until SIGTERM.

    Exit status 2 when a setting is missing or bad, 4 when the machine does not protect from bots as required.
    """
    try:
        _pin(settings().pinned)
        configure(settings())
        queues = settings().queues()
        runner().run(worker().check())
    except ArbiterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for library in ("celery", "kombu"):  # of each task they would say that it came and went
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        _take_sittings(settings().name, queues)
    finally:
        runner().run(worker().close())


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
    app.worker_main(
        [
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
