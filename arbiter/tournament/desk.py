"""What workers deal with: sittings are leased, renewed, reported and given back here, whatever carries the calls."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from arbiter.compression import CompressionError, decompress
from arbiter.deals import derive_bot_seed
from arbiter.errors import UsageError
from arbiter.match import Fault as PlayedFault
from arbiter.match import (
    MatchFormat,
    ReplayError,
    SeatedBot,
    SittingPlan,
    check_planned,
    tally,
    unpack_replay,
    verify_replay,
)
from arbiter.store import (
    BotLog,
    Entrant,
    Fault,
    HandTally,
    InvalidResult,
    Lease,
    LeaseRefusal,
    Match,
    Recorded,
    SeatResult,
    SittingKey,
    SittingResult,
    SittingState,
    Store,
    Tournament,
    UnknownSitting,
)
from arbiter.telemetry import metrics
from arbiter.tournament.gate_terms import MATCHES_PER_TABLE
from arbiter.tournament.spec import TournamentSpec

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=10)
"""How long a lease lasts unless it is renewed: a worker that died is noticed after this."""

RENEWED_AFTER: Final = 0.2
"""The share of a lease that must be over before a worker's question renews it."""

MAX_REPLAY_BYTES: Final = 64 * 1024 * 1024
"""Largest replay, decompressed: some two million hands."""


class InvalidReport(UsageError):
    """A report that can't be true; nothing of it is recorded."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease and what to play under it."""

    lease: Lease
    plan: SittingPlan


@dataclass(frozen=True, slots=True)
class _Known:
    """What is read of a tournament but once; its plan may have grown since."""

    tournament: Tournament
    spec: TournamentSpec
    entrants: list[Entrant]
    matches: list[Match]

    def match(self, key: SittingKey) -> Match:
        """The match that a sitting belongs to; raises :class:`UnknownSitting`."""
        if key.match >= len(self.matches) or key.sitting >= self.spec.seatings.sittings(self.spec.rules):
            raise UnknownSitting(f"there is no sitting {key}; take keys from the plan")
        return self.matches[key.match]


@dataclass(frozen=True, slots=True)
class _Play:
    """A sitting that is being played."""

    attempt: int
    hands: int
    """Played so far."""
    renewed: datetime
    """When its lease was taken or renewed last."""


