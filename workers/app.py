"""The Celery application and its one task.

Each worker process plays one sitting at a time in its main thread (pool ``solo``): nothing forks after gRPC has
started, bots belong to a thread that lives as long as the process, and a killed worker takes its bots with it. More
cores are used by more processes. See ``docs/decisions/worker-pool.md``.
"""

from __future__ import annotations

import signal
import time
from functools import cache
from typing import Final

from celery import Celery
from celery.signals import setup_logging, worker_ready
from celery.worker import state

from arbiter.match.routes import TASK
from arbiter.telemetry import metrics
from workers.loop import LoopThread
from workers.settings import WorkerSettings, celery_settings
from workers.work import Worker

app: Final = Celery("workers", set_as_current=False)


def configure(settings: WorkerSettings) -> None:
    """Point the application at its queues."""
    app.conf.update(celery_settings(settings))


@cache
def settings() -> WorkerSettings:
    """This process's settings."""
    return WorkerSettings.from_environment()


@cache
def loop() -> LoopThread:
    """The one event loop of this process."""
    return LoopThread()


@cache
def worker() -> Worker:
    """This process's worker."""
    return Worker(settings())


@app.task(name=TASK)
def play_sitting(sitting: str, sent: float) -> None:
    """Play the sitting with this id, sent at this time in seconds since 1970."""
    metrics.QUEUE_WAIT.observe(max(0.0, time.time() - sent))
    loop().run(worker().work(sitting))
    if worker().sittings >= settings().recycle:
        state.should_stop = 0  # type: ignore[assignment]  # the stub knows its first value alone


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Celery leaves logging alone when anybody listens here; it would raise the level of all loggers."""


@worker_ready.connect
def _take_signals(**_: object) -> None:
    """From now on the first SIGTERM or SIGINT lets the worker finish its sitting, and another one hurries it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)


def _stop(*_: object) -> None:
    first = state.should_stop is None
    state.should_stop = 0  # type: ignore[assignment]  # the stub knows its first value alone
    if first:
        worker().drain()
    else:
        worker().hurry()
