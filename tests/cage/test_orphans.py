"""What a service that was killed left of a half-made cage is ended, and nothing that lives."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from arbiter.cage import BubblewrapCage, Launch, load_manifest
from arbiter.cage.orphans import end_orphans
from tests.cage.support import make_bot, until

# A stand-in for the sleeping process 1: of that name, alone in a PID namespace, with the words of a cage's command.
SLEEPER = "#!/bin/sh\nread never\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="making a PID namespace by itself takes root")
def test_a_sleeper_whose_bubblewrap_is_gone_is_ended(tmp_path: Path) -> None:
    sleeper = tmp_path / "bwrap"
    sleeper.write_text(SLEEPER)
    sleeper.chmod(0o755)
    command = ["unshare", "--pid", "--fork", str(sleeper), "--args", "3", "--", "/usr/bin/prlimit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

        async def asleep() -> int:
            await until(lambda: bool(found := children.read_text().split()) and comm(int(found[0])) == "bwrap")
            return int(children.read_text())

        first = asyncio.run(asleep())
        assert end_orphans() == [first]
        assert process.wait() != 0


def test_a_living_bot_is_left_alone(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> str:
        folder = make_bot(spot, "import time; print('up', flush=True); time.sleep(1000)")
        bot = await BubblewrapCage().start(Launch(folder, load_manifest(folder), arbiter_socket))
        try:
            await until(lambda: b"up" in bot.log)
            assert end_orphans() == []
            assert bot.exit is None
        finally:
            end = await bot.stop(0.0)
        return str(end)

    assert asyncio.run(scenario()) == "killed by SIGKILL"


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return ""
