"""Keeps work flowing: compares plans with what has come back and sends what is missing, again and again.

The database is the truth. The queue only carries hints, so that losing all of it, or any worker, costs time and
nothing else:
a lease that is not renewed expires and its sitting is sent again; a sitting that was sent but is neither in its
queue nor leased is sent again too. A task too many is refused by the desk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar

from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.match.routes import Priority, Route
from arbiter.store import (
    MAX_LOST,
    LeadershipLost,
    SittingKey,
    Store,
    StoreUnavailable,
    Tournament,
    TournamentState,
)
from arbiter.telemetry import metrics
from arbiter.tournament.dispatch import QueueUnreachable
from arbiter.tournament.ladder import extend_ladder, is_ladder
from arbiter.tournament.leading import Lead, matter_of
from arbiter.tournament.routing import Routing
from arbiter.tournament.stages import write_next_stage

log = logging.getLogger(__name__)

T = TypeVar("T")

TICK: Final = 0.5
"""Seconds between two looks at the plans when nobody said that something has changed."""

STANDSTILL: Final = 3.0
"""By how many seconds a rest between two looks has to be too long to be taken for a standstill of the machine."""

HEARING: Final = 2.0
"""Seconds for which workers are heard after a standstill before a lease expires: they may have stood still as well, and
could renew none. Each tries to several times in that time."""

LOST_AFTER: Final = 2.0
"""Seconds after which a sitting that was sent, is not leased and is not in its queue counts as lost."""

MAX_PAUSE: Final = 10.0
"""Longest back-off in seconds while the queue or the database can't be reached."""

KEPT_IN: Final = 3
"""How often a lead is renewed in the time that it lasts."""

MIN_WINDOW: Final = 8
"""Sittings that are kept in the queues when nobody plays yet."""


class Sender(Protocol):
    """What carries sittings to workers."""

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        """Put a sitting into its queue; raises :class:`QueueUnreachable`."""

    def waiting(self, route: Route) -> int:
        """How many sittings are in a queue; raises :class:`QueueUnreachable`."""


Enough = Callable[[Tournament], bool]
"""Whether what is recorded of a tournament is enough, so that the rest is not played."""

Leads = Callable[[str], Lead]
"""The lead in the tournament of an id, as this process may have it."""


def leads_of(store: Store, holder: str) -> Leads:
    """The leads of one process, whose name no other has had or will have."""
    return lambda tournament: Lead(store, matter_of(tournament), holder)


async def _to_its_end(step: Coroutine[Any, Any, T]) -> T:
    """Wait for work in a thread, which can't be stopped, also when the caller is cancelled: what it still writes and
    sends comes before this process resigns, or else it would keep the lead from others that it has given up."""
    working = asyncio.ensure_future(step)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.gather(working, return_exceptions=True)
        raise


