"""Bots without a cage: the same contract, for one's own bots."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from arbiter.cage import BotProcess, CageError, Exit, Launch, PlainCage, load_manifest
from tests.cage.conftest import Service
from tests.cage.support import alive, make_bot, status, until

LOOK = """
    import json, os
    found = {"environment": dict(os.environ), "folder": os.getcwd(), "uid": os.getuid()}
    found["stdin"] = os.read(0, 1).decode()
    open(os.path.join(os.environ["HOME"], "trace"), "w").close()
    print(json.dumps(found))
"""

# Ignores SIGTERM, as do its child and a process in a session of its own, and says who they are.
STUBBORN = """#!/bin/sh
trap '' TERM
sleep 1000 &
child=$!
setsid sleep 1000 &
echo "$$ $child $!"
while :; do sleep 1000; done
"""


def test_contract(ordinary_service: Service, spot: Path, arbiter_socket: Path) -> None:
    folder = make_bot(spot, LOOK)
    _, end = ordinary_service.run("bare", "finish", folder, arbiter_socket)
    assert end["exit"] == "exit status 0", end["log"]
    assert isinstance(end["log"], str)
    found = json.loads(end["log"])
    environment = found["environment"]
    assert found["folder"] == str(folder)
    assert found["uid"] == (65534 if os.geteuid() == 0 else os.geteuid())
    assert found["stdin"] == ""
    assert environment["ARBITER_ADDRESS"] == f"unix:{arbiter_socket}"
    assert environment["ARBITER_TOKEN"] == "secret-of-the-seat"
    assert environment["HOME"] == environment["TMPDIR"]
    assert not Path(environment["HOME"]).exists()  # nothing on the disk outlives the bot
    assert set(environment) - {"PWD"} == {
        *(
            "ARBITER_ADDRESS",
            "ARBITER_TOKEN",
            "HOME",
            "LANG",
            "MALLOC_ARENA_MAX",
            "PATH",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONPATH",
        ),
        *("PYTHONUNBUFFERED", "TMPDIR"),
    }


def executable_bot(folder: Path, script: str) -> Path:
    """Write a bot that is a shell script."""
    (folder / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "executable"\nrun = ["play"]\n')
    (folder / "play").write_text(script)
    (folder / "play").chmod(0o755)
    return folder


async def start(folder: Path, socket: Path) -> BotProcess:
    return await PlainCage().start(Launch(folder, load_manifest(folder), socket))


ENDINGS = {
    "returns": ("true", Exit(code=0)),
    "exits": ("exit 4", Exit(code=4)),
    "is killed": ("kill -KILL $$", Exit(signal=9)),
    "can't be executed": ("#!/no/such/interpreter", Exit(code=127)),
}


@pytest.mark.parametrize(("script", "end"), ENDINGS.values(), ids=ENDINGS.keys())
def test_end_by_itself(spot: Path, arbiter_socket: Path, script: str, end: Exit) -> None:
    async def scenario() -> Exit:
        return await (await start(executable_bot(spot, script), arbiter_socket)).wait()

    assert asyncio.run(scenario()) == end


def test_stop_kills_the_session(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        bot = await start(executable_bot(spot, STUBBORN), arbiter_socket)
        await until(lambda: bot.log.endswith(b"\n"))
        own, child, apart = map(int, bot.log.split())
        os.kill(own, signal.SIGTERM)
        assert all(map(alive, (own, child, apart)))
        assert await bot.stop(grace=0) == Exit(signal=9)
        assert not alive(own)
        assert not alive(child)
        if os.geteuid() == 0:
            assert not alive(apart)  # found by its user id, which was the bot's alone
        else:
            os.kill(apart, signal.SIGKILL)

    asyncio.run(scenario())


def test_roots_bot_has_an_unprivileged_user_id_of_its_own(root: None, spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> list[str]:
        bot = await start(executable_bot(spot, "#!/bin/sh\nid -u; id -g; id -G\n"), arbiter_socket)
        await bot.wait()
        return bot.log.decode().split()

    first, second = asyncio.run(scenario()), asyncio.run(scenario())
    assert len(first) == 3
    assert len(set(first)) == 1
    assert int(first[0]) >= 0x70000000
    assert first != second


def test_roots_bot_is_refused_where_its_user_could_not_reach_it(root: None, spot: Path, arbiter_socket: Path) -> None:
    closed = spot / "closed"
    closed.mkdir(mode=0o700)
    folder = closed / "bot"
    folder.mkdir()
    with pytest.raises(CageError, match=rf"{folder}: a bot never runs as root, .* can't pass {closed}; .*chmod o\+x"):
        asyncio.run(start(executable_bot(folder, "#!/bin/sh\n"), arbiter_socket))


def test_bot_dies_with_the_service(own_service: Service, spot: Path, arbiter_socket: Path) -> None:
    folder = executable_bot(spot, "#!/bin/sh\nexec sleep 1000\n")
    # Nobody is left to delete the bot's temporary folder.
    own_service = replace(own_service, environment={**own_service.environment, "TMPDIR": str(spot)})
    with own_service.start("bare", "hold", folder, arbiter_socket) as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())["pid"]
        asyncio.run(until(lambda: status(pid).get("Name") == "sleep"))
        process.kill()
    asyncio.run(until(lambda: not alive(pid)))