class Desk:
    """All that a worker may ask for. Methods may be called from several threads.

    Args:
        store: where plans and results are.
        lease: how long a lease lasts.
        now: the time, injected for tests.
    """

    def __init__(
        self, store: Store, lease: timedelta = LEASE, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store: Final = store
        self.lease_duration: Final = lease
        self._now: Final = now
        self._known: dict[str, _Known] = {}
        self._living: Final = threading.Lock()
        self._playing: Final[dict[SittingKey, _Play]] = {}
        self.changed: Callable[[], None] = lambda: None
        """Called after whatever may let the coordinator act."""

    @property
    def live(self) -> dict[SittingKey, int]:
        """Hands played so far in sittings that are being played; of others nothing, however calls cross."""
        with self._living:
            expired = self._now() - self.lease_duration
            for key in [key for key, play in self._playing.items() if play.renewed <= expired]:
                del self._playing[key]
            return {key: play.hands for key, play in self._playing.items()}

    def lease(self, sitting: str, worker: str) -> Grant | LeaseRefusal:
        """Give a worker a sitting and all that is needed to play it, or say why not."""
        key = SittingKey.parse(sitting)
        now = self._now()
        lease = self._store.lease(key, worker, now, self.lease_duration)
        if isinstance(lease, LeaseRefusal):
            metrics.LEASES.labels(lease.value).inc()
            return lease
        metrics.LEASES.labels("granted").inc()
        known, match = self._match(key)
        with self._living:
            self._playing[key] = _Play(lease.attempt, 0, now)
        self.changed()
        return Grant(lease, _plan(known, match, key))

    def renew(self, sitting: str, attempt: int, hands: int) -> bool:
        """Keep a lease alive; False when the attempt no longer holds it.

        Workers ask more often than leases have to be renewed, so that they soon hear of a tournament that is paused or
        over; in between the database is only read.
        """
        key, now = SittingKey.parse(sitting), self._now()
        with self._living:
            play = self._playing.get(key)
            mine = play is not None and play.attempt == attempt
            renewed = play.renewed if play is not None and mine else now
            if mine and renewed <= now < renewed + self.lease_duration * RENEWED_AFTER:
                held = self._store.holds(key, attempt)
            elif held := self._store.renew(key, attempt, now, self.lease_duration):
                renewed = now
            if held:
                self._playing[key] = _Play(attempt, hands, renewed)
            elif mine:
                del self._playing[key]
        return held

    def report(self, sitting: str, attempt: int, replay: bytes, logs: Sequence[BotLog], seconds: float) -> Recorded:
        """Record a finished sitting, every score worked out anew from its replay. What is refused is kept as an alarm.

        Args:
            replay: the replay, packed and compressed.
            logs: one per bot.
            seconds: wall time of the sitting.

        Raises:
            InvalidReport: the replay can't be read, is another sitting's, or does not verify against the deal set.
            InvalidResult: the logs are not those of the sitting's bots.
            UnknownSitting: there is no such sitting, or no such attempt at it.
        """
        key = SittingKey.parse(sitting)
        try:
            result = self._checked(key, attempt, replay, logs, seconds)
            outcome = self._store.record(key, attempt, result, self._now())
        except (InvalidReport, InvalidResult) as error:
            log.error("a report is refused: %s", error)
            # Of what came, not of what it unpacks to, which it may not.
            self._store.refuse(key, attempt, hashlib.sha256(replay).hexdigest(), str(error), self._now())
            metrics.REPORTS.labels("refused").inc()
            raise
        metrics.REPORTS.labels(outcome.value).inc()
        if outcome is Recorded.RECORDED:
            metrics.HANDS.inc(result.hands)
            metrics.REPLAY_BYTES.inc(len(replay))
            for fault in result.faults:
                metrics.FAULTS.labels(fault.code).inc()
        if outcome is Recorded.CONFLICT:
            log.error("sitting %s: attempt %d is reported a second time, differently; the first stands", key, attempt)
        self.forget(key)
        self.changed()
        return outcome

    def _checked(
        self, key: SittingKey, attempt: int, replay: bytes, logs: Sequence[BotLog], seconds: float
    ) -> SittingResult:
        """What a reported replay comes to, worked out from its cards; raises :class:`InvalidReport`."""
        known, match = self._match(key)
        try:
            content, plan = decompress(replay, MAX_REPLAY_BYTES), _plan(known, match, key)
            played = unpack_replay(content, plan.boards if plan.format is MatchFormat.HANDS else None)
            check_planned(played, plan)
            scores = verify_replay(played, plan.deal_seed, open_tables=plan.open_tables)
            faults = played.all_faults
            _check_faults(faults)
        except CompressionError as error:
            raise InvalidReport(f"sitting {key}, attempt {attempt}: the replay: {error}") from error
        except ReplayError as error:
            raise InvalidReport(f"sitting {key}, attempt {attempt}: {error}") from error
        return SittingResult(
            results=tuple(
                SeatResult(score.board, score.seat, match.entrants[score.place], score.hands, score.points, score.total)
                for score in scores
            ),
            tallies=tuple(
                HandTally(each.board, each.seat, each.direction.value, each.hands, each.points, each.moons)
                for each in tally(played.hands)
            ),
            faults=tuple(
                Fault(
                    fault.entrant,
                    fault.board,
                    fault.hand,
                    fault.seat,
                    fault.trick,
                    fault.code.value,
                    fault.detail,
                    fault.lost,
                )
                for fault in faults
            ),
            logs=tuple(logs),
            replay=content,
            digest=hashlib.sha256(content).hexdigest(),
            hands=len(played.hands),
            seconds=seconds,
        )

    def release(
        self, sitting: str, attempt: int, reason: str, starved_entrant: int | None = None, *, counted: bool = True
    ) -> SittingState:
        """Take a sitting back that could not be played for a reason that is no bot's fault.

        Args:
            starved_entrant: whose time was up on a starved machine, where that is the reason.
            counted: whether it is one of the times after which the host has to look.
        """
        key = SittingKey.parse(sitting)
        entrants = self._match(key)[1].entrants
        if starved_entrant is not None and starved_entrant not in entrants:
            raise InvalidReport(f"sitting {key}: entrant {starved_entrant} does not sit there; {entrants} do")
        state = self._store.release(key, attempt, reason, starved_entrant=starved_entrant, counted=counted)
        cause = "starved" if starved_entrant is not None else "infrastructure" if counted else "stopped"
        metrics.RELEASES.labels(cause).inc()
        self.forget(key)
        self.changed()
        return state

    def forget(self, key: SittingKey) -> None:
        """A sitting is not being played any more, as the store says already; a renewal under way ends first."""
        with self._living:
            self._playing.pop(key, None)

    def _match(self, key: SittingKey) -> tuple[_Known, Match]:
        """The match of a sitting and its tournament, read anew when its plan has grown; raises
        :class:`UnknownSitting`."""
        known = self._tournament(key.tournament)
        if key.match >= len(known.matches):
            known = self._tournament(key.tournament, anew=True)
        return known, known.match(key)

    def _tournament(self, tournament: str, *, anew: bool = False) -> _Known:
        known = self._known.get(tournament)
        if known is None or anew:
            found = self._store.tournament(tournament)
            known = _Known(
                found,
                TournamentSpec.from_dict(found.spec),
                self._store.entrants(tournament),
                self._store.matches(tournament),
            )
            self._known[tournament] = known
        return known


def _plan(known: _Known, match: Match, key: SittingKey) -> SittingPlan:
    spec = known.spec
    return SittingPlan(
        sitting=str(key),
        rules=spec.rules,
        format=spec.match_format,
        boards=match.boards,
        deal_seed=match.deal_seed,
        seating=key.sitting,
        seatings=spec.seatings,
        bots=tuple(
            SeatedBot(
                entrant=index,
                name=known.entrants[index].name,
                digest=known.entrants[index].digest,
                bot_seed=_bot_seed(known, match, key, place),
                clock=spec.clock_of(index),
            )
            for place, index in enumerate(match.entrants)
        ),
        open_tables=spec.open_tables,
        fault_limit=spec.fault_limit,
        fault_policy=spec.fault_policy,
        early_end=spec.early_end,
    )


def _bot_seed(known: _Known, match: Match, key: SittingKey, place: int) -> bytes:
    """The seed for a bot's own randomness: in the two matches of a gate's table the same at each place, so that what
    two bots decide alike comes out alike."""
    seed = known.tournament.deal_seed
    if known.spec.gate is not None:
        return derive_bot_seed(seed, match.index // MATCHES_PER_TABLE, key.sitting, place)
    return derive_bot_seed(seed, match.index, key.sitting, match.entrants[place])


def _check_faults(faults: Sequence[PlayedFault]) -> None:
    """What a replay says of a fault in words is free, so the text must be fit to be kept."""
    for fault in faults:
        if not fault.detail.isascii() and any("\ud800" <= letter <= "\udfff" for letter in fault.detail):
            raise ReplayError(f"a fault of entrant {fault.entrant} has a text that is no Unicode")
