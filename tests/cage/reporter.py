"""A bot that looks around in its cage and prints what it found as one line of JSON."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

LIMITS = ("NPROC", "NOFILE", "CORE", "FSIZE", "AS")
PLACES = ("/bot", "/", "/dev", "/etc", "/run", "/usr", "/opt/sdk", "/opt/sdk/arbiter", sys.prefix, "/tmp", "/dev/shm")


def attempt(action: Callable[[], object]) -> str:
    """ "done", or the name of the error."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno] if error.errno else type(error).__name__
    return "done"


def echo(address: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address.removeprefix("unix:"))
        connection.sendall(b"hello")
        return connection.recv(100).decode()


def connect(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=5):
        pass


def write_same_back(path: str) -> None:
    value = Path(path).read_bytes()
    Path(path).write_bytes(value)


def fill(folder: str, size: int) -> None:
    path = Path(folder, "big")
    try:
        with path.open("wb") as sink:
            for _ in range(size >> 20):
                sink.write(bytes(1 << 20))
    finally:
        path.unlink()


def new_user_namespace() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def visible(wanted: list[str]) -> list[str]:
    return [path for path in wanted if os.access(path, os.F_OK)]


def main() -> None:
    asked = json.loads(Path("asked.json").read_text())
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    found = {
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "files": sorted(os.listdir(".")),
        "top": sorted(os.listdir("/")),
        "etc": sorted(os.listdir("/etc")),
        "run": sorted(os.listdir("/run")),
        "sdk": sorted(os.listdir("/opt/sdk/arbiter")),
        "uid": os.getuid(),
        "status": {
            key: status[key] for key in ("CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Groups", "Seccomp")
        },
        "descriptors": [number for number in range(1024) if is_open(number)],
        "stdin": os.read(0, 1).decode(),
        "write": {place: attempt(Path(place, "new").touch) for place in PLACES},
        "change": attempt(lambda: Path("/bot/bot.py").write_text("")),
        "proc_sys": attempt(lambda: write_same_back("/proc/sys/kernel/core_pattern")),
        "tcp": attempt(lambda: connect("127.0.0.1", asked["port"])),
        "interfaces": [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]],
        "groups": Path("/proc/self/cgroup").read_text().splitlines(),
        "abstract": attempt(lambda: echo("\0" + asked["abstract"])),
        "echo": echo(os.environ["ARBITER_ADDRESS"]),
        "visible": visible(asked["paths"]),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in LIMITS},
        "fill": {folder: attempt(partial(fill, folder, 100 << 20)) for folder in ("/tmp", "/dev/shm")},
        "fits": attempt(lambda: fill("/tmp", 60 << 20)),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "pid": os.getpid(),
        "hostname": socket.gethostname(),
        "user_namespace": attempt(new_user_namespace),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
