"""Run directories: private, short, removed, and swept when their owner was killed; locks that name their holder."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arbiter.errors import InfrastructureError, UsageError
from arbiter.supervisor.rundir import (
    FOLDER_PATH_LIMIT,
    SOCKET_PATH_LIMIT,
    RunDirectory,
    check_socket_path,
    is_locked,
    lock_file,
)
from tests.supervisor.support import REPOSITORY, owner

HOLD_LOCK = """
import sys
from pathlib import Path
from arbiter.supervisor.rundir import lock_file
with lock_file(Path(sys.argv[1]), "the test"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def below() -> Iterator[Path]:
    """A folder with a short path; pytest's own have long ones."""
    with tempfile.TemporaryDirectory(prefix="sv-", dir="/tmp") as name:
        yield Path(name)


def test_a_folder_is_private_and_ends_with_its_run(below: Path) -> None:
    with RunDirectory(below) as folder:
        assert folder.parent == below
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a").mkdir()
        (folder / "a" / "file").touch()
    assert list(below.iterdir()) == []


def test_a_folder_is_removed_after_an_error(below: Path) -> None:
    with pytest.raises(KeyError), RunDirectory(below):
        raise KeyError
    assert list(below.iterdir()) == []


def test_by_default_it_is_in_the_folder_for_temporary_files(below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(below))
    with RunDirectory() as folder:
        assert folder.parent == below


def test_two_runs_have_two_folders_and_leave_each_other_alone(below: Path) -> None:
    with RunDirectory(below) as one:
        with RunDirectory(below) as two:
            assert one != two
            assert one.is_dir()
        assert one.is_dir()


def test_what_a_killed_run_left_is_removed_and_what_runs_is_kept(below: Path) -> None:
    with owner("service", below) as killed, owner("service", below) as living:
        left, kept = read_line(killed), read_line(living)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(left / "redis.sock"))
            connection.sendall(b"PING\r\n")
            assert connection.recv(7) == b"+PONG\r\n"
            killed.kill()
            assert connection.recv(1) == b""  # the Redis has ended with its owner
        killed.wait()
        assert left.is_dir()
        with RunDirectory(below) as own:
            assert sorted(below.iterdir()) == sorted([own, kept])


def read_line(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().rstrip())


def test_a_new_folder_that_has_no_lock_yet_may_be_swept_and_is_made_anew(
    below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp  # the moment after it is the one in question
    made: list[Path] = []

    def make_and_let_another_run_begin(**options: Any) -> str:
        made.append(Path(make(**options)))
        if len(made) == 1:
            with RunDirectory(below):
                pass
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_let_another_run_begin)
    run = RunDirectory(below)
    with run as folder:
        assert folder.is_dir()
        assert folder == made[-1]
        assert len(made) == 3
        assert not made[0].exists()


def test_a_new_folder_whose_lock_is_not_held_yet_may_be_swept_too(below: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock  # the moment before it is the one in question
    calls: list[int] = []

    def lock_after_another_run_began(file: int, operation: int) -> None:
        calls.append(file)
        if len(calls) == 1:
            with RunDirectory(below):
                assert len(list(below.iterdir())) == 1  # the other's own
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", lock_after_another_run_began)
    with RunDirectory(below) as folder:
        assert list(below.iterdir()) == [folder]


def test_files_and_links_of_that_name_are_left_alone(below: Path) -> None:
    target = below / "target"
    target.mkdir()
    (target / "file").touch()
    (below / "hearts-arbiter-link").symlink_to(target)
    (below / "hearts-arbiter-file").touch()
    with RunDirectory(below):
        pass
    assert sorted(path.name for path in below.rglob("*")) == [
        "file",
        "hearts-arbiter-file",
        "hearts-arbiter-link",
        "target",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder to someone else")
def test_folders_of_others_are_left_alone(below: Path) -> None:
    other = below / "hearts-arbiter-other"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with RunDirectory(below):
        pass
    assert other.is_dir()


def test_a_path_without_room_for_sockets_is_refused(below: Path) -> None:
    longest = below / ("x" * (FOLDER_PATH_LIMIT - len(str(below)) - len("//hearts-arbiter-12345678")))
    longest.mkdir()
    with RunDirectory(longest) as folder:
        assert len(str(folder)) == FOLDER_PATH_LIMIT
    longer = below / (longest.name + "x")
    with pytest.raises(UsageError, match="1 bytes beyond what is possible; set TMPDIR"):
        RunDirectory(longer).__enter__()


def test_a_folder_that_cannot_be_made(below: Path) -> None:
    with pytest.raises(InfrastructureError, match=f"{below}/none: no folder can be made there \\(No such file"):
        RunDirectory(below / "none").__enter__()


def test_the_limit_of_socket_paths_is_the_system_s(below: Path) -> None:
    longest = below / ("é" + "x" * (SOCKET_PATH_LIMIT - len(str(below)) - 3))
    check_socket_path(longest)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(longest))
    longer = longest.with_name(longest.name + "x")
    with pytest.raises(UsageError, match="108 bytes are too many for the path of a unix socket; at most 107 will do"):
        check_socket_path(longer)
    with socket.socket(socket.AF_UNIX) as server, pytest.raises(OSError, match="too long"):
        server.bind(str(longer))


def test_a_lock_excludes_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "db.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(path)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError) as refusal, lock_file(path, "the database x.db"):
            pass
        assert str(refusal.value) == (
            f"the database x.db is in use by process {holder.pid}, which holds {path}; "
            f"wait for its end, or: kill {holder.pid}"
        )
        holder.kill()
        holder.wait()
    with lock_file(path, "the database x.db"):  # a killed holder holds nothing
        assert path.read_text() == f"{os.getpid()}\n"
        with pytest.raises(UsageError, match=f"process {os.getpid()}"), lock_file(path, "the same again"):
            pass
    assert path.read_text() == ""
    with lock_file(path, "the database x.db"):
        pass


def test_a_holder_that_has_not_said_who_it_is(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="in use by another process, which holds"), lock_file(path, "it"):
            pass


@pytest.mark.parametrize("left", ["", "4194305\n"])
def test_who_only_looks_whether_it_is_held_refuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """Also where a holder that was killed, of an id that no process can have, has left its own."""
    path = tmp_path / "lock"
    path.write_text(left)
    with path.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_EX)
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        seconds = itertools.count(step=1000.0)  # on a machine that stands still again and again
        monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
        with lock_file(path, "it"):
            assert path.read_text() == f"{os.getpid()}\n"


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    path = tmp_path / "none" / "lock"
    with (
        pytest.raises(InfrastructureError, match=f"it: can't lock it by way of {path}: No such"),
        lock_file(path, "it"),
    ):
        pass


def test_whether_a_lock_is_held_can_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    with lock_file(path, "the test"):
        assert is_locked(path)
    assert not is_locked(path)
