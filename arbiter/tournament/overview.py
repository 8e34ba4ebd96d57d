"""What goes on in a service at the moment: who leads, who plays what, what waits, and how fast it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from arbiter.match.routes import Route
from arbiter.store import SittingState, Store, TournamentState
from arbiter.tournament.dispatch import CelerySender
from arbiter.tournament.leading import matter_of
from arbiter.tournament.routing import Routing

RATE_OVER: Final = timedelta(minutes=1)
"""Over how long rates are taken."""


@dataclass(frozen=True, slots=True)
class RunningTournament:
    """One tournament that is being played."""

    id: str
    leader: str | None
    """The process that sends its sittings; None when none does."""
    recorded: int
    playing: int
    waiting: int
    """Sittings that nobody plays yet."""
    failed: int
    hands: int
    """Of complete matches."""


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker that holds a lease, or has said lately that it is there."""

    name: str
    sitting: str | None
    """What it plays; None when it is idle."""
    attempt: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """A service at one moment."""

    tournaments: tuple[RunningTournament, ...]
    workers: tuple[WorkerSeen, ...]
    """Idle ones among them where Redis was asked."""
    queues: dict[str, int] | None
    """Length by queue; None when Redis was not asked."""
    sittings_per_minute: float
    hands_per_second: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tournaments": [{name: getattr(each, name) for name in each.__slots__} for each in self.tournaments],
            "workers": [{name: getattr(each, name) for name in each.__slots__} for each in self.workers],
            "queues": self.queues,
            "sittings_per_minute": self.sittings_per_minute,
            "hands_per_second": self.hands_per_second,
        }


def overview(store: Store, sender: CelerySender | None, now: datetime, special: Sequence[str] = ()) -> Overview:
    """Look at everything.

    Args:
        sender: the queues; None where they can't be asked.
        special: runtimes that not every machine has.

    Raises:
        QueueUnreachable: Redis does not answer.
    """
    running = [each for each in reversed(store.tournaments()) if each.state is TournamentState.RUNNING]
    leases = {each.id: store.leases(each.id) for each in running}
    routing = Routing(store, special)
    tournaments = []
    for each in running:
        routing.know(each)
        progress, lead = store.progress(each.id), store.leader(matter_of(each.id))
        tournaments.append(
            RunningTournament(
                id=each.id,
                leader=lead.holder if lead is not None and lead.expires_at > now else None,
                recorded=progress.recorded,
                playing=progress.sittings[SittingState.LEASED],
                waiting=progress.sittings[SittingState.PLANNED],
                failed=progress.sittings[SittingState.FAILED],
                hands=progress.hands,
            )
        )
    workers = [WorkerSeen(lease.worker, str(lease.key), lease.attempt) for each in running for lease in leases[each.id]]
    if sender is not None:
        at_work = {worker.name for worker in workers}
        workers += [WorkerSeen(name, None, None) for name in sender.workers() if name not in at_work]
    routes = sorted({Route(), *routing.seen()})
    sittings, hands = store.recorded_since(now - RATE_OVER)
    return Overview(
        tournaments=tuple(tournaments),
        workers=tuple(sorted(workers, key=lambda worker: worker.name)),
        queues=None if sender is None else {route.queue("")[1:]: sender.waiting(route) for route in routes},
        sittings_per_minute=sittings * 60 / RATE_OVER.total_seconds(),
        hands_per_second=hands / RATE_OVER.total_seconds(),
    )
