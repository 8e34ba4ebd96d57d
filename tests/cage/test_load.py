"""What processes used of the machine, read from real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from arbiter.cage import BotLoad, Load, LoadMeter
from tests.patience import PATIENCE

SPIN = "while True: pass"
SPIN_AND_END = "import subprocess, sys\nwhile True: subprocess.run([sys.executable, '-S', '-c', 'sum(range(10**6))'])"
THREADS = """
import hashlib, threading
def spin():
    while True: hashlib.sha256(bytes(10**7))  # lets other threads run
for _ in range(6): threading.Thread(target=spin).start()
"""
SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def start() -> Iterator[Callable[[str], int]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(code: str) -> int:
        started.append(subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True))
        return started[-1].pid

    yield run
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read_until(meter: LoadMeter, pid: int, enough: Callable[[BotLoad], bool]) -> list[Load]:
    """Readings up to the one that shows enough."""
    readings = []
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(0.05)
        readings.append(meter.read([pid]))
        if enough(readings[-1].bots[0]):
            return readings
    pytest.fail(f"not seen within {PATIENCE} s: {readings[-3:]}")


def test_a_busy_process_is_seen_to_compute_and_a_sleeping_one_is_not(start: Callable[[str], int]) -> None:
    meter = LoadMeter()
    busy = start(SPIN)
    last = read_until(meter, busy, lambda bot: bot.cpu > 0.02)[-1]
    assert last.busy > 0.0
    sleeping = start(SLEEP)
    meter.read([sleeping])
    read_until(meter, sleeping, lambda bot: bot == BotLoad(0.0, 0.0))


def test_children_that_ended_count_too(start: Callable[[str], int]) -> None:
    meter = LoadMeter()
    parent = start(SPIN_AND_END)
    meter.read([parent])
    readings = [load.bots[0].cpu for load in read_until(meter, parent, lambda bot: bot.cpu > 0.05)]
    assert sum(readings) > 0.05


def test_threads_that_take_turns_on_one_cpu_wait(start: Callable[[str], int]) -> None:
    meter = LoadMeter()
    pid = start(THREADS)
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
    read_until(meter, pid, lambda bot: bot.waited > 0.01)


def test_own_work_is_own_and_a_reading_starts_anew() -> None:
    begin = time.process_time()
    meter = LoadMeter()
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    first = meter.read([])
    assert first.own >= 0.1
    again = meter.read([None, 2**22 + 1])
    assert first.own + again.own <= time.process_time() - begin, "nothing counts twice"
    assert again.bots == (BotLoad(0.0, 0.0), BotLoad(0.0, 0.0))
