"""The launcher becomes the program, and the program dies with its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from arbiter.supervisor.launch import launch_command
from tests.supervisor.support import REPOSITORY, make_fifo, owner


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"], **environment}
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the parent-death signal is Linux's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_an_owner_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    fifo = make_fifo(tmp_path)
    with owner("child", fifo) as process, fifo.open() as end:
        child = int(end.readline())
        assert os.getsid(child) == child
        process.send_signal(how)
        assert end.read() == ""  # returns when the child has ended
        assert process.wait() == -how


def test_an_interrupt_from_the_terminal_reaches_the_owner_alone(tmp_path: Path) -> None:
    fifo = make_fifo(tmp_path)
    with owner("child", fifo) as process, fifo.open() as end:
        child = int(end.readline())
        assert os.getpgid(child) == child
        assert os.getpgid(process.pid) != child


def test_the_program_is_the_process_that_was_started() -> None:
    with subprocess.Popen(launch_command(["sh", "-c", "echo $$ $PPID"]), stdout=subprocess.PIPE, text=True) as process:
        assert process.communicate()[0].split() == [str(process.pid), str(os.getpid())]


def test_signals_that_python_ignores_are_not_ignored_by_the_program() -> None:
    ignored = run(launch_command(["grep", "SigIgn", "/proc/self/status"])).stdout.split()[1]
    mask = int(ignored, 16)
    assert not mask & (1 << (signal.SIGPIPE - 1))
    assert not mask & (1 << (signal.SIGXFSZ - 1))


def test_the_environment_decides_nothing_about_the_launcher(tmp_path: Path) -> None:
    (tmp_path / "signal.py").write_text("raise SystemExit('the wrong module')")
    result = run(launch_command(["printenv", "PYTHONPATH"]), PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{tmp_path}\n", "")


@pytest.mark.parametrize(
    ("program", "status", "message"),
    [
        ("no-such-program", 127, "launch: no-such-program: no such program\n"),
        ("/", 126, "launch: /: Permission denied\n"),
    ],
)
def test_a_program_that_cannot_be_executed(program: str, status: int, message: str) -> None:
    result = run(launch_command([program]))
    assert (result.returncode, result.stderr) == (status, message)


def test_nothing_is_started_for_an_owner_that_is_gone() -> None:
    # The shell is the launcher's parent, not the owner that is named.
    module = [sys.executable, "-m", "arbiter.supervisor.launch", "1", "--", "echo", "started"]
    result = run(["sh", "-c", '"$@"; exit $?', "sh", *module], PYTHONPATH=str(REPOSITORY))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "launch: the owner, process 1, has ended; echo was not started\n"


@pytest.mark.parametrize("arguments", [[], ["--", "true"], ["1", "true"], ["1", "--"], ["me", "--", "true"]])
def test_usage(arguments: list[str]) -> None:
    result = run([sys.executable, "-m", "arbiter.supervisor.launch", *arguments], PYTHONPATH=str(REPOSITORY))
    assert result.returncode == 2
    assert result.stderr == "usage: python -m arbiter.supervisor.launch OWNER -- PROGRAM ARG...\n"
