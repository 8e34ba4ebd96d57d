"""The server that workers dial, with health and reflection."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arbiter.api.worker.v1 import worker_pb2, worker_pb2_grpc
from arbiter.errors import InfrastructureError, UsageError
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
        if not self._listen.startswith("unix:"):
            _check_free(self._listen)
        try:
            port = self._server.add_insecure_port(self._listen)
        except RuntimeError as error:
            raise _cannot_listen(self._listen, "it is taken or not this machine's") from error
        if not self._listen.startswith("unix:"):
            self.address = f"{self._listen.rpartition(':')[0]}:{port}"
        await self._server.start()
        for service in ("", WORKER_SERVICE):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(STOP_GRACE)


def _check_free(listen: str) -> None:
    """Find out what is wrong with an address before gRPC does, which writes lines of its own about it to stderr."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"can't listen at {listen!r}: write HOST:PORT, such as 127.0.0.1:7070")
    try:
        places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _cannot_listen(listen, f"{host} is no known host ({error.strerror})") from error
    causes = []
    for family, kind, protocol, _, address in places:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                causes.append(str(error.strerror))
            else:
                return
    raise _cannot_listen(listen, causes[-1])


def _cannot_listen(listen: str, cause: str) -> InfrastructureError:
    return InfrastructureError(f"can't listen at {listen}: {cause}; choose another address with --listen")
