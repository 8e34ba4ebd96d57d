"""How bots end: by themselves, stopped, or with the service, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from arbiter.cage import BotProcess, BubblewrapCage, Exit, Launch, load_manifest
from arbiter.cage.orphans import end_orphans
from tests.cage.conftest import Service
from tests.cage.support import alive, alive_in, bot_pid, children, make_bot, namespace, status, until

# Ignores every polite signal, and leaves behind a child and a daemon in a session of its own that do the same.
STUBBORN = """
    import os, signal, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                print("daemon", flush=True)
                while True:
                    time.sleep(1000)
            os._exit(0)
        while True:
            time.sleep(1000)
    print("bot", flush=True)
    while True:
        time.sleep(1000)
"""


def launch(folder: Path, socket: Path, log_limit: int = 65536) -> Launch:
    return Launch(folder, load_manifest(folder), socket, {"ARBITER_TOKEN": "secret-of-the-seat"}, log_limit)


def run(folder: Path, socket: Path, log_limit: int = 65536) -> BotProcess:
    async def scenario() -> BotProcess:
        bot = await BubblewrapCage().start(launch(folder, socket, log_limit))
        await bot.wait()
        return bot

    return asyncio.run(scenario())


async def start_stubborn(spot: Path, socket: Path) -> BotProcess:
    bot = await BubblewrapCage().start(launch(make_bot(spot, STUBBORN), socket))
    await until(lambda: b"daemon" in bot.log and b"bot" in bot.log)
    return bot


ENDINGS = {
    "returns": ("pass", Exit(code=0), "exit status 0"),
    "exits": ("raise SystemExit(3)", Exit(code=3), "exit status 3"),
    "exits high": ("raise SystemExit(255)", Exit(code=255), "exit status 255"),
    "raises": ("1 / 0", Exit(code=1), "exit status 1"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", Exit(signal=9), "killed by SIGKILL"),
    "crashes": ("import os; os.kill(os.getpid(), 11)", Exit(signal=11), "killed by SIGSEGV"),
}


@pytest.mark.parametrize(("code", "end", "words"), ENDINGS.values(), ids=ENDINGS.keys())
def test_end_by_itself(spot: Path, arbiter_socket: Path, code: str, end: Exit, words: str) -> None:
    bot = run(make_bot(spot, code), arbiter_socket)
    assert bot.exit == end
    assert str(bot.exit) == words


def test_log_has_the_traceback(spot: Path, arbiter_socket: Path) -> None:
    log = run(make_bot(spot, 'print("before")\n1 / 0'), arbiter_socket).log.decode()
    assert log.startswith("before\nTraceback")
    assert log.endswith("ZeroDivisionError: division by zero\n")
    assert 'File "/bot/bot.py", line 2' in log


def test_command_that_can_not_be_executed_is_the_bots_fault(spot: Path, arbiter_socket: Path) -> None:
    (spot / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "executable"\nrun = ["play"]\n')
    (spot / "play").write_text("#!/no/such/interpreter\n")
    (spot / "play").chmod(0o755)
    bot = run(spot, arbiter_socket)
    assert str(bot.exit) == "exit status 127"
    assert b"/bot/play" in bot.log


def test_executable_bot_runs(spot: Path, arbiter_socket: Path) -> None:
    (spot / "bot.toml").write_text('[bot]\nname = "x"\nruntime = "executable"\nrun = ["play", "two words"]\n')
    (spot / "play").write_text('#!/bin/sh\necho "$PWD $1"\n')
    (spot / "play").chmod(0o755)
    bot = run(spot, arbiter_socket)
    assert (bot.log, bot.exit) == (b"/bot two words\n", Exit(code=0))


def test_the_sdk_is_there_and_comes_from_its_own_place(spot: Path, arbiter_socket: Path) -> None:
    bot = run(make_bot(spot, "import arbiter.sdk\nprint(arbiter.sdk.__file__)"), arbiter_socket)
    assert bot.log == b"/opt/sdk/arbiter/sdk/__init__.py\n"


def test_what_a_bot_leaves_behind_ends_with_it(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        bot = await start_stubborn(spot, arbiter_socket)
        with namespace(bot_pid(bot.pid)) as space:
            os.kill(bot_pid(bot.pid), signal.SIGSEGV)
            assert await bot.wait() == Exit(signal=signal.SIGSEGV)
            assert alive_in(space) == []

    asyncio.run(scenario())


def test_stop_kills_the_whole_tree(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        bot = await start_stubborn(spot, arbiter_socket)
        own = bot_pid(bot.pid)
        with namespace(own) as space:
            assert len(alive_in(space)) >= 4  # process 1, the bot, its child, its daemon
            os.kill(own, signal.SIGTERM)
            assert bot.exit is None
            assert str(await bot.stop(grace=0)) == "killed by SIGKILL"
            assert alive_in(space) == []
            assert status(bot.pid) == {}

    asyncio.run(scenario())


# Ends only on a sign that a test gives, so that a kill before that would be seen.
WAITS_FOR_A_SIGN = """
    import os, time
    print("ready", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    raise SystemExit(7)
"""


def test_stop_lets_a_bot_end_by_itself(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> Exit:
        bot = await BubblewrapCage().start(launch(make_bot(spot, WAITS_FOR_A_SIGN), arbiter_socket))
        await until(lambda: b"ready" in bot.log)
        stopping = asyncio.create_task(bot.stop(grace=60))
        await asyncio.sleep(0)
        (spot / "go").touch()
        end = await stopping
        assert await bot.stop(grace=0) == end  # once more does no harm
        return end

    assert asyncio.run(scenario()) == Exit(code=7)


def test_time_for_which_the_machine_stood_still_is_not_taken_from_a_bot(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> Exit:
        bot = await BubblewrapCage().start(launch(make_bot(spot, WAITS_FOR_A_SIGN), arbiter_socket))
        await until(lambda: b"ready" in bot.log)
        stopping = asyncio.create_task(bot.stop(grace=400))
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        time = loop.time
        loop.time = lambda: time() + 1000  # type: ignore[method-assign]  # as after a standstill
        await asyncio.sleep(0)
        (spot / "go").touch()
        return await stopping

    assert asyncio.run(scenario()) == Exit(code=7)


def test_cancelled_stop_kills(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> Exit:
        bot = await start_stubborn(spot, arbiter_socket)
        stopping = asyncio.create_task(bot.stop(grace=1000))
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        return await bot.wait()

    assert asyncio.run(scenario()) == Exit(signal=9)


def test_end_of_the_event_loop_kills(spot: Path, arbiter_socket: Path) -> None:
    with ExitStack() as stack:

        async def scenario() -> str:
            bot = await start_stubborn(spot, arbiter_socket)
            return stack.enter_context(namespace(bot_pid(bot.pid)))

        space = asyncio.run(scenario())
        asyncio.run(until(lambda: alive_in(space) == []))


@pytest.fixture
def orphans() -> Iterator[Callable[[], list[int]]]:
    """What is alive of this process's descendants; makes it the parent of those whose own parent has died."""
    set_subreaper = ctypes.CDLL(None).prctl
    assert set_subreaper(36, 1, 0, 0, 0) == 0
    before = children(os.getpid())
    yield lambda: [pid for pid in children(os.getpid()) if pid not in before and alive(pid)]
    set_subreaper(36, 0, 0, 0, 0)
    for pid in children(os.getpid()):
        if pid not in before:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_start_cancelled_at_any_moment_leaves_nothing(
    spot: Path, arbiter_socket: Path, orphans: Callable[[], list[int]]
) -> None:
    async def scenario() -> None:
        cage = BubblewrapCage()
        await cage.check()
        started = 0
        for step in range(200):
            task = asyncio.create_task(cage.start(launch(folder, arbiter_socket)))
            for _ in range(step):
                await asyncio.sleep(0 if step < 20 else 0.0002)
            task.cancel()
            try:
                bot = await task
            except asyncio.CancelledError:
                continue
            await bot.stop(grace=0)
            started += 1
            if started == 3:  # later moments are after the start
                break
        await until(lambda: orphans() == [])

    folder = make_bot(spot, STUBBORN)
    asyncio.run(scenario())


@pytest.mark.parametrize("user", ["own", "ordinary"])
def test_whole_tree_dies_with_the_service(
    user: str, request: pytest.FixtureRequest, spot: Path, arbiter_socket: Path
) -> None:
    """Halite-II#276, Halite-II#315."""
    service: Service = request.getfixturevalue(f"{user}_service")
    folder = make_bot(spot, STUBBORN)
    with service.start("caged", "hold", folder, arbiter_socket) as process:
        assert process.stdout is not None
        outer = json.loads(process.stdout.readline())["pid"]
        with namespace(bot_pid(outer)) as space:
            asyncio.run(until(lambda: len(alive_in(space)) >= 4))
            process.kill()
            asyncio.run(until(lambda: alive_in(space) == []))


def test_a_service_killed_while_a_cage_is_made_leaves_no_bot(
    spot: Path, arbiter_socket: Path, own_service: Service, orphans: Callable[[], list[int]]
) -> None:
    """Its pipes stay open for a moment, so that the cage can't tell from them: the bot must not have been run."""
    folder = make_bot(spot, STUBBORN)
    for _ in range(8):
        with own_service.start("caged", "vanish", folder, arbiter_socket) as process:
            assert process.wait() == -signal.SIGKILL

    def nothing_left() -> bool:
        end_orphans()  # as the next service does: the outer process may have died before it let process 1 begin
        return orphans() == []

    asyncio.run(until(nothing_left))


def test_flood_neither_blocks_nor_fills_memory(spot: Path, arbiter_socket: Path) -> None:
    code = """
        import os
        os.write(1, b"first")
        for _ in range(16):
            os.write(2, bytes(1 << 20))
        os.write(1, b"last")
    """
    bot = run(make_bot(spot, code), arbiter_socket, log_limit=1000)
    assert bot.exit == Exit(code=0)
    cut = (16 << 20) + len("firstlast") - 1000
    assert bot.log == b"first" + bytes(495) + b"\n[... %d bytes cut ...]\n" % cut + bytes(496) + b"last"


def test_tokens_are_not_in_any_command_line_or_readable_environment(spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        bot = await start_stubborn(spot, arbiter_socket)
        with namespace(bot_pid(bot.pid)) as space:
            processes = {bot.pid, *alive_in(space)}
        assert len(processes) >= 5
        for pid in processes:
            assert b"secret-of-the-seat" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert Path(f"/proc/{bot.pid}/environ").read_bytes() == b""
        await bot.stop(grace=0)

    asyncio.run(scenario())


def test_hosts_user_id_is_unprivileged_and_each_bots_own(root: None, spot: Path, arbiter_socket: Path) -> None:
    async def scenario() -> None:
        bots = [await start_stubborn(spot / name, arbiter_socket) for name in ("one", "two")]
        facts = [status(bot_pid(bot.pid)) for bot in bots]
        users = [set(fact["Uid"].split()) | set(fact["Gid"].split()) for fact in facts]
        for user in users:
            assert len(user) == 1  # real, effective, saved, file system; group the same
            assert 0x70000000 <= int(min(user)) < 0x80000000
        assert users[0] != users[1]
        assert [fact["Groups"] for fact in facts] == ["", ""]
        for bot in bots:
            await bot.stop(grace=0)

    asyncio.run(scenario())
