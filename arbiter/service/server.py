"""The server that workers dial, with health and reflection."""

from __future__ import annotations

from types import TracebackType
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arbiter.api.worker.v1 import worker_pb2, worker_pb2_grpc
from arbiter.packages import Versions
from arbiter.service.limits import CallLimits
from arbiter.service.listening import add_port
from arbiter.service.rates import Rates
from arbiter.service.worker_service import WorkerServicer
from arbiter.service.worker_tokens import TokenInterceptor, WorkerTokens
from arbiter.tournament import Desk

WORKER_SERVICE: Final = worker_pb2.DESCRIPTOR.services_by_name["WorkerService"].full_name

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
"""Largest report that is taken from a worker."""

STOP_GRACE: Final = 1.0
"""Seconds that calls under way have to finish when the server stops."""

_OPTIONS: Final = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    # A worker whose machine or link is gone is noticed, and so is the arbiter by it, even in the middle of a call.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]


class WorkerServer:
    """Serves workers at ``listen`` (``unix:PATH`` or ``HOST:PORT``, port 0 for any free one) while it is entered.

    Args:
        desk: leases sittings and takes reports.
        bots: the versions that workers fetch.
        tokens: who may call.
        listen: the address.
        credentials: for TLS; None for plain text, which the caller has to have thought about.
        limits: how many bad tokens an address may show.
        rates: counts these; None to count none.

    Raises:
        UsageError: on entry, when it is no address.
        InfrastructureError: on entry, when the address can't be had.
    """

    def __init__(
        self,
        desk: Desk,
        bots: Versions,
        tokens: WorkerTokens,
        listen: str,
        credentials: grpc.ServerCredentials | None = None,
        *,
        limits: CallLimits | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._listen: Final = listen
        self._credentials: Final = credentials
        interceptor = TokenInterceptor(WORKER_SERVICE, tokens, limits or CallLimits(), rates)
        self._server: Final = grpc.aio.server(interceptors=[interceptor], options=_OPTIONS)
        worker_pb2_grpc.add_WorkerServiceServicer_to_server(WorkerServicer(desk, bots), self._server)
        self._health: Final = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (WORKER_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.address = listen
        """Where it listens, once entered."""

    async def __aenter__(self) -> WorkerServer:
        self.address = add_port(self._server, self._listen, self._credentials)
        for service in ("", WORKER_SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(STOP_GRACE)
