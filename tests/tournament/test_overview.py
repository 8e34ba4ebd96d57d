"""What a host sees of a service at one moment."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

from redis import Redis

from arbiter.match.routes import Priority, Route, present_key
from arbiter.store import Store
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from arbiter.tournament import CelerySender, Desk, Lead
from arbiter.tournament.leading import matter_of
from arbiter.tournament.overview import overview
from tests.e2e.support import COMMAND, environment
from tests.tournament.support import ID, Clock, create, granted, report


def test_tournaments_workers_queues_and_rates(store: Store, desk: Desk, clock: Clock) -> None:
    create(store)
    keys = store.planned(ID)
    assert overview(store, None, clock()).tournaments[0].leader is None

    async def test() -> None:
        with RunDirectory() as folder:
            async with EmbeddedRedis(folder) as redis:
                sender = CelerySender(redis.url, "test")
                sender.send(keys[2], Route(), Priority.TOURNAMENT)
                with Redis(unix_socket_path=str(folder / "redis.sock")) as client:
                    for worker in ("w3", "w7"):
                        client.set(present_key("test", worker), "")
                    client.set(present_key("another", "w9"), "")
                with Lead(store, matter_of(ID), "c1", now=clock) as lead:
                    assert lead.take()
                    await asyncio.to_thread(report, desk, granted(desk, str(keys[0])))
                    granted(desk, str(keys[1]), "w7")
                    found = overview(store, sender, clock())
                sender.close()
        (running,) = found.tournaments
        assert (running.id, running.leader) == (ID, "c1")
        assert (running.recorded, running.playing, running.waiting, running.failed, running.hands) == (1, 1, 2, 0, 0)
        assert [(each.name, each.sitting, each.attempt) for each in found.workers] == [
            ("w3", None, None),
            ("w7", str(keys[1]), 1),
        ]
        assert found.queues == {"cpus1": 1}
        assert (found.sittings_per_minute, found.hands_per_second) == (1.0, 2 / 60)

    asyncio.run(test())
    assert overview(store, None, clock()).tournaments[0].leader is None, "the lead was given up"
    clock.seconds = 120
    later = overview(store, None, clock())
    assert (later.sittings_per_minute, later.queues) == (0.0, None)


def test_the_command_shows_it_and_top_needs_a_terminal(tmp_path: Path) -> None:
    with Store.open(tmp_path / "arbiter.db") as store:
        create(store)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        words = (*COMMAND, *words, "--data-dir", str(tmp_path))
        return subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True, check=False)

    shown = json.loads(call("status", "--json").stdout)
    assert [each["id"] for each in shown["tournaments"]] == [ID]
    text = call("status").stdout
    assert "nobody" in text
    assert "in the last minute: 0 sittings" in text
    refused = call("top")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: top draws on a terminal; for one look: arbiter status\n",
    )
