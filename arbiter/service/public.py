"""The server that contestants and spectators dial, with health and reflection."""

from __future__ import annotations

import resource
from types import TracebackType
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from arbiter.api.gate.v1 import gate_pb2, gate_pb2_grpc
from arbiter.api.ladder.v1 import ladder_pb2, ladder_pb2_grpc
from arbiter.api.registry.v1 import registry_pb2, registry_pb2_grpc
from arbiter.api.tournament.v1 import tournament_pb2, tournament_pb2_grpc
from arbiter.service.admission import Admission
from arbiter.service.gate_service import GateServicer
from arbiter.service.ladder_service import LadderServicer
from arbiter.service.limits import CallLimits, Kind
from arbiter.service.listening import add_port
from arbiter.service.rates import Rates
from arbiter.service.registry_service import RegistryServicer
from arbiter.service.tournament_service import TournamentServicer
from arbiter.store import Accounts

REGISTRY_SERVICE: Final = registry_pb2.DESCRIPTOR.services_by_name["RegistryService"].full_name
TOURNAMENT_SERVICE: Final = tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"].full_name

LADDER_SERVICE: Final = ladder_pb2.DESCRIPTOR.services_by_name["LadderService"].full_name
GATE_SERVICE: Final = gate_pb2.DESCRIPTOR.services_by_name["GateService"].full_name
SERVICES: Final = (REGISTRY_SERVICE, TOURNAMENT_SERVICE, GATE_SERVICE, LADDER_SERVICE)

OPEN_SERVICES: Final = frozenset({health.SERVICE_NAME, reflection.SERVICE_NAME})
"""Those that need no token."""

BEING_REFUSED: Final = 832
"""Calls of which gRPC keeps anything at once, beside all that the limits of callers let in. It bounds the memory for
those that are being refused."""

BEING_REFUSED_EACH: Final = 16
LEAST_EACH: Final = 64
"""The same of one connection, beside the calls and streams that one token may have, and at least so many in all: a
caller learns of this bound only after its first calls, and gRPC ends those above it without a word."""

MOST_CONNECTIONS: Final = 10_000

STOP_GRACE: Final = 2.0
"""Seconds that calls under way have to finish when the server stops."""

_OPTIONS: Final[list[tuple[str, int]]] = [
    ("grpc.so_reuseport", 0),
    # A caller that vanished is noticed, and one that pings all the time is sent away.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    # Connections on which nothing happens go.
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.max_connection_idle_ms", 300_000),
]


class PublicServer:
    """Serves at ``listen`` (``unix:PATH`` or ``HOST:PORT``, port 0 for any free one) while it is entered.

    Args:
        registry: answers contestants.
        tournaments: answers hosts and all who follow tournaments.
        gates: answers contestants' pipelines.
        ladders: answers all who enter or follow a ladder.
        accounts: whose tokens are good.
        listen: the address.
        credentials: for TLS; None for plain text, which the caller has to have thought about.
        limits: what callers may have.
        rates: counts calls within a time; None to count none.

    Raises:
        UsageError: on entry, when it is no address.
        InfrastructureError: on entry, when the address can't be had.
    """

    def __init__(
        self,
        registry: RegistryServicer,
        tournaments: TournamentServicer,
        gates: GateServicer,
        ladders: LadderServicer,
        accounts: Accounts,
        listen: str,
        credentials: grpc.ServerCredentials | None,
        *,
        limits: CallLimits | None = None,
        rates: Rates | None = None,
    ) -> None:
        self._listen: Final = listen
        self._credentials: Final = credentials
        limits = limits or CallLimits()
        admission = Admission(accounts, OPEN_SERVICES, limits, rates)
        self._server: Final = grpc.aio.server(
            interceptors=[admission],
            options=_options(limits),
            maximum_concurrent_rpcs=sum(share.total for share in limits.shares.values()) + BEING_REFUSED,
        )
        registry_pb2_grpc.add_RegistryServiceServicer_to_server(registry, self._server)
        tournament_pb2_grpc.add_TournamentServiceServicer_to_server(tournaments, self._server)
        gate_pb2_grpc.add_GateServiceServicer_to_server(gates, self._server)
        ladder_pb2_grpc.add_LadderServiceServicer_to_server(ladders, self._server)
        self._health: Final = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self.address = listen
        """Where it listens, once entered."""

    async def __aenter__(self) -> PublicServer:
        self.address = add_port(self._server, self._listen, self._credentials)
        await self._server.start()
        for service in ("", *SERVICES):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(STOP_GRACE)


def _options(limits: CallLimits) -> list[tuple[str, int]]:
    each = limits.shares[Kind.CALL].each + limits.shares[Kind.STREAM].each + BEING_REFUSED_EACH
    return [
        *_OPTIONS,
        ("grpc.max_receive_message_length", limits.message_bytes),
        ("grpc.max_concurrent_streams", max(LEAST_EACH, each)),
        # Those whose caller reads nothing go in the end.
        ("grpc.max_connection_age_ms", round(limits.connection_age * 1000)),
        ("grpc.max_connection_age_grace_ms", round(limits.connection_grace * 1000)),
        ("grpc.max_allowed_incoming_connections", _connections()),
    ]


def _connections() -> int:
    """Half of the files that this process may open, for everything else needs some of them as well."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, files // 2)
