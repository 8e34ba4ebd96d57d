"""Sends sittings to the workers: one Celery task each, by name, so that the arbiter imports nothing of theirs."""

from __future__ import annotations

from typing import Any, Final

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from arbiter.errors import InfrastructureError
from arbiter.store import SittingKey

TASK: Final = "hearts.play_sitting"
"""Name of the workers' task; its one argument is a sitting's id."""


class QueueUnreachable(InfrastructureError):
    """Redis does not answer now."""


class CelerySender:
    """The queue between one arbiter and its workers.

    Args:
        url: of Redis, in Celery's form.
        queue: name of the queue.
    """

    def __init__(self, url: str, queue: str) -> None:
        self._queue: Final = queue
        self._app: Final = Celery("arbiter", broker=url, set_as_current=False)
        self._app.conf.update(
            task_ignore_result=True,
            broker_connection_timeout=2.0,
            broker_transport_options={"socket_connect_timeout": 2.0, "socket_timeout": 5.0},
        )

    def send(self, key: SittingKey) -> None:
        """Put a sitting into the queue.

        Raises:
            QueueUnreachable: Redis does not answer.
        """
        try:
            self._app.send_task(TASK, args=[str(key)], queue=self._queue, retry=False)
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def waiting(self) -> int:
        """How many sittings are in the queue, not yet taken by a worker.

        Raises:
            QueueUnreachable: Redis does not answer.
        """
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel  # typed without the methods that all of them have
                declared = channel.queue_declare(queue=self._queue, durable=True, auto_delete=False)
                return int(declared.message_count)
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def close(self) -> None:
        """Close all connections."""
        self._app.close()
