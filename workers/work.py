"""What a worker does with a sitting: lease it, play it, report it, and keep the lease alive meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import shutil
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.api.worker.v1 import worker_pb2_grpc
from arbiter.cage import Cage, Launch, LoadMeter, choose_cage, load_manifest
from arbiter.errors import ArbiterError
from arbiter.links import BotHost, Link, ProcessLink
from arbiter.match import SittingRecord, Starved, plan_from_message, play_sitting, replay_of, write_replay
from workers.settings import WorkerSettings
from workers.spool import Spool

log = logging.getLogger(__name__)

REPORT_PATIENCE: Final = 30.0
"""Seconds for which a report is tried again before the worker goes on; it stays in the spool and is sent later."""

CALL_PATIENCE: Final = 10.0
"""Seconds for which the answer to a short call is waited for."""

RELEASE_PAUSE: Final = 1.0
"""Seconds of rest after giving a sitting back, so that a broken machine does not burn through the whole plan."""

_AWAY: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class Worker:
    """Plays sittings, one at a time, on one event loop."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings: Final = settings
        self._cage: Final[Cage] = choose_cage(settings.unsafe_processes, settings.hidden, settings.cage)
        self._spool: Final = Spool(settings.run_folder / "spool")
        self._channel: grpc.aio.Channel | None = None
        self._stub: worker_pb2_grpc.WorkerServiceAsyncStub | None = None
        self._current: asyncio.Task[None] | None = None
        self._stopping = False

    async def check(self) -> None:
        """See that this machine protects from bots as the host requires, before any is run.

        Raises:
            CageError: it does not; the message has the cause.
        """
        await self._cage.check()

    async def work(self, sitting: str) -> None:
        """Play one sitting, from lease to report. Returns also when there is nothing to do or it could not be done."""
        if self._stopping:
            return
        self._current = asyncio.ensure_future(self._work(sitting))
        try:
            await self._current
        except asyncio.CancelledError:
            log.warning("sitting %s: stopped", sitting)
        finally:
            self._current = None

    async def _work(self, sitting: str) -> None:
        stub = self._connect()
        await self._send_spooled(stub)
        request = pb.LeaseSittingRequest(sitting=sitting, worker=self._settings.name)
        try:
            lease = await stub.LeaseSitting(request, timeout=CALL_PATIENCE)
        except grpc.aio.AioRpcError as error:
            log.info("sitting %s: not leased: %s: %s", sitting, error.code().name, error.details())
            return
        progress = Progress()
        playing = asyncio.ensure_future(self._play(lease.plan, progress))
        heartbeat = asyncio.ensure_future(self._keep_lease(stub, sitting, lease, progress, playing))
        started = time.monotonic()
        try:
            # Until the report is through: a sitting that is being reported need not be played again.
            record = await self._outcome(stub, sitting, lease, playing)
            if record is not None:
                report = _report(sitting, lease.attempt, record, time.monotonic() - started)
                self._spool.put(sitting, lease.attempt, report)
                await self._send_spooled(stub)
        finally:
            heartbeat.cancel()

    def stop(self) -> None:
        """End the sitting that is being played; callable from a signal handler."""
        self._stopping = True
        if self._current is not None:
            self._current.get_loop().call_soon_threadsafe(self._current.cancel)

    async def close(self) -> None:
        """Hang up; before the event loop ends."""
        if self._channel is not None:
            await self._channel.close()

    def _connect(self) -> worker_pb2_grpc.WorkerServiceAsyncStub:
        if self._stub is None:
            metadata = [("authorization", f"Bearer {self._settings.token}")]
            self._channel = grpc.aio.insecure_channel(
                self._settings.address,
                options=[("grpc.max_reconnect_backoff_ms", 2000)],
                interceptors=[_Metadata(metadata)],
            )
            self._stub = worker_pb2_grpc.WorkerServiceStub(self._channel)
        return self._stub

    async def _outcome(
        self,
        stub: worker_pb2_grpc.WorkerServiceAsyncStub,
        sitting: str,
        lease: pb.LeaseSittingResponse,
        playing: asyncio.Task[SittingRecord],
    ) -> SittingRecord | None:
        """What came of a sitting; None when its lease was lost, or when it could not be played and was given back."""
        try:
            await asyncio.wait({playing})
            return None if playing.cancelled() else playing.result()
        except (ArbiterError, OSError) as error:
            log.error("sitting %s, attempt %d: given back: %s", sitting, lease.attempt, error)
            starved = error.entrant if isinstance(error, Starved) else None
            request = pb.ReleaseSittingRequest(
                sitting=sitting, attempt=lease.attempt, reason=str(error), starved_entrant=starved
            )
            try:
                await stub.ReleaseSitting(request, timeout=CALL_PATIENCE)
            except grpc.aio.AioRpcError as failure:
                log.warning("sitting %s: not given back, its lease will expire: %s", sitting, failure.code().name)
            await asyncio.sleep(RELEASE_PAUSE)
            return None
        finally:
            # When this worker is stopped: the bots end before anything else happens.
            playing.cancel()
            await asyncio.wait({playing})

    async def _play(self, plan_message: pb.SittingPlan, progress: Progress) -> SittingRecord:
        plan = plan_from_message(plan_message)
        async with _sitting_folder(self._settings.run_folder, self._settings.unsafe_processes) as folder:
            host = BotHost(folder)
            links: list[Link] = []
            for place, player in enumerate(plan_message.players):
                bot = Path(player.folder)
                connection = host.add(f"seat{place}")
                launch = Launch(
                    bot,
                    load_manifest(bot),
                    connection.socket,
                    {"ARBITER_TOKEN": connection.token},
                    sitting=folder.name,
                )
                links.append(ProcessLink(self._cage, launch, connection))
            async with host:
                return await play_sitting(plan, links, progress.hand_done, read_load=LoadMeter().read)

    async def _keep_lease(
        self,
        stub: worker_pb2_grpc.WorkerServiceAsyncStub,
        sitting: str,
        lease: pb.LeaseSittingResponse,
        progress: Progress,
        playing: asyncio.Task[SittingRecord],
    ) -> None:
        """Renew the lease several times within its length; end the play when it is held no more."""
        pause = lease.duration.ToNanoseconds() / 1e9 / 5
        while True:
            await asyncio.sleep(pause)
            request = pb.RenewLeaseRequest(sitting=sitting, attempt=lease.attempt, hands=progress.hands)
            try:
                renewed = await stub.RenewLease(request, timeout=pause * 4)
            except grpc.aio.AioRpcError as error:
                # The arbiter may be away for a while; what was played is worth keeping, the first report stands.
                log.warning("sitting %s: lease not renewed: %s", sitting, error.code().name)
                continue
            if not renewed.held:
                if playing.cancel():
                    log.warning("sitting %s, attempt %d: the lease is gone; it is dropped", sitting, lease.attempt)
                return

    async def _send_spooled(self, stub: worker_pb2_grpc.WorkerServiceAsyncStub) -> None:
        """Report what waits in the spool, with back-off while the arbiter is away; what remains is sent another
        time."""
        deadline = time.monotonic() + REPORT_PATIENCE
        pause = 0.1
        for path, report in self._spool.waiting():
            while True:
                try:
                    answer = await stub.ReportSitting(report, timeout=REPORT_PATIENCE)
                except grpc.aio.AioRpcError as error:
                    if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                        log.error("sitting %s: the report was refused: %s", report.sitting, error.details())
                        self._spool.remove(path)
                        break
                    if error.code() not in _AWAY:
                        # It is kept for another time, and does not stand in the way of the others.
                        log.error(
                            "sitting %s: not reported: %s: %s", report.sitting, error.code().name, error.details()
                        )
                        break
                    if time.monotonic() + pause > deadline:
                        log.warning("sitting %s: not reported yet: %s", report.sitting, error.code().name)
                        return
                    await asyncio.sleep(pause * random.uniform(0.5, 1.5))
                    pause = min(5.0, 2 * pause)
                    continue
                log.info("sitting %s: %s", report.sitting, pb.ReportOutcome.Name(answer.outcome))
                self._spool.remove(path)
                break


