"""``WorkerService``: what workers call, carried to the tournament's desk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.match import plan_to_message
from arbiter.packages import FileHeader, Versions, parts_of_version
from arbiter.store import BotLog, LeaseRefusal, Recorded
from arbiter.telemetry import metrics
from arbiter.tournament import Desk, Grant

_REFUSALS: Final = {
    LeaseRefusal.UNKNOWN: grpc.StatusCode.NOT_FOUND,
    LeaseRefusal.RECORDED: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.LEASED: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.NOT_RUNNING: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.FAILED: grpc.StatusCode.FAILED_PRECONDITION,
    LeaseRefusal.GAVE_BACK: grpc.StatusCode.FAILED_PRECONDITION,
}

_OUTCOMES: Final = {
    Recorded.RECORDED: pb.REPORT_OUTCOME_RECORDED,
    Recorded.REPEATED: pb.REPORT_OUTCOME_REPEATED,
    Recorded.SUPERSEDED: pb.REPORT_OUTCOME_SUPERSEDED,
    Recorded.CONFLICT: pb.REPORT_OUTCOME_CONFLICT,
}


class WorkerServicer(worker_pb2_grpc.WorkerServiceServicer):
    """Answers workers; the desk's work runs in threads, so that a long check of one report holds up no other call."""

    def __init__(self, desk: Desk, bots: Versions) -> None:
        self._desk: Final = desk
        self._bots: Final = bots

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
            await asyncio.to_thread(
                self._desk.release,
                request.sitting,
                request.attempt,
                request.reason,
                starved,
                counted=not request.worker_stops,
            )
        except ArbiterError as error:
            await context.abort(_status(error), str(error))
        return pb.ReleaseSittingResponse()

    async def FetchBot(
        self,
        request: pb.FetchBotRequest,
        context: grpc.aio.ServicerContext[pb.FetchBotRequest, pb.FetchBotResponse],
    ) -> AsyncIterator[pb.FetchBotResponse]:
        """See the contract."""
        try:
            folder = await asyncio.to_thread(self._bots.open, request.digest)
            parts = parts_of_version(folder)
            while (part := await asyncio.to_thread(next, parts, None)) is not None:
                yield _part_to_message(part)
            metrics.BOTS_SENT.inc()
        except ArbiterError as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))


def _part_to_message(part: FileHeader | bytes) -> pb.FetchBotResponse:
    if isinstance(part, bytes):
        return pb.FetchBotResponse(chunk=part)
    return pb.FetchBotResponse(file=pb.BotFile(path=part.path, executable=part.executable, size=part.size))


def _status(error: ArbiterError) -> grpc.StatusCode:
    """A worker may drop what was refused, and must try again where the fault is on this side."""
    return grpc.StatusCode.UNAVAILABLE if isinstance(error, InfrastructureError) else grpc.StatusCode.INVALID_ARGUMENT
