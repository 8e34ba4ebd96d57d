"""Run one worker process: ``python -m workers``. Settings come from the environment, see :mod:`workers.settings`."""

from __future__ import annotations

import logging
import sys

from arbiter.errors import ArbiterError
from workers.app import app, configure, runner, settings, worker


def main() -> None:
    """Take sittings from the queue until SIGTERM.

    Exit status 2 when a setting is missing or bad, 4 when the machine does not protect from bots as required.
    """
    try:
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
