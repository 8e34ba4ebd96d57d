"""What the cage's tests share: small bots, sockets for them, and a look at the processes of the host."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.patience import PATIENCE


@contextmanager
def open_folder() -> Iterator[Path]:
    """A new folder that every user can enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="cage-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def make_bot(folder: Path, code: str, *, name: str = "tiny") -> Path:
    """Write a Python bot into `folder`, open to every user."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    manifest = f'[bot]\nname = "{name}"\nruntime = "python"\nrun = ["python", "bot.py"]\n'
    for file, text in (("bot.toml", manifest), ("bot.py", textwrap.dedent(code))):
        (folder / file).write_text(text)
        (folder / file).chmod(0o644)
    return folder


@contextmanager
def echo_socket(path: Path) -> Iterator[Path]:
    """A unix socket, open to every user, that sends back whatever comes."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0o666)
        thread = threading.Thread(target=_echo, args=(server,))
        thread.start()
        try:
            yield path
        finally:
            server.shutdown(socket.SHUT_RDWR)  # ends the waiting accept
            thread.join()


def _echo(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, suppress(ConnectionError):  # a bot that is killed may leave unread what came back
            while data := connection.recv(4096):
                connection.sendall(data)


async def until(condition: Callable[[], bool]) -> None:
    """Look again and again until something has come true; fail when it does not within the deadline."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "what was waited for did not happen"
        await asyncio.sleep(0.01)


def status(pid: int) -> dict[str, str]:
    """`/proc/PID/status` as the host sees it; empty when the process is gone."""
    try:
        lines = Path("/proc", str(pid), "status").read_text().splitlines()
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def children(pid: int) -> list[int]:
    """The living children of a process."""
    every = {int(name): status(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    return [child for child, facts in every.items() if facts.get("PPid") == str(pid)]


def alive(pid: int) -> bool:
    """Whether a process is there and not dead."""
    return status(pid).get("State", "Z")[0] not in "ZX"


def bot_pid(outer: int) -> int:
    """Host id of the bot's own process in a bubblewrap cage, given the outermost process."""
    (first,) = children(outer)
    # By the number in its namespace, where the bot is older than what it starts; on the host numbers begin anew.
    return min(children(first), key=lambda pid: int(status(pid)["NSpid"].split()[-1]))


@contextmanager
def namespace(pid: int) -> Iterator[str]:
    """The PID namespace of a process, held: the number of one that is gone is given to another test's at once."""
    descriptor = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
    try:
        yield os.readlink(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def alive_in(wanted: str) -> list[int]:
    """All processes of a PID namespace that are not dead; of one that is held, see `namespace`."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == wanted and alive(int(name)):
                    found.append(int(name))
    return found
