"""The Celery application and its one task.

Each worker process plays one sitting at a time in its main thread (pool ``solo``): nothing forks after gRPC has
started, bots belong to a thread that lives as long as the process, and a killed worker takes its bots with it. More
cores are used by more processes. See ``docs/decisions/worker-pool.md``.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Final

from celery import Celery
from celery.signals import worker_shutting_down

from workers.settings import WorkerSettings
from workers.work import Worker

TASK: Final = "hearts.play_sitting"
"""Name by which the arbiter sends sittings."""

VISIBILITY_TIMEOUT: Final = 12 * 3600
"""Seconds after which Redis hands out an unacknowledged task again. Longer than any sitting; nothing rests
on it, because lost work comes back by its lease within seconds."""

app: Final = Celery("workers", set_as_current=False)


def configure(settings: WorkerSettings) -> None:
    """Point the application at its queue; each setting with its reason."""
    app.conf.update(
        broker_url=settings.redis_url,
        task_default_queue=settings.queue,
        # A task is done when its sitting is reported, so that a broker that survives hands it out again after a crash.
        task_acks_late=True,
        # One sitting at a time: what waits in the queue is free for whoever is idle.
        worker_prefetch_multiplier=1,
        # The arbiter learns results by RPC.
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_transport_options={"visibility_timeout": VISIBILITY_TIMEOUT},
        # The queue may start after the worker, and may go away and come back; a worker waits for it.
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
    )


@cache
def runner() -> asyncio.Runner:
    """The one event loop of this process: gRPC's objects stay on it from sitting to sitting."""
    return asyncio.Runner()


@cache
def worker() -> Worker:
    """This process's worker."""
    return Worker(WorkerSettings.from_environment())


@app.task(name=TASK)
def play_sitting(sitting: str) -> None:
    """Play the sitting with this id and report it."""
    runner().run(worker().work(sitting))


@worker_shutting_down.connect
def _stop(**_: object) -> None:
    """End the sitting that is being played: nothing is lost, its lease expires and it is played again."""
    worker().stop()
