"""Sends what is in the spool to the arbiter, in a task of its own: the worker plays on meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.telemetry import metrics
from workers.line import AWAY, Backoff, Line
from workers.spool import Spool

log = logging.getLogger(__name__)

CALL_PATIENCE: Final = 30.0
"""Seconds for which the answer to a report is waited for, which the arbiter checks before it answers."""

MAX_PAUSE: Final = 5.0
"""Longest pause in seconds between two tries while the arbiter is away."""

_AWAY: Final = (*AWAY, grpc.StatusCode.CANCELLED)  # which is what an arbiter that ends makes of calls under way


class Reporter:
    """One at a time: nothing piles up at an arbiter that is slow, since the next sitting's report waits for its turn.

    Args:
        spool: what is to be sent, by whichever worker it was played.
        line: gives the line to the arbiter, on the event loop.
    """

    def __init__(self, spool: Spool, line: Callable[[], Line]) -> None:
        self._spool: Final = spool
        self._line: Final = line
        self._sending: asyncio.Task[None] | None = None
        self.sitting: str | None = None
        """The sitting of this worker's own that is being reported."""

    def start(self, sitting: str | None = None, keeping: asyncio.Task[None] | None = None) -> None:
        """Send what waits, unless that is being done.

        Args:
            sitting: what was put into the spool last, of this worker's own.
            keeping: what keeps its lease, so that nobody plays it meanwhile; ended afterwards.
        """
        if self._sending is None:
            self.sitting = sitting
            self._sending = asyncio.ensure_future(self._send())
            self._sending.add_done_callback(lambda _: self._done(keeping))

    @property
    def busy(self) -> bool:
        """Whether something is being sent."""
        return self._sending is not None

    async def finish(self) -> None:
        """Wait until nothing is being sent. What could not be sent stays in the spool."""
        if self._sending is not None:
            await asyncio.wait({self._sending})

    def stop(self) -> None:
        """Send no more; what is not acknowledged stays in the spool."""
        if self._sending is not None:
            self._sending.cancel()

    def _done(self, keeping: asyncio.Task[None] | None) -> None:
        self._sending = self.sitting = None
        if keeping is not None:
            keeping.cancel()

    async def _send(self) -> None:
        try:
            for path, report in self._spool.waiting():
                if await self._acknowledged(report):
                    self._spool.remove(path)
        except OSError as error:
            log.error("reports wait in the spool, which can't be read: %s", error)

    async def _acknowledged(self, report: pb.ReportSittingRequest) -> bool:
        """Report, again and again while the arbiter is away; whether that was the last that has to be said of it."""
        backoff, line = Backoff(MAX_PAUSE), self._line()
        while True:
            try:
                answer = await line.stub.ReportSitting(report, timeout=CALL_PATIENCE, metadata=line.metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                    log.error("sitting %s: the report was refused: %s", report.sitting, error.details())
                    return True
                if error.code() not in _AWAY:
                    # It is kept for another time, and does not stand in the way of the others.
                    log.error("sitting %s: not reported: %s: %s", report.sitting, error.code().name, error.details())
                    return False
                if backoff.first:  # one line, however long it takes
                    log.warning("sitting %s: not reported yet: %s", report.sitting, error.code().name)
                metrics.RETRIES.labels("report").inc()
                await asyncio.sleep(backoff.draw())
            else:
                log.info("sitting %s: %s", report.sitting, pb.ReportOutcome.Name(answer.outcome))
                return True
