"""Keeps work flowing: compares the plan with what has come back and sends what is missing, again and again.

The database is the truth. The queue only carries hints, so that losing all of it, or any worker, costs time and
nothing else:
a lease that is not renewed expires and its sitting is sent again; a sitting that was sent but is neither in the
queue nor leased is sent again too. A task too many is refused by the desk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from arbiter.store import MAX_LOST, LeadershipLost, SittingKey, Store, StoreUnavailable, TournamentState
from arbiter.tournament.desk import Desk
from arbiter.tournament.dispatch import QueueUnreachable
from arbiter.tournament.leading import Lead
from arbiter.tournament.stages import write_next_stage

log = logging.getLogger(__name__)

TICK: Final = 0.5
"""Seconds between two looks at the plan when nothing was reported meanwhile."""

LOST_AFTER: Final = 2.0
"""Seconds after which a sitting that was sent, is not leased and is not in the queue counts as lost."""

MAX_PAUSE: Final = 10.0
"""Longest back-off in seconds while the queue or the database can't be reached."""


class Sender(Protocol):
    """What carries sittings to workers."""

    def send(self, key: SittingKey) -> None:
        """Put a sitting into the queue; raises :class:`QueueUnreachable`."""

    def waiting(self) -> int:
        """How many sittings are in the queue; raises :class:`QueueUnreachable`."""


class Coordinator:
    """Drives one tournament to its end. Several may, in different processes: one leads, and the others stand by.

    Args:
        store: the plan and the results.
        lead: the lead in this tournament.
        desk: where workers come to; tells when something has changed.
        sender: the queue.
        tournament: id of the tournament.
        workers: number of workers; a few sittings more than these are kept in the queue.
        on_trouble: called with one line for people whenever the queue or the database can't be reached.
        enough: asked after each report whether what is recorded is enough; then the rest is not played.
        now: the time, and
        steady: seconds of a clock that nobody sets, injected for tests.
    """

    def __init__(
        self,
        store: Store,
        lead: Lead,
        desk: Desk,
        sender: Sender,
        tournament: str,
        workers: int,
        on_trouble: Callable[[str], None] = log.warning,
        enough: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store: Final = store
        self._lead: Final = lead
        self._desk: Final = desk
        self._sender: Final = sender
        self._tournament: Final = tournament
        self._window: Final = 2 * workers
        self._on_trouble: Final = on_trouble
        self._enough: Final = enough
        self._now: Final = now
        self._steady: Final = steady
        self._sent: dict[SittingKey, float] = {}
        self._changed: Final = asyncio.Event()

    async def run(self) -> TournamentState:
        """Send, watch and send again until every sitting is recorded or can't be played, or what is recorded is enough;
        returns the final state, or the one that the host has given it.

        A queue or a database that can't be reached is waited for.
        """
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._changed.set)

        self._desk.changed = wake
        keeping = asyncio.ensure_future(self._keep_leading())
        try:
            return await self._drive()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _drive(self) -> TournamentState:
        pause = 0.0
        while True:
            self._changed.clear()
            try:
                state = await asyncio.to_thread(self.look)
                pause = 0.0
                if state is not TournamentState.RUNNING:
                    return state
            except (QueueUnreachable, StoreUnavailable) as error:
                pause = min(MAX_PAUSE, max(0.5, 2 * pause)) * random.uniform(0.8, 1.2)
                self._on_trouble(f"{error}; trying again in {pause:.1f} s")
            try:
                async with asyncio.timeout(max(TICK, pause)):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _keep_leading(self) -> None:
        """Renew the lead beside the work, which may take long."""
        while True:
            await asyncio.sleep(self._lead.duration.total_seconds() / 3)
            with contextlib.suppress(StoreUnavailable):  # which the work says as well
                await asyncio.to_thread(self._lead.keep)

    def look(self) -> TournamentState:
        """One look at the plan, as `run` takes again and again: the leader does what there is to do, the others see
        whether it has a leader. Returns the tournament's state.

        Raises:
            QueueUnreachable, StoreUnavailable: try again.
        """
        if not self._lead.held:
            if not self._lead.take():
                return self._store.tournament(self._tournament).state
            self._sent.clear()  # what a former leader sent may have been lost, and what is sent twice is refused
        try:
            state = self._settle()
        except LeadershipLost:
            self._lead.lose()
            return self._store.tournament(self._tournament).state
        if state is TournamentState.RUNNING:
            self._dispatch()
        return state

    def _settle(self) -> TournamentState:
        """Take back what expired, write the next stage when one is complete, and end the tournament after the last."""
        now = self._now()
        for key in self._lead.store.expire_leases(self._tournament, now, max_lost=MAX_LOST):
            log.warning("sitting %s: its lease expired", key)
            self._sent.pop(key, None)
            self._desk.forget(key)
        state = self._store.tournament(self._tournament).state
        if state is not TournamentState.RUNNING:
            return state
        progress = self._store.progress(self._tournament)
        enough = self._enough()
        if progress.done and not enough and write_next_stage(self._lead.store, self._tournament):
            return state
        if enough or progress.done:
            return self._lead.store.set_state(self._tournament, TournamentState.COMPLETED, now=now).state
        if not progress.unfinished:
            reason = self._failure()
            return self._lead.store.set_state(self._tournament, TournamentState.FAILED, now=now, failure=reason).state
        return state

    def _dispatch(self) -> None:
        """Keep the queue filled, and send again what was lost on the way."""
        planned = self._store.planned(self._tournament, limit=self._window)
        self._sent = {key: sent for key, sent in self._sent.items() if key in planned}
        now = self._steady()
        if any(now - sent > LOST_AFTER for sent in self._sent.values()) and self._sender.waiting() < len(self._sent):
            self._sent = {key: sent for key, sent in self._sent.items() if now - sent <= LOST_AFTER}
        for key in planned:
            if not self._lead.good:
                return
            if key not in self._sent:
                self._sender.send(key)
                self._sent[key] = now

    def _failure(self) -> str:
        """Why the tournament can't go on, in one line: the first failed sitting and its last attempt's note."""
        failed = self._store.failed(self._tournament)
        note = self._store.attempts(failed[0])[-1].note
        count = "1 sitting" if len(failed) == 1 else f"{len(failed)} sittings"
        return f"{count} could not be played; {failed[0]}: {note}"
