"""Control groups of bots: made with their limits, counted, and gone afterwards, also after a killed service."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from arbiter.cage import BotProcess, BubblewrapCage, CageError, CageSettings, Exit, Launch, Limits, load_manifest
from arbiter.cage.cgroups import CONTROLLERS, Base, Cgroups, Group
from tests.cage.conftest import Service
from tests.cage.support import make_bot, status, until

LIMITS = Limits(memory=96 << 20, processes=32, cpus=0.5)
WAITING = """
    import sys, threading
    print("up", flush=True)
    threading.Event().wait()
"""


@pytest.fixture
def groups() -> Cgroups:
    """A place for groups with every controller."""
    found = Cgroups()
    if not {"memory", "pids", "cpu"} <= found.controllers:
        pytest.skip(f"no control groups can be made here for {set(CONTROLLERS) - found.controllers}")
    return found


def folders(groups: Cgroups, sitting: str, pid: int | None = None) -> list[Path]:
    """What there is of a sitting's groups, of this process or of another: those of other tests lie beside them."""
    bases = {path.parent for path in groups.sitting("probe").paths}
    groups.sitting("probe").try_remove()
    return [path for base in bases for path in base.glob(f"hearts-*-{pid or os.getpid()}-*-{sitting}")]


async def start(folder: Path, socket: Path, limits: Limits = LIMITS, sitting: str = "s1") -> BotProcess:
    cage = BubblewrapCage(settings=CageSettings(limits))
    return await cage.start(Launch(folder, load_manifest(folder), socket, sitting=sitting))


def test_every_process_of_a_cage_is_in_the_bots_group(spot: Path, arbiter_socket: Path, groups: Cgroups) -> None:
    async def scenario() -> None:
        bot = await start(make_bot(spot, WAITING), arbiter_socket)
        await until(lambda: b"up" in bot.log)
        lines = Path(f"/proc/{bot.pid}/cgroup").read_text().splitlines()
        used = [line for line in lines if "hearts-" in line]
        assert used
        for line in used:
            assert line.rpartition("/")[0].endswith("-s1")
        for path in folders(groups, "s1"):
            (own,) = [child for child in path.iterdir() if child.is_dir()]
            members = (own / "cgroup.procs").read_text().split()
            assert str(bot.pid) in members
            assert len(members) == 3  # bubblewrap, process 1, the bot
        await bot.stop(grace=0)
        assert folders(groups, "s1") == []

    asyncio.run(scenario())


def test_what_a_bot_uses_is_counted(spot: Path, arbiter_socket: Path, groups: Cgroups) -> None:
    code = """
        import time
        kept = bytearray(40 << 20)
        while time.process_time() < 0.2:
            pass
    """

    async def scenario() -> BotProcess:
        bot = await start(make_bot(spot, code), arbiter_socket, Limits())
        assert await bot.wait() == Exit(code=0)
        return bot

    usage = asyncio.run(scenario()).usage
    assert usage is not None
    assert usage.cpu_seconds is not None
    assert 0.2 <= usage.cpu_seconds < 10
    assert usage.memory_peak is not None
    assert 40 << 20 <= usage.memory_peak < 200 << 20
    assert usage.oom_kills == 0


def test_a_sitting_is_counted_above_its_bots(spot: Path, arbiter_socket: Path, groups: Cgroups) -> None:
    async def scenario() -> None:
        cage = BubblewrapCage()
        folder = make_bot(spot, WAITING)
        launch = Launch(folder, load_manifest(folder), arbiter_socket, sitting="s2")
        assert cage.sitting_usage("s2") is None
        bots = [await cage.start(launch) for _ in range(2)]
        await until(lambda: all(b"up" in bot.log for bot in bots))
        # As much as two processes: one group by itself would have to share out the weight of one.
        weights = [path / name for path in folders(groups, "s2") for name in ("cpu.shares", "cpu.weight")]
        assert [int(path.read_text()) for path in weights if path.exists()] in ([2048], [200])
        whole, single = cage.sitting_usage("s2"), bots[0].usage
        assert whole is not None
        assert single is not None
        assert whole.cpu_seconds is not None
        assert single.cpu_seconds is not None
        assert whole.cpu_seconds > single.cpu_seconds > 0
        await bots[0].stop(grace=0)
        assert cage.sitting_usage("s2") is not None
        await bots[1].stop(grace=0)
        assert cage.sitting_usage("s2") is None

    asyncio.run(scenario())


