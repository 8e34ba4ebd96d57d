"""What a worker does with a sitting: lease it, play it, report it, and keep the lease alive meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import grpc

from arbiter.api.worker.v1 import worker_pb2 as pb
from arbiter.cage import Cage, Launch, LoadMeter, choose_cage, load_manifest
from arbiter.compression import compress
from arbiter.errors import ArbiterError
from arbiter.links import BotHost, Link, ProcessLink
from arbiter.match import SittingRecord, Starved, pack_replay, plan_from_message, play_sitting, replay_of
from arbiter.packages import BotCache
from arbiter.telemetry import log_context, metrics
from workers.line import AWAY, Backoff, Line
from workers.reporting import Reporter
from workers.settings import WorkerSettings
from workers.spool import Spool

log = logging.getLogger(__name__)

REPORT_PATIENCE: Final = 30.0
"""Seconds for which a worker that ends waits for its last report, unless it is hurried; what is not acknowledged stays
in the spool and is sent later."""

CALL_PATIENCE: Final = 10.0
"""Seconds for which the answer to a short call is waited for."""

MAX_PAUSE: Final = 10.0
"""Longest pause in seconds between two tries to reach the arbiter."""

HEARTBEAT: Final = 0.5
"""Seconds between two questions whether the lease is still held, so that a tournament that the host pauses or cancels
is left within a second."""

RELEASE_PAUSE: Final = 1.0
"""Seconds of rest after giving a sitting back, so that a broken machine does not burn through the whole plan."""


class Worker:
    """Plays sittings, one at a time, on one event loop."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings: Final = settings
        self._cage: Final[Cage] = choose_cage(settings.unsafe_processes, settings.hidden, settings.cage)
        self._spool: Final = Spool(settings.spool_folder)
        self._opened: Line | None = None
        self._reporter: Final = Reporter(self._spool, lambda: self._line)
        self._bots: Final = BotCache(settings.cache_folder, self._fetch, settings.cache_bytes)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._current: asyncio.Task[None] | None = None
        self._playing: asyncio.Task[SittingRecord] | None = None
        self._stopping: Final = asyncio.Event()
        self._returning = False
        self.sittings = 0
        """Sittings that were played here."""

    async def check(self) -> None:
        """See that this machine protects from bots as the host requires, before any is run.

        Raises:
            CageError: it does not; the message has the cause.
        """
        await self._cage.check()

    async def work(self, sitting: str) -> None:
        """Play one sitting, from lease to replay; it is reported while the next one begins.

        Returns when what is to be reported is on the disk, and also when there is nothing to do or it could not be
        done.
        """
        if self._stopping.is_set():
            return
        self._loop = asyncio.get_running_loop()
        match, tournament = sitting.rpartition("/")[0], sitting.partition("/")[0]
        with log_context(sitting=sitting, match=match, tournament=tournament, worker=self._settings.name):
            self._current = asyncio.ensure_future(self._work(sitting))
            try:
                await self._current
            except asyncio.CancelledError:
                log.warning("sitting %s: stopped", sitting)
            finally:
                self._current = None

    @property
    def stopping(self) -> bool:
        """Whether it takes no sitting any more."""
        return self._stopping.is_set()

    async def _work(self, sitting: str) -> None:
        if sitting == self._reporter.sitting:
            return  # sent twice; the arbiter would let its worker have it again until the report is through
        lease = await self._lease(sitting)
        self._reporter.start()  # what an earlier worker left behind, now that the arbiter is there
        if lease is None:
            return
        progress = Progress()
        playing = self._playing = asyncio.ensure_future(self._play(lease.plan, progress))
        heartbeat = asyncio.ensure_future(self._keep_lease(sitting, lease, progress, playing))
        reporting = False
        started = time.monotonic()
        metrics.BUSY.set(1)
        try:
            record = await self._outcome(sitting, lease, playing)
            self._playing = None
            if record is not None:
                self.sittings += 1
                seconds = time.monotonic() - started
                _measure(record, seconds)
                self._spool.put(sitting, lease.attempt, _report(sitting, lease.attempt, record, seconds))
                await self._reporter.finish()
                self._reporter.start(sitting, heartbeat)
                reporting = True
        finally:
            metrics.BUSY.set(0)
            if not reporting:
                heartbeat.cancel()

    async def reported(self) -> None:
        """Wait until no report is on its way."""
        await self._reporter.finish()

    def drain(self) -> None:
        """Take no other sitting; finish the one that is played, or give it back if it takes too long. Callable from a
        signal handler."""
        self._on_loop(self._drain)

    def hurry(self) -> None:
        """Take no other sitting and give the one that is played back now. Callable from a signal handler."""
        self._on_loop(self._give_back)

    def _on_loop(self, action: Callable[[], None]) -> None:
        """Run something on the event loop; before the first sitting there is nothing to end."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(action)

    def _drain(self) -> None:
        self._stopping.set()
        if self._current is None and not self._reporter.busy:
            return
        log.warning("stopping after this sitting, or in %g s; ask again to hurry", self._settings.drain_seconds)
        asyncio.get_running_loop().call_later(self._settings.drain_seconds, self._give_back)

    def _give_back(self) -> None:
        self._stopping.set()
        if self._playing is not None:
            self._returning = True
            self._playing.cancel()
            return
        if self._current is not None:
            self._current.cancel()
        self._reporter.stop()

    async def close(self) -> None:
        """Send what was played last, and hang up; before the event loop ends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CALL_PATIENCE if self._returning else REPORT_PATIENCE):
                await self.reported()
        self._reporter.stop()
        await self.reported()
        if self._opened is not None:
            await self._opened.close()

    @property
    def _line(self) -> Line:
        """The line to the arbiter, opened with the first sitting: on the event loop."""
        if self._opened is None:
            self._opened = Line(self._settings)
        return self._opened

    async def _fetch(self, digest: str, folder: Path) -> None:
        await self._line.fetch_bot(digest, folder)

    async def _lease(self, sitting: str) -> pb.LeaseSittingResponse | None:
        """Take a sitting's lease, waiting while the arbiter is away; None when there is nothing to do."""
        request = pb.LeaseSittingRequest(sitting=sitting, worker=self._settings.name)
        backoff = Backoff(MAX_PAUSE)
        while True:
            try:
                line = self._line
                lease = await line.stub.LeaseSitting(request, timeout=CALL_PATIENCE, metadata=line.metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() in AWAY:
                    metrics.RETRIES.labels("lease").inc()
                    if backoff.first:  # one line, however long it takes
                        where = self._settings.address
                        log.warning("the arbiter at %s can't be reached, trying again: %s", where, error.details())
                    if await self._stopped_within(backoff.draw()):
                        return None
                    continue
                refused = error.code() in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
                level = logging.ERROR if refused else logging.INFO
                log.log(level, "sitting %s: not leased: %s: %s", sitting, error.code().name, error.details())
                if refused:  # so that this worker does not take sittings from those that may play them
                    await self._stopped_within(MAX_PAUSE)
                return None
            if not backoff.first:
                log.warning("the arbiter at %s answers again", self._settings.address)
            return lease

    async def _outcome(
        self,
        sitting: str,
        lease: pb.LeaseSittingResponse,
        playing: asyncio.Task[SittingRecord],
    ) -> SittingRecord | None:
        """What came of a sitting; None when its lease was lost, or when it could not be played and was given back."""
        try:
            await asyncio.wait({playing})
            if not playing.cancelled():
                return playing.result()
            if self._returning:
                log.warning("sitting %s, attempt %d: given back, for this worker stops", sitting, lease.attempt)
                await self._release(sitting, lease.attempt, "its worker was stopped", worker_stops=True)
            return None
        except (ArbiterError, OSError) as error:
            log.error("sitting %s, attempt %d: given back: %s", sitting, lease.attempt, error)
            starved = error.entrant if isinstance(error, Starved) else None
            if starved is not None:
                metrics.VOIDED.inc()
            await self._release(sitting, lease.attempt, str(error), starved=starved)
            await self._stopped_within(RELEASE_PAUSE)
            return None
        finally:
            # When this worker is stopped: the bots end before anything else happens.
            playing.cancel()
            await asyncio.wait({playing})

    async def _release(
        self, sitting: str, attempt: int, reason: str, *, starved: int | None = None, worker_stops: bool = False
    ) -> None:
        """Give a sitting back."""
        request = pb.ReleaseSittingRequest(
            sitting=sitting, attempt=attempt, reason=reason, starved_entrant=starved, worker_stops=worker_stops
        )
        try:
            await self._line.stub.ReleaseSitting(request, timeout=CALL_PATIENCE, metadata=self._line.metadata)
        except grpc.aio.AioRpcError as failure:
            log.warning("sitting %s: not given back, its lease will expire: %s", sitting, failure.code().name)

    async def _stopped_within(self, seconds: float) -> bool:
        """Rest for a while; whether this worker was told to stop meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True

    async def _play(self, plan_message: pb.SittingPlan, progress: Progress) -> SittingRecord:
        plan = plan_from_message(plan_message)
        async with (
            self._bots.holding([bot.digest for bot in plan.bots]) as bots,
            _sitting_folder(self._settings.run_folder, self._settings.unsafe_processes) as folder,
        ):
            host = BotHost(folder)
            links: list[Link] = []
            for place, bot in enumerate(bots):
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
                return await play_sitting(
                    plan,
                    links,
                    progress.hand_done,
                    read_load=LoadMeter().read,
                    at_once=len(self._settings.pinned) or None,
                )

    async def _keep_lease(
        self,
        sitting: str,
        lease: pb.LeaseSittingResponse,
        progress: Progress,
        playing: asyncio.Task[SittingRecord],
    ) -> None:
        """Renew the lease many times within its length; end the play when it is held no more."""
        seconds = lease.duration.ToNanoseconds() / 1e9
        pause = min(HEARTBEAT, seconds / 10)
        while True:
            await asyncio.sleep(pause)
            request = pb.RenewLeaseRequest(sitting=sitting, attempt=lease.attempt, hands=progress.hands)
            try:
                renewed = await self._line.stub.RenewLease(request, timeout=seconds * 0.4, metadata=self._line.metadata)
            except grpc.aio.AioRpcError as error:
                # The arbiter may be away for a while; what was played is worth keeping, the first report stands.
                log.warning("sitting %s: lease not renewed: %s", sitting, error.code().name)
                continue
            if not renewed.held:
                if playing.cancel():
                    log.warning("sitting %s, attempt %d: the lease is gone; it is dropped", sitting, lease.attempt)
                return


class Progress:
    """How far the sitting that is being played is."""

    def __init__(self) -> None:
        self.hands = 0

    def hand_done(self) -> None:
        """A hand ended."""
        self.hands += 1


def _measure(record: SittingRecord, seconds: float) -> None:
    metrics.SITTING_TIME.observe(seconds)
    for used in record.times:
        metrics.STARVED.inc(used.given_back)
        if used.answers:
            metrics.DECISION_TIME.observe(used.seconds / used.answers)
            metrics.BATCH.observe(used.answers / used.messages)


def _report(sitting: str, attempt: int, record: SittingRecord, seconds: float) -> pb.ReportSittingRequest:
    replay = pack_replay(replay_of(record.plan, record.hands, record.faults))
    report = pb.ReportSittingRequest(sitting=sitting, attempt=attempt, replay=compress(replay))
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