class Coordinator:
    """Drives running tournaments side by side: all that are in the store, or one.

    Several coordinators may, in different processes: in each tournament one leads, and the others stand by.

    About twice as many sittings as are being played are kept in the queues, shared out evenly, so that no tournament
    has to wait for the end of another (https://github.com/galaxyproject/galaxy/issues/751).

    Args:
        store: plans and results.
        sender: the queues.
        leads: this process's leads.
        on_trouble: called with one line for people when the queue or the database can't be reached.
        enough: asked after each look; a ladder, which never has everything, is paused then.
        runtimes: those that not every machine has.
        now: the time, and
        steady: seconds of a clock that nobody sets, injected for tests.
    """

    def __init__(
        self,
        store: Store,
        sender: Sender,
        leads: Leads,
        on_trouble: Callable[[str], None] = log.warning,
        enough: Enough = lambda _: False,
        runtimes: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store: Final = store
        self._sender: Final = sender
        self._make_lead: Final = leads
        self._leads: Final[dict[str, Lead]] = {}
        self._on_trouble: Final = on_trouble
        self._enough: Final = enough
        self._now: Final = now
        self._steady: Final = steady
        self._routing: Final = Routing(store, runtimes)
        self._sent: Final[dict[SittingKey, tuple[float, Route]]] = {}
        self._broken: Final[set[str]] = set()
        self.looked = -math.inf
        """When the last look succeeded, in seconds of `time.monotonic`."""
        self._changed: Final = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wake(self) -> None:
        """Say that something has changed; from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._changed.set)

    async def run(self) -> None:
        """Send, watch and send again until cancelled; then resign everywhere, so that others need not wait."""
        try:
            await self._beside_leading(None)
        finally:
            for tournament in list(self._leads):
                await asyncio.to_thread(self._resign, tournament)

    async def run_one(self, tournament: str) -> TournamentState:
        """The same for one tournament until every sitting is recorded or can't be played, or what is recorded is
        enough; returns the final state, or the one that the host has given it.

        A queue or a database that can't be reached is waited for. The lead is kept in the end: who has asked for this
        one tournament may have more to write.
        """
        state = await self._beside_leading(tournament)
        assert state is not None
        return state

    async def _beside_leading(self, only: str | None) -> TournamentState | None:
        self._loop = asyncio.get_running_loop()
        keeping = asyncio.ensure_future(self._keep_leading())
        try:
            return await self._drive(only)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _drive(self, only: str | None) -> TournamentState | None:
        pause = 0.0
        while True:
            self._changed.clear()
            try:
                with metrics.LOOKS.time():
                    state = await _to_its_end(asyncio.to_thread(self.look, only))
                pause = 0.0
                self.looked = time.monotonic()
                if state not in (None, TournamentState.RUNNING):
                    return state
            except (QueueUnreachable, StoreUnavailable) as error:
                pause = min(MAX_PAUSE, max(0.5, 2 * pause)) * random.uniform(0.8, 1.2)
                self._on_trouble(f"{error}; trying again in {pause:.1f} s")
            rest, began = max(TICK, pause), self._steady()
            try:
                async with asyncio.timeout(rest):
                    await self._changed.wait()
            except TimeoutError:
                pass
            if self._steady() - began > rest + STANDSTILL:
                await asyncio.sleep(HEARING)

    async def _keep_leading(self) -> None:
        """Renew the leads beside the work, which may take long."""
        while True:
            shortest = min((lead.duration.total_seconds() for lead in list(self._leads.values())), default=None)
            await asyncio.sleep(TICK if shortest is None else shortest / KEPT_IN)
            for lead in [lead for lead in list(self._leads.values()) if lead.held]:
                with contextlib.suppress(StoreUnavailable):  # which the work says as well
                    await _to_its_end(asyncio.to_thread(lead.keep))

    def look(self, only: str | None = None) -> TournamentState | None:
        """One look at the plans, as `run` takes again and again; returns the state of the only tournament.

        In each tournament the leader does what there is to do, and the others see whether it has a leader.

        Raises:
            QueueUnreachable, StoreUnavailable: try again.
        """
        if only is None:
            going = [tournament for tournament in reversed(self._store.tournaments()) if self._goes_on(tournament)]
        else:
            tournament = self._store.tournament(only)
            going = [tournament] if self._led_and_settled(tournament) else []
        self._dispatch(going)
        return None if only is None else self._store.tournament(only).state

    def _goes_on(self, tournament: Tournament) -> bool:
        """Whether there is anything to send of one of many; what is wrong with one does not hold up the others."""
        if tournament.state is not TournamentState.RUNNING:
            self._resign(tournament.id)
            return False
        try:
            going = self._led_and_settled(tournament)
        except InfrastructureError:
            raise
        except ArbiterError as error:
            if tournament.id not in self._broken:
                log.error("tournament %s: %s", tournament.id, error)
            self._broken.add(tournament.id)
            return False
        self._broken.discard(tournament.id)
        return going

    def _led_and_settled(self, tournament: Tournament) -> bool:
        """Whether this process leads in a tournament that runs, with everything done but to send."""
        if not self._leads_in(tournament.id):
            return False
        try:
            return self._settle(tournament) is TournamentState.RUNNING
        except LeadershipLost:
            self._leads[tournament.id].lose()
            return False

    def _leads_in(self, tournament: str) -> bool:
        """Whether this process leads in a tournament, after trying to when nobody does."""
        lead = self._leads.get(tournament)
        if lead is None:
            lead = self._leads[tournament] = self._make_lead(tournament)
        if not lead.held:
            if not lead.take():
                return False
            # What a former leader sent may have been lost, and what is sent twice is refused.
            for key in [key for key in self._sent if key.tournament == tournament]:
                del self._sent[key]
        return True

    def _resign(self, tournament: str) -> None:
        lead = self._leads.pop(tournament, None)
        if lead is not None:
            lead.__exit__()

    def _settle(self, tournament: Tournament) -> TournamentState:
        """Take back what expired, write the next stage when one is complete, and end the tournament after the last; a
        ladder has always a few matches more."""
        now, led = self._now(), self._leads[tournament.id].store
        for key in led.expire_leases(tournament.id, now, max_lost=MAX_LOST):
            log.warning("sitting %s: its lease expired", key)
            metrics.EXPIRED.inc()
            self._sent.pop(key, None)
        state = self._store.tournament(tournament.id).state
        if state is not TournamentState.RUNNING:
            return state
        enough = self._enough(tournament)
        if is_ladder(tournament):
            if enough:
                return led.set_state(tournament.id, TournamentState.PAUSED, now=now).state
            extend_ladder(led, tournament.id, max(MIN_WINDOW, 2 * len(self._store.leases(tournament.id))))
            return state
        progress = self._store.progress(tournament.id)
        if progress.done and not enough and write_next_stage(led, tournament.id):
            return state
        if enough or progress.done:
            return led.set_state(tournament.id, TournamentState.COMPLETED, now=now).state
        if not progress.unfinished:
            reason = self._failure(tournament.id)
            return led.set_state(tournament.id, TournamentState.FAILED, now=now, failure=reason).state
        return state

    def _dispatch(self, going: Sequence[Tournament]) -> None:
        """Keep the queues filled, and send again what was lost on the way."""
        leased = sum(len(self._store.leases(tournament.id)) for tournament in going)
        metrics.LEADING.set(len(going))
        metrics.PLAYING.set(leased)
        share = -(-max(MIN_WINDOW, 2 * leased) // max(1, len(going)))
        planned = {key: tournament for tournament in going for key in self._store.planned(tournament.id, limit=share)}
        for key in [key for key in self._sent if key not in planned]:
            del self._sent[key]
        self._forget_lost()
        for key, tournament in planned.items():
            if key in self._sent:
                continue
            route, priority = self._routing.of(tournament, key)
            if self._leads[tournament.id].good:  # last, for this process may be stopped anywhere
                self._sender.send(key, route, priority)
                metrics.SENT.labels(priority.name.lower()).inc()
                self._sent[key] = self._steady(), route

    def _forget_lost(self) -> None:
        """Forget to have sent what has been on its way for a while, where a queue holds less than was sent into it."""
        now = self._steady()
        sent = Counter(route for _, route in self._sent.values())
        due = {route for since, route in self._sent.values() if now - since > LOST_AFTER}
        lost = {route for route in due if self._sender.waiting(route) < sent[route]}
        for key in [key for key, (since, route) in self._sent.items() if route in lost and now - since > LOST_AFTER]:
            del self._sent[key]

    def measure_queues(self) -> None:
        """Look how long the queues are that something was sent into, for the metrics; raises `QueueUnreachable`."""
        for route in self._routing.seen():
            metrics.QUEUED.labels(route.queue("")[1:]).set(self._sender.waiting(route))

    def _failure(self, tournament: str) -> str:
        """Why the tournament can't go on, in one line: the first failed sitting and its last attempt's note."""
        failed = self._store.failed(tournament)
        note = self._store.attempts(failed[0])[-1].note
        count = "1 sitting" if len(failed) == 1 else f"{len(failed)} sittings"
        return f"{count} could not be played; {failed[0]}: {note}"
