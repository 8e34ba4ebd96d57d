"""Sends sittings to the workers: one Celery task each, by name, so that the arbiter imports nothing of theirs."""

from __future__ import annotations

import time
from typing import Any, Final

import redis
from celery import Celery
from kombu.exceptions import OperationalError

from arbiter.errors import InfrastructureError
from arbiter.match.routes import PRIORITY_STEPS, TASK, Priority, Route, present_key
from arbiter.store import SittingKey

ANSWER_LIMIT: Final = 5.0
"""Seconds in which Redis has to answer."""


class QueueUnreachable(InfrastructureError):
    """Redis does not answer now."""


class CelerySender:
    """The queues between one arbiter and its workers.

    Args:
        url: of Redis, in Celery's form.
        service: what the queues are called: several services may share a Redis.
    """

    def __init__(self, url: str, service: str) -> None:
        self._service: Final = service
        self._app: Final = Celery("arbiter", broker=url, set_as_current=False)
        self._app.conf.update(
            task_ignore_result=True,
            broker_connection_timeout=2.0,
            broker_transport_options={
                "socket_connect_timeout": 2.0,
                "socket_timeout": ANSWER_LIMIT,
                "priority_steps": PRIORITY_STEPS,
            },
        )

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        """Put a sitting into its queue.

        Raises:
            QueueUnreachable: Redis does not answer.
        """
        queue = route.queue(self._service)
        try:
            self._app.send_task(TASK, args=[str(key), time.time()], queue=queue, priority=int(priority), retry=False)
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def waiting(self, route: Route) -> int:
        """How many sittings are in a queue, not yet taken by a worker.

        Raises:
            QueueUnreachable: Redis does not answer.
        """
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel  # typed without the methods that all of them have
                declared = channel.queue_declare(queue=route.queue(self._service), durable=True, auto_delete=False)
                return int(declared.message_count)
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def ping(self) -> None:
        """Return when Redis answers; raises `QueueUnreachable`."""
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel
                channel.client.ping()
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def workers(self) -> list[str]:
        """Names of the workers that have said lately that they are there, sorted.

        Raises:
            QueueUnreachable: Redis does not answer.
        """
        beginning = present_key(self._service, "")
        try:
            with self._app.connection_for_write() as connection:
                channel: Any = connection.default_channel
                keys = channel.client.scan_iter(match=f"{beginning}*", count=1000)
                return sorted({key.decode(errors="replace").removeprefix(beginning) for key in keys})
        except (OperationalError, redis.RedisError, OSError) as error:
            raise QueueUnreachable(f"Redis does not answer: {error}") from error

    def close(self) -> None:
        """Close all connections."""
        self._app.close()