class Progress:
    """How far the sitting that is being played is."""

    def __init__(self) -> None:
        self.hands = 0

    def hand_done(self) -> None:
        """A hand ended."""
        self.hands += 1


class _Metadata(grpc.aio.UnaryUnaryClientInterceptor):
    """Adds the worker's token to every call."""

    def __init__(self, metadata: Sequence[tuple[str, str]]) -> None:
        self._metadata: Final = metadata

    async def intercept_unary_unary(self, continuation, client_call_details, request):  # type: ignore[no-untyped-def]
        """See grpc.aio.UnaryUnaryClientInterceptor, whose typing leaves this out."""
        details = client_call_details._replace(metadata=[*(client_call_details.metadata or ()), *self._metadata])
        return await continuation(details, request)


def _report(sitting: str, attempt: int, record: SittingRecord, seconds: float) -> pb.ReportSittingRequest:
    replay = write_replay(replay_of(record.plan, record.hands, record.faults))
    report = pb.ReportSittingRequest(sitting=sitting, attempt=attempt, replay=zlib.compress(replay))
    report.duration.FromNanoseconds(int(seconds * 1e9))
    for bot, ending, used in zip(record.plan.bots, record.endings, record.times, strict=True):
        log = report.logs.add(entrant=bot.entrant, ending=ending.ending, log=ending.log, answers=used.answers)
        log.thinking_time.FromNanoseconds(int(used.seconds * 1e9))
    return report


@contextlib.asynccontextmanager
async def _sitting_folder(run_folder: Path, unsafe_processes: bool) -> AsyncIterator[Path]:
    """A fresh folder for one sitting, gone with all that is in it afterwards; uncaged bots have to pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="s-", dir=run_folder))
    if unsafe_processes:
        folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
