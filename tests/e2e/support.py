"""What the tests of whole runs share: the command line as a process, and a search for everything that it started.

Every run gets a folder of its own for temporary files. Its path is the mark by which a process of the run is known:
it is in the environment of workers, on the command line of Redis, and among the mounts of a caged bot.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arbiter
from tests.patience import PATIENCE

REPOSITORY = Path(arbiter.__file__).parent.parent
BOTS = REPOSITORY / "tests" / "bots"
SAMPLES = REPOSITORY / "sample_bots"
COMMAND = (sys.executable, "-m", "arbiter")
SEED = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"


def tournament_file(
    folder: Path,
    bots: Sequence[Path],
    *,
    boards: int = 2,
    name: str = "cup",
    clock: str = "",
    kind: str = "round-robin",
) -> Path:
    """A tournament of these bots, each under the name bot1, bot2, ..."""
    lines = [
        f'name = "{name}"',
        f'format = "{kind}"',
        "workers = 2",
        f'deal_seed = "{SEED}"',
        "[match]",
        f"boards = {boards}",
        "[clock]",
        clock,
    ]
    for number, bot in enumerate(bots, 1):
        lines += ["[[entrants]]", f'bot = "{bot}"', f'name = "bot{number}"']
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines))
    return path


def environment(temporary: Path) -> dict[str, str]:
    """The environment of a run: nothing that a user has set for this program."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ARBITER_", "GITHUB_"))}
    return {**clean, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary), "COLUMNS": "200"}


@dataclass(frozen=True)
class Place:
    """A data folder and a folder for temporary files, with short paths."""

    data: Path
    temporary: Path

    def run(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """The command's outcome, with variables added to its environment."""
        with self.start(*arguments, **variables) as process:
            output, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def start(self, *arguments: str | Path, **variables: str) -> subprocess.Popen[str]:
        """The command as a process, in a session of its own."""
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments), "--data-dir", str(self.data)],
            env=environment(self.temporary) | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[int]:
        """Every living process that a run here started, whoever is its parent now."""
        return [pid for pid in _living() if pid != os.getpid() and self._owns(pid)]

    def described(self) -> str:
        """Those processes with their states and commands."""
        return "; ".join(
            f"{pid} {_state(pid)} {_read(pid, 'cmdline').replace(bytes(1), b' ')!r}" for pid in self.processes()
        )

    def workers(self) -> list[int]:
        """The worker processes."""
        return [pid for pid in self.processes() if is_worker(pid)]

    def arguments(self) -> bytes:
        """The arguments of all those processes."""
        return b"\n".join(_read(pid, "cmdline") for pid in self.processes())

    def run_folders(self) -> list[Path]:
        """What runs have left among the temporary files."""
        return list(self.temporary.glob("hearts-arbiter-*"))

    def _owns(self, pid: int) -> bool:
        mark = os.fsencode(self.temporary)
        return any(mark in _read(pid, name) for name in ("environ", "cmdline", "mountinfo"))


@contextmanager
def new_place() -> Iterator[Place]:
    """A place that no process is left in."""
    with tempfile.TemporaryDirectory(prefix="e2e-", dir="/tmp") as name:
        folder = Path(name)
        for part in ("data", "run"):
            (folder / part).mkdir()
        place = Place(folder / "data", folder / "run")
        try:
            yield place
            until(lambda: not place.processes(), "every process of the run ends")
        finally:
            for pid in place.processes():
                _send(pid, signal.SIGKILL)


def is_worker(pid: int) -> bool:
    """Whether a process is a worker."""
    return b"\0-m\0workers\0" in _read(pid, "cmdline")


def bots_of(worker: int) -> list[int]:
    """The processes below a worker: cages and the bots in them."""
    parents = {pid: _parent(pid) for pid in _living()}
    found = [worker]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


@contextmanager
def held_worker(place: Place, run: subprocess.Popen[str] | None = None) -> Iterator[int]:
    """Wait until a worker, of a run, plays a sitting, its four bots started; yields its process id.

    It is stopped for as long as this lasts, so that neither the sitting can come to its end nor what it is part of.
    """
    held: list[int] = []

    def plays(worker: int) -> bool:
        return len(bots_of(worker)) >= 12  # a cage is three processes: bubblewrap outside and inside, and the bot

    def one_is_held() -> bool:
        if run is not None:
            assert run.poll() is None, f"the run has ended before: {run.communicate()}"
        for worker in place.workers():
            if plays(worker):
                _stop(worker)
                if plays(worker):  # still, and from now on
                    held.append(worker)
                    return True
                _send(worker, signal.SIGCONT)
        return False

    until(one_is_held, "a worker plays")
    try:
        yield held[0]
    finally:
        _send(held[0], signal.SIGCONT)


def interrupt(
    place: Place, run: subprocess.Popen[str], number: signal.Signals, before: Callable[[], None] = lambda: None
) -> None:
    """Send a run a signal that ends it, in the middle of a sitting that is not played on before the run has asked its
    worker to end; ``before`` is called in the middle of the sitting as well."""
    with held_worker(place, run) as worker:
        before()
        run.send_signal(number)
        until(lambda: run.poll() is not None or _is_asked_to_end(worker), "the run ends")


def until(condition: Callable[[], bool], what: str, why: Callable[[], str] = lambda: "") -> None:
    """Look again and again until something has come true; else say what did not, and why."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"what must happen did not: {what} {why()}"
        time.sleep(0.02)


def standings(output: str) -> dict[str, Any]:
    """What a run with `--json` printed in the end, as `tournament standings --json` does.

    Without the id, and without the ratings, which count the other tournaments in the data folder too.
    """
    found: dict[str, Any] = json.loads(output)
    del found["tournament"]
    for row in found["standings"]:
        for key in [key for key in row if key.startswith("rating")]:
            del row[key]
    return found


def resume_arguments(errors: str, how: str = "tournament resume") -> list[str]:
    """The arguments of the command that an interrupted run printed, without the data folder."""
    (line,) = (line for line in errors.splitlines() if f" {how} " in line)
    words = shlex.split(line)[1:]
    at = words.index("--data-dir")
    return words[:at] + words[at + 2 :]


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _stop(pid: int) -> None:
    _send(pid, signal.SIGSTOP)
    until(lambda: _state(pid) in "TZX", "it stops")


def _is_asked_to_end(pid: int) -> bool:
    """Whether a stopped process will find a SIGTERM when it goes on, or is dead."""
    pending = [line.split()[1] for line in _read(pid, "status").splitlines() if line.startswith(b"ShdPnd:")]
    return _state(pid) in "ZX" or any(int(mask, 16) >> signal.SIGTERM - 1 & 1 for mask in pending)


def _living() -> list[int]:
    """Ids of all processes that are not dead."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and _state(int(name)) not in "ZX":
            found.append(int(name))
    return found


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/PID/stat` from the state on; empty when it is gone."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0] if fields else "X"


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _read(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except OSError:  # gone meanwhile, or another user's
        return b""
