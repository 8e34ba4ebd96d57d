"""``WorkerService``: what workers call, carried to the tournament's desk."""

from __future__ import annotations

import asyncio
import hmac
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.match import plan_to_message
from arbiter.store import BotLog, LeaseRefusal, Recorded
from arbiter.tournament import Desk, Grant

_REFUSALS: Final = {
    LeaseRefusal.UNKNOWN: grpc.StatusCode.NOT_FOUND,
    LeaseRefusal.RECORDED: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.LEASED: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.NOT_RUNNING: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.FAILED: grpc.StatusCode.FAILED_PRECONDITION,
}

_OUTCOMES: Final = {
    Recorded.RECORDED: pb.REPORT_OUTCOME_RECORDED,
    Recorded.REPEATED: pb.REPORT_OUTCOME_REPEATED,
    Recorded.SUPERSEDED: pb.REPORT_OUTCOME_SUPERSEDED,
    Recorded.CONFLICT: pb.REPORT_OUTCOME_CONFLICT,
}


class WorkerServicer(worker_pb2_grpc.WorkerServiceServicer):
    """Answers workers; the desk's work runs in threads, so that a long check of one report holds up no other call."""

    def __init__(self, desk: Desk) -> None:
        self._desk: Final = desk

    async def LeaseSitting(
        self,
        request: pb.LeaseSittingRequest,
        context: grpc.aio.ServicerContext[pb.LeaseSittingRequest, pb.LeaseSittingResponse],
    ) -> pb.LeaseSittingResponse:
        """See the contract."""
        try:
            grant = await asyncio.to_thread(self._desk.lease, request.sitting, request.worker)
        except ArbiterError as error:
            await context.abort(_status(error), str(error))
        if not isinstance(grant, Grant):
            await context.abort(_REFUSALS[grant], f"sitting {request.sitting}: {grant}")
        response = pb.LeaseSittingResponse(attempt=grant.lease.attempt, plan=plan_to_message(grant.plan))
        response.duration.FromTimedelta(self._desk.lease_duration)
        for player, folder in zip(response.plan.players, grant.folders, strict=True):
            player.folder = folder
        return response

    async def RenewLease(
        self,
        request: pb.RenewLeaseRequest,
        context: grpc.aio.ServicerContext[pb.RenewLeaseRequest, pb.RenewLeaseResponse],
    ) -> pb.RenewLeaseResponse:
        """See the contract."""
        try:
            held = await asyncio.to_thread(self._desk.renew, request.sitting, request.attempt, request.hands)
        except ArbiterError as error:
            await context.abort(_status(error), str(error))
        return pb.RenewLeaseResponse(held=held)

    async def ReportSitting(
        self,
        request: pb.ReportSittingRequest,
        context: grpc.aio.ServicerContext[pb.ReportSittingRequest, pb.ReportSittingResponse],
    ) -> pb.ReportSittingResponse:
        """See the contract."""
        logs = [
            BotLog(
                log.entrant,
                log.ending,
                log.log.decode(errors="replace"),
                log.thinking_time.ToNanoseconds() / 1e9,
                log.answers,
            )
            for log in request.logs
        ]
        seconds = request.duration.ToNanoseconds() / 1e9
        try:
            outcome = await asyncio.to_thread(
                self._desk.report, request.sitting, request.attempt, request.replay, logs, seconds
            )
        except ArbiterError as error:
            await context.abort(_status(error), str(error))
        return pb.ReportSittingResponse(outcome=_OUTCOMES[outcome])

    async def ReleaseSitting(
        self,
        request: pb.ReleaseSittingRequest,
        context: grpc.aio.ServicerContext[pb.ReleaseSittingRequest, pb.ReleaseSittingResponse],
    ) -> pb.ReleaseSittingResponse:
        """See the contract."""
        try:
            starved = request.starved_entrant if request.HasField("starved_entrant") else None
            await asyncio.to_thread(self._desk.release, request.sitting, request.attempt, request.reason, starved)
        except ArbiterError as error:
            await context.abort(_status(error), str(error))
        return pb.ReleaseSittingResponse()


def _status(error: ArbiterError) -> grpc.StatusCode:
    """A worker may drop what was refused, and must try again where the fault is on this side."""
    return grpc.StatusCode.UNAVAILABLE if isinstance(error, InfrastructureError) else grpc.StatusCode.INVALID_ARGUMENT


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls of ``service`` that do not show the token; health and reflection are open."""

    def __init__(self, service: str, token: str) -> None:
        self._prefix: Final = f"/{service}/"
        self._expected: Final = f"Bearer {token}".encode()

    async def intercept_service(self, continuation, handler_call_details):  # type: ignore[no-untyped-def]
        """See grpc.aio.ServerInterceptor, whose typing leaves this out."""
        if handler_call_details.method.startswith(self._prefix):
            metadata = dict(handler_call_details.invocation_metadata or ())
            given = str(metadata.get("authorization", "")).encode()
            if not hmac.compare_digest(given, self._expected):
                return grpc.unary_unary_rpc_method_handler(_refuse)
        return await continuation(handler_call_details)


async def _refuse(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
    detail = "the workers' token is missing or wrong: set ARBITER_WORKER_TOKEN"
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, detail)
