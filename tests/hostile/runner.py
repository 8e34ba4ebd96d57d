"""A worker in small, run by the tests as a process of its own and as any user: plays sittings with a hostile bot.

Usage: ``runner.py FACTS``, with a JSON object of what the bots are to be told. First it writes what the cage is found
to hold; then for each line with an attack and limits it plays a sitting and writes what came of it, as lines of JSON.
``["bare", {"names": [...]}]`` asks what comes of these attempts without a cage.
Place 0 is the hostile bot, place 1 an honest one in a cage of its own; the others are in this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arbiter.cage import BotProcess, BubblewrapCage, CageSettings, Launch, Limits, Manifest, Protection
from arbiter.engine import RULE_SETS
from arbiter.links import BotHost, Link, LocalLink, ProcessLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, SittingRecord, StandInBot, play_sitting

HOSTILE, HONEST = 0, 1
CLOCK = Clock(start_up=60.0, bank=60.0, hard_stop=60.0)


class Runner:
    """Plays sittings, each in folders of its own."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._home = Path(facts["folder"])
        self._cages: dict[str, _Holding] = {}
        self._spaces: list[int] = []
        self._grouped = False

    async def survey(self) -> dict[str, bool]:
        """Which protections hold; what they are is seen by trying them, before anything is attacked."""
        findings = await self._cage(Limits()).survey()
        held = {finding.protection: finding.holds for finding in findings}
        self._grouped = held[Protection.MEMORY]
        return {protection.value: holds for protection, holds in held.items()}

    async def play(self, attack: str, limits: Limits) -> dict[str, Any]:
        """One sitting."""
        while self._spaces:
            os.close(self._spaces.pop())
        with tempfile.TemporaryDirectory(prefix="s-", dir=self._home) as name:
            folder = Path(name)
            folder.chmod(0o755)
            host = BotHost(folder)
            links: list[Link] = []
            usages = []
            for place, way in ((HOSTILE, attack), (HONEST, "honest")):
                bot = Path(shutil.copytree(Path(__file__).parent / "bot", folder / f"bot{place}"))
                connection = host.add(f"seat{place}")
                (bot / "facts.json").write_text(json.dumps(self._told(folder, limits)))
                for path in (bot, *bot.rglob("*")):
                    path.chmod(0o755 if path.is_dir() else 0o644)
                manifest = Manifest(f"bot{place}", "python", ("python", "bot.py", way))
                launch = Launch(
                    bot, manifest, connection.socket, {"ARBITER_TOKEN": connection.token}, sitting=folder.name
                )
                link = _Watched(self._cage(limits), launch, connection)
                usages.append(link)
                links.append(link)
            links += [LocalLink(StandInBot()) for _ in range(2)]
            async with host:
                record = await play_sitting(_plan(), links)
        usage = usages[HOSTILE].process_usage()
        return {**_told_of(record), "usage": usage}

    async def bare(self, names: list[str]) -> dict[str, Any]:
        """What comes of attempts that do no harm, by a process of this user without a cage."""
        with tempfile.TemporaryDirectory(prefix="s-", dir=self._home) as name:
            folder = Path(name)
            shutil.copytree(Path(__file__).parent / "bot", folder / f"bot{HONEST}")
            host = BotHost(folder)
            host.add(f"seat{HONEST}")
            async with host:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, str(folder / f"bot{HONEST}" / "quiet.py"), "bare"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                )
                asked = json.dumps([names, self._told(folder, Limits())])
                written, _ = await process.communicate(asked.encode())
        found: dict[str, Any] = json.loads(written)
        return found

    def _cage(self, limits: Limits) -> _Holding:
        hidden = [Path(self._facts["database"]).parent]
        return self._cages.setdefault(str(limits), _Holding(self._spaces, hidden, CageSettings(limits)))

    def _told(self, folder: Path, limits: Limits) -> dict[str, Any]:
        return {
            **self._facts,
            "arbiter": os.getpid(),
            "other_folder": str(folder / f"bot{HONEST}"),
            "other_socket": str(folder / f"seat{HONEST}"),
            "memory": limits.memory,
            "tmp": limits.tmp,
            "grouped": self._grouped,
        }


class _Holding(BubblewrapCage):
    """Keeps the PID namespaces of what it starts open, so that no other cage is given the number of one that is over
    before the test has looked what is alive in it."""

    def __init__(self, spaces: list[int], hidden: Sequence[Path], settings: CageSettings) -> None:
        super().__init__(hidden, settings)
        self._spaces = spaces

    async def start(self, launch: Launch) -> BotProcess:
        process = await super().start(launch)
        pid = process.pid
        for _ in range(2):  # process 1 of the cage, and the bot, which waits for its seat
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        self._spaces.append(os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY))
        return process


class _Watched(ProcessLink):
    """A link whose process's use can be asked for."""

    def process_usage(self) -> dict[str, Any] | None:
        usage = self._process.usage if self._process is not None else None
        return None if usage is None else {name: getattr(usage, name) for name in usage.__slots__}


def _plan() -> SittingPlan:
    return SittingPlan(
        sitting="hostile/0/0",
        rules=RULE_SETS["black_lady"],
        format=MatchFormat.HANDS,
        boards=2,
        deal_seed=bytes(range(32)),
        seating=0,
        bots=tuple(SeatedBot(place, f"bot{place}", "", bytes([place]) * 16, CLOCK) for place in range(4)),
    )


def _told_of(record: SittingRecord) -> dict[str, Any]:
    faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
    return {
        "faults": [[fault.entrant, fault.code.value, fault.detail] for fault in faults],
        "endings": [ending.ending for ending in record.endings],
        "logs": [ending.log.decode(errors="replace") for ending in record.endings],
        "hands": [[repr(hand.tricks), list(hand.points)] for hand in record.hands],
        "stood_in": sorted({hand.places[seat] for hand in record.hands for seat in hand.stand_ins}),
    }


async def main() -> None:
    """See the module."""
    runner = Runner(json.loads(sys.argv[1]))
    print(json.dumps(await runner.survey()), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        attack, changes = json.loads(line)
        if attack == "bare":
            print(json.dumps(await runner.bare(changes["names"])), flush=True)
        else:
            print(json.dumps(await runner.play(attack, Limits(**changes))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
