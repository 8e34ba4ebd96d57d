"""The server that workers dial, with health and reflection."""

from __future__ import annotations

from types import TracebackType
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arbiter.api.worker.v1 import worker_pb2, worker_pb2_grpc
from arbiter.service.listening import add_port
from arbiter.service.worker_service import TokenInterceptor, WorkerServicer
from arbiter.tournament import Desk

WORKER_SERVICE: Final = worker_pb2.DESCRIPTOR.services_by_name["WorkerService"].full_name

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
"""Largest report that is taken from a worker."""

STOP_GRACE: Final = 1.0
"""Seconds that calls under way have to finish when the server stops."""


class WorkerServer:
    """Serves workers at ``listen`` (``unix:PATH`` or ``HOST:PORT``, port 0 for any free one) while it is entered.

    Raises:
        UsageError: on entry, when it is no address.
        InfrastructureError: on entry, when the address can't be had.
    """

    def __init__(self, desk: Desk, listen: str, token: str) -> None:
        self._listen: Final = listen
        self._server: Final = grpc.aio.server(
            interceptors=[TokenInterceptor(WORKER_SERVICE, token)],
            options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.so_reuseport", 0)],
        )
        worker_pb2_grpc.add_WorkerServiceServicer_to_server(WorkerServicer(desk), self._server)
        self._health: Final = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (WORKER_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.address = listen
        """Where it listens, once entered."""

    async def __aenter__(self) -> WorkerServer:
        self.address = add_port(self._server, self._listen, None)
        await self._server.start()
        for service in ("", WORKER_SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(STOP_GRACE)
