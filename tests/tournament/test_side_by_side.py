"""Several tournaments under one coordinator, with a real Redis: none of them holds up another."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from arbiter.match.routes import Route
from arbiter.store import Entrant, SittingKey, Store, TournamentState
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import CelerySender, Coordinator, plan_tournament
from arbiter.tournament.coordinator import MIN_WINDOW
from tests.tournament.support import START, lasting_leads, spec_of


class Spied(CelerySender):
    """Sends, and keeps what it has sent."""

    sent: list[SittingKey]

    def send(self, key: SittingKey, *rest: object) -> None:
        super().send(key, *rest)  # type: ignore[arg-type]  # the same, whatever they are
        self.sent.append(key)


def create(store: Store, name: str, spec: dict[str, object] | None = None) -> None:
    """A running tournament of forty sittings, its spec replaced by another if one is given."""
    wanted = spec_of(5, boards=1, meetings=2)
    entrants = [Entrant(index, f"bot{index}", f"{index:064x}", {}) for index in range(5)]
    tournament, matches = plan_tournament(name, wanted, entrants, START)
    tournament = tournament if spec is None else replace(tournament, spec=spec)
    store.create_tournament(tournament, entrants, matches, wanted.rules.players)
    store.set_state(name, TournamentState.RUNNING, now=START)


def look(store: Store, check: Callable[[Coordinator, Spied], None]) -> None:
    async def run() -> None:
        with RunDirectory() as folder:
            async with EmbeddedRedis(folder) as redis:
                sender = Spied(redis.url, "test")
                sender.sent = []
                try:
                    coordinator = Coordinator(store, sender, lasting_leads(store))
                    await asyncio.to_thread(coordinator.look)
                    await asyncio.to_thread(check, coordinator, sender)
                finally:
                    sender.close()

    asyncio.run(run())


def test_what_is_sent_is_little_and_shared_out_evenly(store: Store) -> None:
    """All of one tournament's sittings in one burst would let the others wait for its end: galaxyproject/galaxy#751."""
    for name in ("first-1a2b", "second-1a2b"):
        create(store, name)

    def check(coordinator: Coordinator, sender: Spied) -> None:
        assert Counter(key.tournament for key in sender.sent) == {
            "first-1a2b": MIN_WINDOW / 2,
            "second-1a2b": MIN_WINDOW / 2,
        }
        for _ in range(3):
            coordinator.look()
        assert sender.waiting(Route()) == MIN_WINDOW, "no more until some are played"

    look(store, check)


def test_a_tournament_that_is_broken_does_not_hold_up_the_others(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty or broken competition blocked all others: aiarena/aiarena-web#425."""
    create(store, "broken-1a2b", {"name": "nothing else"})
    create(store, "sound-1a2b")

    def check(coordinator: Coordinator, sender: Spied) -> None:
        for _ in range(3):
            coordinator.look()
        assert {key.tournament for key in sender.sent} == {"sound-1a2b"}

    look(store, check)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert line.startswith("tournament broken-1a2b: ")
