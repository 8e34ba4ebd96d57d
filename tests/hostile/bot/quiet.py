"""Attempts to see or reach what is not a bot's, or to gain rights; each is over at once, and none takes much.

Should one succeed it does no harm: what is written is what was read there, opened files are closed untouched, system
calls get arguments that mean nothing, and signals go to the test's own decoy alone.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

LIBRARY = ctypes.PyDLL(None, use_errno=True)  # one that keeps the interpreter's lock, so that a forked child has it
CLONE_NEWUSER = 0x10000000
TIOCSTI = 0x5412

Facts = dict[str, Any]


class Killed(Exception):
    """A child was killed by this signal."""


def attempts(facts: Facts) -> dict[str, Any]:
    """What came of each attempt: "done", or why not."""
    found: dict[str, Any] = {name: attempt(action) for name, action in actions(facts).items()}
    found["calls"] = {name: attempt(partial(call, number)) for name, number in facts["calls"].items()}
    found["descriptors"] = sorted(
        os.readlink(f"/proc/self/fd/{name}").split(":")[0] for name in os.listdir("/proc/self/fd") if int(name) < 3
    )
    found["environment"] = sorted(os.environ)
    found["processes"] = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    found["own"] = os.getpid()
    return found


def attempt(action: Callable[[], object]) -> str:
    try:
        action()
    except Killed as error:
        return signal.Signals(error.args[0]).name
    except socket.gaierror:
        return "no address"
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    except ValueError:  # how Python names a refused setrlimit
        return "EPERM"
    return "done"


def check(value: int) -> None:
    if value == -1:
        raise OSError(ctypes.get_errno(), "refused")


def call(number: int, *arguments: int) -> None:
    """A system call by its number; without arguments, with such as mean nothing to any."""
    words = arguments or (-1,) * 6
    check(LIBRARY.syscall(ctypes.c_long(number), *map(ctypes.c_long, words)))


def read(path: str) -> None:
    with open(path, "rb") as source:
        source.read(1)


def open_to_write(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY))


def write_back(path: str) -> None:
    value = Path(path).read_bytes()
    Path(path).write_bytes(value)


def connect(family: socket.AddressFamily, kind: socket.SocketKind, address: Any) -> None:
    with socket.socket(family, kind) as connection:
        connection.settimeout(2.0)
        connection.connect(address)
        connection.send(b"x")


def look_up() -> None:
    socket.getaddrinfo("example.invalid", 80)


def only_socket(family: int, kind: int = socket.SOCK_RAW) -> Callable[[], None]:
    return lambda: socket.socket(family, kind).close()


def feign_input() -> None:
    """Into a terminal of its own."""
    own, terminal = pty.openpty()
    try:
        fcntl.ioctl(terminal, TIOCSTI, b"x")
    finally:
        os.close(own)
        os.close(terminal)


def clone_into_user_namespace(number: int) -> None:
    child = LIBRARY.syscall(ctypes.c_long(number), ctypes.c_long(CLONE_NEWUSER | signal.SIGCHLD), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    check(child)
    os.waitpid(child, 0)


def join_namespace(kind: str) -> None:
    descriptor = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
    try:
        check(LIBRARY.setns(descriptor, 0))
    finally:
        os.close(descriptor)


def run_as_root(*command: str) -> None:
    outcome = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if outcome.returncode != 0 or outcome.stdout.strip() != b"0":
        raise PermissionError(errno.EPERM, "refused")


def make_device() -> None:
    path = "/tmp/device"
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))  # another /dev/null
    os.unlink(path)


def raise_limit(name: str) -> None:
    kind = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (hard + 1, hard + 1))
    resource.setrlimit(kind, (hard, hard))


def enter_by_32_bits() -> None:
    """Enter the kernel as a 32-bit program does, for getpid."""
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    ctypes.PYFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()


def enter_by_x32() -> None:
    """Enter the kernel as a program of the x32 kind does, for getpid."""
    call(0x40000000 | 39)


def apart(name: str) -> Callable[[], None]:
    """Do one of the two in a process of its own, because it may be killed for it."""

    def action() -> None:
        status = subprocess.run([sys.executable, __file__, name], capture_output=True, check=False).returncode
        if status < 0:
            raise Killed(-status)

    return action


def actions(facts: Facts) -> dict[str, Callable[[], object]]:
    """Attempts by name."""
    decoy, arbiter, calls = facts["decoy"], facts["arbiter"], facts["calls"]
    stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
    return {
        "read /etc/passwd": lambda: read("/etc/passwd"),
        "read /etc/shadow": lambda: read("/etc/shadow"),
        "read the home": lambda: os.listdir(facts["home"]),
        "read another bot's files": lambda: read(facts["other_folder"] + "/bot.py"),
        "read another bot's environment": lambda: read(f"/proc/{facts['decoy']}/environ"),
        "read the database": lambda: read(facts["database"]),
        "read another process's memory": lambda: read(f"/proc/{decoy}/mem"),
        "read the arbiter's memory": lambda: read(f"/proc/{arbiter}/mem"),
        "list the arbiter's descriptors": lambda: os.listdir(f"/proc/{arbiter}/fd"),
        "read the memory of process 1": lambda: read("/proc/1/mem"),
        "read the kernel's memory": lambda: read("/proc/kcore"),
        "read the kernel's log": lambda: read("/dev/kmsg"),
        "read /dev/mem": lambda: read("/dev/mem"),
        "list /sys": lambda: os.listdir("/sys"),
        "dial another seat's socket": lambda: connect(socket.AF_UNIX, stream, facts["other_socket"]),
        "dial an abstract socket": lambda: connect(socket.AF_UNIX, stream, "\0" + facts["abstract"]),
        "dial TCP": lambda: connect(socket.AF_INET, stream, ("127.0.0.1", facts["tcp"])),
        "send UDP": lambda: connect(socket.AF_INET, datagram, ("127.0.0.1", facts["udp"])),
        "dial TCP by IPv6": lambda: connect(socket.AF_INET6, stream, ("::1", facts["tcp"])),
        "ask DNS": look_up,
        "open netlink": only_socket(socket.AF_NETLINK),
        "open packets": only_socket(socket.AF_PACKET),
        "open the host's virtual socket": only_socket(40, stream),
        "open the kernel's ciphers": only_socket(38, socket.SOCK_SEQPACKET),
        "write /proc/sys": lambda: write_back("/proc/sys/kernel/core_pattern"),
        "write the host's name": lambda: write_back("/proc/sys/kernel/hostname"),
        "open sysrq": lambda: open_to_write("/proc/sysrq-trigger"),
        "write /sys": lambda: open_to_write("/sys/kernel/uevent_helper"),
        "write /dev": lambda: Path("/dev/new").touch(),
        "write its own program": lambda: write_back("/bot/bot.py"),
        "write the system": lambda: Path("/usr/new").touch(),
        "spare itself from the memory's end": lambda: Path("/proc/self/oom_score_adj").write_text("-1"),
        "make a device": make_device,
        "become root": lambda: os.setuid(0),
        "become root's group": lambda: os.setgid(0),
        "take other groups": lambda: os.setgroups([0]),
        "run su": lambda: run_as_root("su", "-c", "id -u"),
        "run setpriv": lambda: run_as_root("setpriv", "--reuid", "0", "id", "-u"),
        "trace the decoy": lambda: check(LIBRARY.ptrace(16, decoy, 0, 0)),
        "signal the decoy": lambda: os.kill(decoy, signal.SIGUSR1),
        "signal the decoy's group": lambda: os.killpg(decoy, signal.SIGUSR1),
        "signal everyone": lambda: os.kill(-1, 0),  # which asks whether there is anyone
        "slow the decoy down": lambda: os.setpriority(os.PRIO_PROCESS, decoy, os.getpriority(os.PRIO_PROCESS, decoy)),
        "move the decoy to other processors": lambda: os.sched_setaffinity(decoy, os.sched_getaffinity(decoy)),
        "take the decoy's limits": lambda: resource.prlimit(
            decoy, resource.RLIMIT_NOFILE, resource.prlimit(decoy, resource.RLIMIT_NOFILE)
        ),
        "hold the decoy": lambda: os.close(os.pidfd_open(decoy)),
        "mount": lambda: check(LIBRARY.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
        "unmount": lambda: check(LIBRARY.umount(b"/tmp")),
        "unshare a user namespace": lambda: check(LIBRARY.unshare(CLONE_NEWUSER)),
        "clone into a user namespace": lambda: clone_into_user_namespace(facts["clone"]),
        "join the user namespace of process 1": lambda: join_namespace("user"),
        "query the personality": lambda: call(calls["personality"], 0xFFFFFFFF),
        "feign input": feign_input,
        "enter as a 32-bit program": apart("enter_by_32_bits"),
        "enter by x32": apart("enter_by_x32"),
        "raise its processes": lambda: raise_limit("NPROC"),
        "raise its open files": lambda: raise_limit("NOFILE"),
        "raise its memory": lambda: raise_limit("AS"),
        "raise its priority": lambda: os.nice(-1),
        "run in real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    }


def bare(names: list[str], facts: Facts) -> dict[str, str]:
    """What comes of some of them."""
    known = actions(facts)
    return {name: attempt(known[name]) for name in names}


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        print(json.dumps(bare(*json.loads(sys.stdin.read()))))
    else:
        globals()[sys.argv[1]]()
