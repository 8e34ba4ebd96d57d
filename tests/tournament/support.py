"""Tournaments in a store, and what an honest worker would report of their sittings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arbiter.compression import compress
from arbiter.links import LocalLink
from arbiter.match import SittingPlan, SittingRecord, pack_replay, play_sitting, replay_of
from arbiter.sdk import Bot, Card, CardView, PassView
from arbiter.store import BotLog, Entrant, Recorded, Store, TournamentState
from arbiter.tournament import Desk, Grant, Lead, TournamentSpec, parse_spec, plan_tournament
from arbiter.tournament.coordinator import Leads
from arbiter.tournament.leading import matter_of, process_name
from tests.patience import PATIENCE

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = "cup-1a2b"
SEED = "00112233445566778899aabbccddeeff" * 2


class Clock:
    """A time that a test moves on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return START + timedelta(seconds=self.seconds)


def lasting_leads(store: Store) -> Leads:
    """The leads of a process that does not renew them, and need not however slow it is."""
    name = process_name()
    return lambda tournament: Lead(store, matter_of(tournament), name, timedelta(seconds=PATIENCE))


class Lowest(Bot):
    """Passes high and plays low."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return sorted(view.hand, key=lambda card: card.rank)[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        return min(view.legal, key=lambda card: card.rank)


class Revoker(Lowest):
    """Plays a card that it does not hold."""

    def choose_card(self, view: CardView) -> Card:
        held = set(view.hand)
        return next(card for card in (Card(index) for index in range(52)) if card not in held)


def spec_of(entrants: int = 4, *, boards: int = 2, seed: str | None = SEED, **rest: object) -> TournamentSpec:
    """A tournament file's content for this many bots."""
    data: dict[str, object] = {"name": "cup", "match": {"boards": boards}, **rest}
    data["entrants"] = [{"bot": f"bot{number}"} for number in range(entrants)]
    if seed is not None:
        data["deal_seed"] = seed
    return parse_spec(data, Path("/bots"))


def create(store: Store, spec: TournamentSpec | None = None, *, running: bool = True) -> str:
    """Write the plan of a tournament; its entrants' digests are made up."""
    spec = spec or spec_of()
    entrants = [Entrant(index, f"bot{index}", f"{index:064x}", {}) for index in range(len(spec.entrants))]
    tournament, matches = plan_tournament(ID, spec, entrants, START)
    store.create_tournament(tournament, entrants, matches, spec.rules.players)
    if running:
        store.set_state(ID, TournamentState.RUNNING, now=START)
    return ID


def granted(desk: Desk, sitting: str, worker: str = "w1") -> Grant:
    """Lease a sitting that is free."""
    grant = desk.lease(sitting, worker)
    assert isinstance(grant, Grant), grant
    return grant


def played(plan: SittingPlan, bots: Sequence[Bot] | None = None) -> SittingRecord:
    """Play a sitting in this process."""
    links = [LocalLink(bot) for bot in bots or [Lowest() for _ in plan.bots]]
    return asyncio.run(play_sitting(plan, links))


def packed_of(record: SittingRecord) -> bytes:
    """A replay as a worker reports it, not yet compressed."""
    return pack_replay(replay_of(record.plan, record.hands, record.faults))


def report(desk: Desk, grant: Grant, replay: bytes | None = None) -> Recorded:
    """Report a sitting as an honest worker does, or with another replay."""
    if replay is None:
        replay = packed_of(played(grant.plan))
    logs = [BotLog(bot.entrant, "exit status 0", f"said {bot.name}", 0.25, 26) for bot in grant.plan.bots]
    return desk.report(grant.plan.sitting, grant.lease.attempt, compress(replay), logs, 1.5)


def play_all(store: Store, desk: Desk) -> None:
    """Play every sitting that is planned, in schedule order."""
    for key in store.planned(ID):
        assert report(desk, granted(desk, str(key))) is Recorded.RECORDED