def test_memory_of_all_processes_together_ends_a_bot(spot: Path, arbiter_socket: Path, groups: Cgroups) -> None:
    """Two processes, each well below the limit, over it together; the limit was seen to be set before."""
    code = """
        import os, time
        for _ in range(2):
            if os.fork() == 0:
                kept = b"x" * (60 << 20)
                time.sleep(1000)
        os.wait()
    """

    async def scenario() -> tuple[Exit, BotProcess]:
        bot = await start(make_bot(spot, code), arbiter_socket)
        for path in folders(groups, "s1"):
            for own in path.iterdir():
                if (own / "memory.limit_in_bytes").exists():
                    assert int((own / "memory.limit_in_bytes").read_text()) == LIMITS.memory
        return await bot.wait(), bot

    end, bot = asyncio.run(scenario())
    assert end.out_of_memory
    assert str(end).endswith(", out of memory")
    assert bot.usage is not None
    assert bot.usage.oom_kills >= 1


def test_groups_of_a_killed_service_are_removed_by_the_next(
    own_service: Service, spot: Path, arbiter_socket: Path, groups: Cgroups
) -> None:
    with own_service.start("caged", "hold", make_bot(spot, WAITING), arbiter_socket) as process:
        assert process.stdout is not None
        outer = json.loads(process.stdout.readline())["pid"]
        assert folders(groups, "alone", process.pid)
        Cgroups()
        assert folders(groups, "alone", process.pid), "what a living service has made is left alone"
        process.kill()
    asyncio.run(until(lambda: status(outer) == {}))

    def all_gone() -> bool:
        Cgroups()
        return not folders(groups, "*", process.pid)

    asyncio.run(until(all_gone))


def test_a_group_of_the_hosts_that_is_none_is_refused(spot: Path) -> None:
    with pytest.raises(CageError, match=f"{spot}: no control groups can be made below it"):
        Cgroups(spot)
    assert list(spot.iterdir()) == []


VERSION_2 = {
    "cpu.stat": "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_throttled 3\nthrottled_usec 250000\n",
    "cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=750000\nfull avg10=0.00 total=1\n",
    "memory.peak": "12345678\n",
    "memory.events": "low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\noom_group_kill 1\n",
}
VERSION_1 = {
    "cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 250000000\n",
    "cpuacct.usage": "1500000000\n",
    "memory.max_usage_in_bytes": "12345678\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
}


@pytest.mark.parametrize(("version", "files", "waiting"), [(1, VERSION_1, None), (2, VERSION_2, 0.75)])
def test_both_versions_are_read_alike(tmp_path: Path, version: int, files: dict[str, str], waiting: float) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    usage = Group(dict.fromkeys(CONTROLLERS, Base(tmp_path, version))).usage()
    assert usage.cpu_seconds == 1.5
    assert usage.throttled_seconds == 0.25
    assert usage.waiting_seconds == waiting
    assert usage.memory_peak == 12345678
    assert usage.oom_kills == 2


def test_version_2_is_given_every_limit(tmp_path: Path) -> None:
    for name in ("memory.swap.max", "memory.oom.group"):
        (tmp_path / name).touch()
    Group(dict.fromkeys(("memory", "pids", "cpu"), Base(tmp_path, 2))).limit(LIMITS)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "memory.max": str(96 << 20),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": "34",
        "cpu.max": "50000 100000",
    }
