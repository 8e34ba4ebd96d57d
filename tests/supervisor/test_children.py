"""One child: its log, how it ends, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from arbiter.errors import InfrastructureError
from arbiter.supervisor.children import Child, Command, describe_exit
from tests.supervisor.support import holding, make_fifo, shell

LONG = 60.0  # seconds of grace that no test uses up


def test_its_output_goes_to_its_log_and_its_status_is_known(tmp_path: Path) -> None:
    async def scenario() -> None:
        child = Child(Command("one", shell("echo out; echo err >&2; cat; exit 3"), tmp_path / "log"))
        assert await child.wait() == 3
        assert child.exit == 3
        assert child.last_lines(9) == ["out", "err"]  # and cat found nothing to read

    asyncio.run(scenario())
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_the_last_lines_are_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = tmp_path / "log"
        first = Child(Command("one", shell("echo first"), log))
        await first.wait()
        second = Child(Command("two", shell(r"printf 'a\n\nb \nc\n\377'"), log))
        await second.wait()
        assert second.last_lines(2) == ["c", "\N{REPLACEMENT CHARACTER}"]
        assert second.last_lines(9) == ["a", "b", "c", "\N{REPLACEMENT CHARACTER}"]
        log.unlink()
        assert second.last_lines(9) == []

    asyncio.run(scenario())


def test_its_environment_is_the_given_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "ONLY": "this"}
        child = Child(Command("one", ["env"], tmp_path / "log", environment))
        await child.wait()
        assert dict(line.split("=", 1) for line in child.last_lines(99)) == environment

    asyncio.run(scenario())


def test_a_missing_program_ends_with_a_line_in_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        child = Child(Command("one", ["no-such-program"], tmp_path / "log"))
        assert await child.wait() == 127
        assert child.last_lines(1) == ["launch: no-such-program: no such program"]

    asyncio.run(scenario())


def test_a_log_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = tmp_path / "missing" / "log"
        with pytest.raises(InfrastructureError, match=f"worker 1 can't be started: No such file.*{log}"):
            Child(Command("worker 1", ["true"], log))

    asyncio.run(scenario())


def test_it_is_not_started_by_a_thread_that_may_end_before_it(tmp_path: Path) -> None:
    refusals: list[str] = []

    async def scenario() -> None:
        with pytest.raises(RuntimeError) as refusal:
            Child(Command("one", ["true"], tmp_path / "log"))
        refusals.append(str(refusal.value))

    thread = threading.Thread(target=lambda: asyncio.run(scenario()))
    thread.start()
    thread.join()
    assert "main thread" in refusals[0]


def test_stop_asks_politely_first(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        script = 'exec 3>"$1"; trap "echo bye; exit 7" TERM; echo up >&3; sleep 1000 & wait'
        child = Child(Command("one", shell(script, fifo), tmp_path / "log"))
        with fifo.open() as end:
            end.readline()
            assert child.exit is None
            assert await child.stop(LONG) == 7
            assert await child.stop(LONG) == 7
            assert end.read() == ""  # its sleep is gone too
        assert child.last_lines(1) == ["bye"]
        child.kill()

    asyncio.run(scenario())


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        # Both the shell and its sleep ignore the polite signal.
        child = Child(
            Command("one", shell('exec 3>"$1"; trap "" TERM; echo up >&3; sleep 1000', fifo), tmp_path / "log")
        )
        with fifo.open() as end:
            end.readline()
            assert await child.stop(0.05) == -signal.SIGKILL
            assert end.read() == ""

    asyncio.run(scenario())


def test_a_cancelled_stop_kills_at_once(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        child = Child(
            Command("one", shell('exec 3>"$1"; trap "" TERM; echo up >&3; sleep 1000', fifo), tmp_path / "log")
        )
        with fifo.open() as end:
            end.readline()
            stop = asyncio.create_task(child.stop(LONG))
            await asyncio.sleep(0)  # until it waits
            stop.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stop
            assert await child.wait() == -signal.SIGKILL
            assert end.read() == ""

    asyncio.run(scenario())


def test_what_a_child_leaves_behind_is_killed(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        child = Child(Command("one", shell('exec 3>"$1"; sleep 1000 & echo up >&3; exit 0', fifo), tmp_path / "log"))
        with fifo.open() as end:
            assert end.read() == "up\n"  # returns when the sleep has ended
        assert await child.wait() == 0

    asyncio.run(scenario())


def test_a_child_may_outlive_its_event_loop(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> Child:
        return Child(Command("one", holding(fifo), tmp_path / "log"))

    child = asyncio.run(scenario())
    with fifo.open() as end:
        end.readline()
        child.kill()
        assert end.read() == ""


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (3, "exit status 3"), (-9, "killed by SIGKILL"), (-40, "killed by signal 40")],
)
def test_an_exit_in_words(status: int, words: str) -> None:
    assert describe_exit(status) == words
