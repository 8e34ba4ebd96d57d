"""A service in small, run by tests as a process of its own: starts one bot and reports on it as lines of JSON.

Usage: holder.py {caged,bare} {finish,hold} BOT_FOLDER SOCKET

``finish`` waits for the bot's end; ``hold`` reports the start and then waits for ever, to be killed.
The variable LEVEL says what has to hold before the bot is run.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from arbiter.cage import CageError, CageSettings, Launch, Level, choose_cage, load_manifest


async def main(kind: str, mode: str, folder: Path, socket: Path) -> None:
    launch = Launch(folder, load_manifest(folder), socket, {"ARBITER_TOKEN": "secret-of-the-seat"})
    try:
        settings = CageSettings(level=Level(os.environ.get("LEVEL", "basic")))
        bot = await choose_cage(unsafe=kind == "bare", settings=settings).start(launch)
    except CageError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"pid": bot.pid}), flush=True)
    if mode == "hold":
        await asyncio.Event().wait()
    end = await bot.wait()
    print(json.dumps({"exit": str(end), "log": bot.log.decode()}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])))
