"""Children that end are started again, later each time; what never came up is given up."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import InfrastructureError
from arbiter.supervisor.children import Command
from arbiter.supervisor.keeper import Ended, Event, Keeper, Patience, Started, log_event
from tests.supervisor.support import make_fifo, shell

# However slow the machine is, a child that ends by itself never counts as healthy.
QUICK = Patience(shortest=0.001, longest=0.004, healthy=1000.0)


class Events:
    """Receives a keeper's events, for a test to wait for."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        self._queue.put_nowait(event)

    async def started(self) -> Started:
        event = await self._queue.get()
        assert isinstance(event, Started)
        return event

    async def ended(self) -> Ended:
        event = await self._queue.get()
        assert isinstance(event, Ended)
        return event

    def rest(self) -> list[Event]:
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]


def test_a_child_that_is_killed_is_started_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = Events()
        keeper = Keeper([Command("sleeper", ["sleep", "1000"], tmp_path / "log")], patience=QUICK, report=events)
        running = asyncio.create_task(keeper.run())
        first = await events.started()
        os.kill(first.pid, signal.SIGKILL)
        end = await events.ended()
        assert (end.name, end.exit, end.lines) == ("sleeper", -signal.SIGKILL, ())
        assert end.delay is not None
        second = await events.started()
        assert second.name == "sleeper"
        assert second.pid != first.pid
        await keeper.stop()
        await running
        assert events.rest() == []  # that it was stopped is no news
        with pytest.raises(ProcessLookupError):
            os.kill(second.pid, 0)

    asyncio.run(scenario())


def test_a_child_that_never_comes_up_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        events = Events()
        up = tmp_path / "up"
        # Not before the other one is there, so that there is something to be ended.
        script = 'while [ ! -e "$1" ]; do sleep 0.01; done; for i in 0 1 2 3 4 5; do echo no $i; done; exit 3'
        broken = Command("worker 2", shell(script, up), tmp_path / "log")
        script = 'exec 3>"$1"; : >"$2"; exec sleep 1000'
        sound = Command("worker 1", shell(script, fifo, up), tmp_path / "log1")
        reading = asyncio.create_task(asyncio.to_thread(fifo.read_text))
        with pytest.raises(InfrastructureError) as error:
            await Keeper([sound, broken], patience=QUICK, report=events).run()
        assert str(error.value) == (
            "worker 2 ended 5 times in a row right after its start (exit status 3); "
            "it last said: no 1 | no 2 | no 3 | no 4 | no 5"
        )
        assert await reading == ""  # returns when the other one has ended as well
        ends = [event for event in events.rest() if isinstance(event, Ended)]
        assert [end.delay is None for end in ends] == [False, False, False, False, True]

    asyncio.run(scenario())


def test_a_child_that_was_healthy_once_is_never_given_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = Events()
        patience = Patience(shortest=0.001, longest=0.001, healthy=0.0, attempts=2)
        keeper = Keeper([Command("flaky", ["false"], tmp_path / "log")], patience=patience, report=events)
        running = asyncio.create_task(keeper.run())
        for _ in range(4):
            await events.started()
            assert (await events.ended()).delay is not None
        await keeper.stop()
        await running

    asyncio.run(scenario())


@pytest.mark.parametrize(("reset", "last"), [(1000.0, 7), (0.0, 0)])
def test_the_delay_grows_until_a_child_lived_long_enough(tmp_path: Path, reset: float, last: int) -> None:
    async def scenario() -> None:
        events = Events()
        patience = Patience(shortest=0.0001, longest=1.0, reset=reset, attempts=9)
        keeper = Keeper([Command("flaky", ["false"], tmp_path / "log")], patience=patience, report=events)
        running = asyncio.create_task(keeper.run())
        delays = []
        for _ in range(8):
            await events.started()
            delays.append((await events.ended()).delay)
        await keeper.stop()
        await running
        assert delays[0] is not None
        assert 0.0001 <= delays[0] <= 0.0002
        assert delays[-1] is not None
        assert 0.0001 * 2**last <= delays[-1] <= 0.0002 * 2**last

    asyncio.run(scenario())


def test_stop_does_not_wait_for_a_delay(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = Events()
        patience = Patience(shortest=1000.0, longest=1000.0)
        keeper = Keeper([Command("flaky", ["false"], tmp_path / "log")], patience=patience, report=events)
        running = asyncio.create_task(keeper.run())
        await events.started()
        await events.ended()
        await keeper.stop()
        await running
        assert events.rest() == []

    asyncio.run(scenario())


def test_a_cancelled_run_leaves_no_child(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = Events()
        commands = [Command(f"sleeper {i}", ["sleep", "1000"], tmp_path / f"log{i}") for i in range(3)]
        running = asyncio.create_task(Keeper(commands, report=events).run())
        pids = [(await events.started()).pid for _ in commands]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    asyncio.run(scenario())


def test_a_second_cancel_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)

    async def scenario() -> None:
        script = 'exec 3>"$1"; trap "echo asked >&3" TERM; echo up >&3; while :; do sleep 1000 & wait; done'
        command = Command("stubborn", shell(script, fifo), tmp_path / "log")
        running = asyncio.create_task(Keeper([command], patience=Patience(grace=1000.0), report=Events()).run())
        with await asyncio.to_thread(fifo.open) as end:
            assert await asyncio.to_thread(end.readline) == "up\n"
            running.cancel()
            assert await asyncio.to_thread(end.readline) == "asked\n"
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await asyncio.to_thread(end.read)

    asyncio.run(scenario())


def test_a_keeper_that_was_stopped_before_starts_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = Events()
        for commands in ([], [Command("never", ["true"], tmp_path / "log")]):
            keeper = Keeper(commands, report=events)
            await keeper.stop()
            await keeper.run()
        assert events.rest() == []

    asyncio.run(scenario())


def test_events_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "arbiter.supervisor.keeper")
    log_event(Started("worker 1", 17))
    log_event(Ended("worker 1", -9, 1.25, ("x",), 0.31))
    log_event(Ended("worker 1", 1, 0.04, (), None))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "worker 1: started as process 17"),
        ("WARNING", "worker 1: killed by SIGKILL after 1.2 s; starting it again in 0.3 s"),
        ("WARNING", "worker 1: exit status 1 after 0.0 s; given up"),
    ]


@given(st.integers(0, 100_000))
def test_delays_double_up_to_the_longest_and_are_spread(end: int) -> None:
    patience = Patience()
    least, most = patience.delay(end, min), patience.delay(end, max)
    assert most == min(10.0, 0.4 * 2.0 ** min(end, 10))
    assert least == most / 2
    assert least <= patience.delay(end) <= most
