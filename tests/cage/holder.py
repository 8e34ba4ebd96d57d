"""A service in small, run by tests as a process of its own: starts one bot and reports on it as lines of JSON.

Usage: holder.py {caged,bare} {finish,hold,vanish} BOT_FOLDER SOCKET

``finish`` waits for the bot's end; ``hold`` reports the start and then waits for ever, to be killed; ``vanish`` kills
itself in the middle of the start, just when it has let process 1 of the cage go on.
The variable LEVEL says what has to hold before the bot is run.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from arbiter.cage import CageError, CageSettings, Launch, Level, choose_cage, load_manifest


async def main(kind: str, mode: str, folder: Path, socket: Path) -> None:
    launch = Launch(folder, load_manifest(folder), socket, {"ARBITER_TOKEN": "secret-of-the-seat"})
    try:
        settings = CageSettings(level=Level(os.environ.get("LEVEL", "basic")))
        cage = choose_cage(unsafe=kind == "bare", settings=settings)
        await cage.check()
        if mode == "vanish":
            os.write = vanish  # type: ignore[assignment]  # what asyncio and the cage call it with fits
        bot = await cage.start(launch)
    except CageError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"pid": bot.pid}), flush=True)
    if mode == "hold":
        await asyncio.Event().wait()
    end = await bot.wait()
    print(json.dumps({"exit": str(end), "log": bot.log.decode()}), flush=True)


def vanish(descriptor: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    """Write, and be gone; what this process holds stays open a while longer, as when it has many threads to end."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        os._exit(0)
    write(descriptor, data)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process goes on")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
