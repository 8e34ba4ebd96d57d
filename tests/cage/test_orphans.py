"""What a service that was killed left of a half-made cage is ended, and nothing that lives."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from arbiter.cage import BubblewrapCage, Launch, load_manifest
from arbiter.cage.orphans import end_orphans
from tests.cage.support import children, make_bot, status, until
from tests.patience import PATIENCE

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="making a PID namespace by itself takes root")


@contextmanager
def standing_in(folder: Path, doing: str, state: str) -> Iterator[tuple[subprocess.Popen[bytes], int | None]]:
    """A stand-in for process 1 of a cage: of that name, alone in a PID namespace, with the words of a cage's command.

    Yields its parent, which is no bubblewrap, and its process id, once it is in the given state; None when it is gone.
    """
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{doing}\n")
    program.chmod(0o755)
    command = ["unshare", "--pid", "--fork", str(program), "--args", "3", "--", "/usr/bin/prlimit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        found: list[int] = []

        def is_there() -> bool:
            found[:] = [pid for pid in children(process.pid) if seen(pid) == ("bwrap", state)]
            return bool(found) or process.poll() is not None

        asyncio.run(until(is_there))
        try:
            yield process, found[0] if found else None
        finally:
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


# Other tests run beside these: what they leave of services that they kill is ended too, and their services end the
# sleeper, which is the same to them.


@needs_root
def test_a_sleeper_whose_bubblewrap_is_gone_is_ended(tmp_path: Path) -> None:
    with standing_in(tmp_path, "read never", "S") as (parent, _):
        end_orphans()
        assert parent.wait(PATIENCE) != 0


@needs_root
def test_what_is_still_at_work_is_left_to_end_by_itself(tmp_path: Path) -> None:
    """Process 1 of a bot that has just ended may outlive the outer process for a moment."""
    with standing_in(tmp_path, "while :; do :; done", "R") as (parent, first):
        assert first not in end_orphans()
        assert parent.poll() is None


def test_a_living_bot_is_left_alone(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> str:
        folder = make_bot(spot, "import time; print('up', flush=True); time.sleep(1000)")
        bot = await BubblewrapCage().start(Launch(folder, load_manifest(folder), arbiter_socket))
        try:
            await until(lambda: b"up" in bot.log)
            ended = end_orphans()
            assert bot.exit is None
            assert not family(bot.pid).intersection(ended)
        finally:
            end = await bot.stop(0.0)
        return str(end)

    assert asyncio.run(scenario()) == "killed by SIGKILL"


def seen(pid: int) -> tuple[str, str]:
    """Name and state of a process; empty when it is gone."""
    facts = status(pid)
    return facts.get("Name", ""), facts.get("State", "")[:1]


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    return {pid}.union(*(family(child) for child in children(pid)))
