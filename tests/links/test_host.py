"""The service of one sitting's bots: nothing of it is left when its start or its end is cut short."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from arbiter.links import BotHost
from arbiter.supervisor.rundir import RunDirectory
from tests.patience import PATIENCE


async def listens(socket: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def cancelled(step: asyncio.Task[object], times: int) -> None:
    """Cancel a step that has just begun, several times over."""
    for _ in range(times):
        await asyncio.sleep(0)
        step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step


def test_a_start_that_is_cancelled_leaves_nobody_listening() -> None:
    async def test(folder: Path) -> None:
        host = BotHost(folder)
        socket = host.add("seat0").socket
        await cancelled(asyncio.ensure_future(host.__aenter__()), 1)
        assert not await listens(socket)

    with RunDirectory() as folder:
        asyncio.run(test(folder))


@pytest.mark.parametrize("times", [1, 2])
def test_an_end_that_is_cancelled_comes_to_its_end(times: int) -> None:
    async def test(folder: Path) -> None:
        host = BotHost(folder)
        socket = host.add("seat0").socket
        await host.__aenter__()
        assert await listens(socket)
        await cancelled(asyncio.ensure_future(host.__aexit__(None, None, None)), times)
        async with asyncio.timeout(PATIENCE):
            while await listens(socket):
                await asyncio.sleep(0.01)

    with RunDirectory() as folder:
        asyncio.run(test(folder))
