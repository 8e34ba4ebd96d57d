"""An owner in small, run by tests as a process of its own to be killed.

Usage: owner.py child FIFO      starts one child that says its process id into the FIFO and holds it open
       owner.py service FOLDER  makes a run directory below FOLDER with an embedded Redis in it, and prints its path
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from arbiter.supervisor.children import Child, Command
from arbiter.supervisor.redis import EmbeddedRedis
from arbiter.supervisor.rundir import RunDirectory
from tests.supervisor.support import holding


async def main(what: str, path: Path) -> None:
    if what == "child":
        child = Child(Command("child", holding(path), path.with_suffix(".log")))
        await child.wait()
        return
    with RunDirectory(path) as folder:
        async with EmbeddedRedis(folder) as redis:
            print(folder, flush=True)
            await redis.watch()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
