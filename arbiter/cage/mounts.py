"""Which parts of the host a caged bot sees, as arguments of bubblewrap."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from arbiter.cage.command import PACKAGE_FOLDER, SDK_PARTS
from arbiter.cage.errors import CageError
from arbiter.cage.limits import Limits
from arbiter.cage.runtimes import interpreter

BOT_FOLDER = PurePosixPath("/bot")
SOCKET = PurePosixPath("/run/arbiter.sock")
HOME = PurePosixPath("/tmp")
SDK_FOLDER = PurePosixPath("/opt/sdk")
SHARED_MEMORY = PurePosixPath("/dev/shm")

_TOP_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# What the dynamic linker, Debian's alternatives, local time and a Java runtime read; nothing of it is secret.
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "java-*-openjdk")


@dataclass(frozen=True)
class Bind:
    """A file or folder of the host (`source`, resolved) and its read-only place in the cage."""

    source: Path
    target: PurePosixPath


@dataclass(frozen=True)
class View:
    """Everything that all bots of one service see: binds, links (target of the link, place), and what is masked."""

    binds: tuple[Bind, ...]
    links: tuple[tuple[str, PurePosixPath], ...]
    hidden: tuple[Path, ...]

    def arguments(self, limits: Limits, folder: Path | None = None, socket: Path | None = None) -> list[str]:
        """Arguments of bubblewrap for the whole file system, with a bot's folder and its socket when given.

        Its `limits` bound what can be written. Bubblewrap can't bound how many files that may be.

        Raises:
            CageError: something hidden would be visible and can't be masked.
        """
        binds = self.binds if folder is None else (*self.binds, Bind(folder.resolve(), BOT_FOLDER))
        arguments = ["--proc", "/proc", "--dev", "/dev"]
        for place, size in ((HOME, limits.tmp), (SHARED_MEMORY, limits.shm)):
            arguments += ["--perms", "1777", "--size", str(size), "--tmpfs", str(place)]
        places = [*(bind.target for bind in binds), *(place for _, place in self.links), SOCKET]
        for parent in _parents(places):
            arguments += ["--dir", str(parent)]
        for bind in binds:
            arguments += ["--ro-bind", str(bind.source), str(bind.target)]
        for destination, place in self.links:
            arguments += ["--symlink", destination, str(place)]
        for path in self.hidden:
            arguments += _mask(path, binds)
        if socket is not None:
            arguments += ["--ro-bind", str(socket), str(SOCKET)]
        # Process 1 is an ordinary user's own where the service is: by its memory a bot could outlive the service.
        arguments += ["--perms", "0000", "--size", "4096", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1"]
        return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]


def service_view(hidden: Iterable[Path]) -> View:
    """What bots see of this machine and this service: the system's programs, the interpreter, the SDK.

    `hidden` are files and folders that must not be visible though they may lie below something that is, such as the
    service's data folder.

    Raises:
        CageError: the interpreter's prefix is so wide that it would expose a home.
    """
    binds, links = _system()
    interpreter_binds, interpreter_links = _interpreter(binds)
    binds += interpreter_binds
    links += interpreter_links
    binds += [
        Bind(PACKAGE_FOLDER / part, SDK_FOLDER / "arbiter" / part)
        for part in SDK_PARTS
        if (PACKAGE_FOLDER / part).exists()
    ]
    # pip reads settings, which can hold an index's password, from the root of an environment
    settings = [Path(prefix, "pip.conf") for prefix in (sys.prefix, sys.base_prefix)]
    secret = [*(path for path in settings if path.exists()), *hidden]
    return View(tuple(binds), tuple(links), tuple(dict.fromkeys(path.resolve() for path in secret)))


def _system() -> tuple[list[Bind], list[tuple[str, PurePosixPath]]]:
    binds = [Bind(Path("/usr").resolve(), PurePosixPath("/usr"))]
    links: list[tuple[str, PurePosixPath]] = []
    for name in _TOP_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            links.append((os.readlink(path), PurePosixPath(path)))
        elif path.is_dir():
            binds.append(Bind(path.resolve(), PurePosixPath(path)))
    for pattern in _ETC:
        binds += [Bind(path.resolve(), PurePosixPath(path)) for path in sorted(Path("/etc").glob(pattern))]
    return binds, links


def _interpreter(system: Sequence[Bind]) -> tuple[list[Bind], list[tuple[str, PurePosixPath]]]:
    """The installation and the environment of the running interpreter, at the paths by which it knows them."""
    prefixes = [Path(sys.base_prefix), Path(sys.base_prefix).resolve(), Path(sys.prefix), Path(sys.prefix).resolve()]
    binds: list[Bind] = []
    for prefix in dict.fromkeys(prefixes):
        if _covered(prefix, system) or _covered(prefix, binds):
            continue
        if Path.home().resolve().is_relative_to(prefix.resolve()):
            raise CageError(
                f"Python's prefix {prefix} holds the home {Path.home()}, which a bot would see; "
                "install the service in an environment of its own (python -m venv)"
            )
        binds.append(Bind(prefix.resolve(), PurePosixPath(prefix)))
    # The links from the interpreter's path to its file: each may lie in a folder that is not, and must not be, bound.
    links: list[tuple[str, PurePosixPath]] = []
    hop = interpreter()
    while not (_covered(hop, system) or _covered(hop, binds)) or hop.is_symlink():
        if not hop.is_symlink():
            binds.append(Bind(hop.resolve(), PurePosixPath(hop)))
            break
        if not (_covered(hop, system) or _covered(hop, binds)):
            links.append((os.readlink(hop), PurePosixPath(hop)))
        hop = Path(os.path.normpath(hop.parent.resolve() / os.readlink(hop)))
    return binds, links


def _parents(places: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """All folders above, outermost first: bubblewrap 0.8 itself makes them with mode 0700, closed to another user."""
    parents = {parent for place in places for parent in place.parents if parent != PurePosixPath("/")}
    return sorted(parents, key=lambda parent: len(parent.parts))


def _covered(path: Path, binds: Iterable[Bind]) -> bool:
    return any(path.is_relative_to(bind.target) for bind in binds)


def _mask(hidden: Path, binds: Iterable[Bind]) -> list[str]:
    arguments: list[str] = []
    for bind in binds:
        if hidden == bind.source or (bind.target == BOT_FOLDER and hidden.is_relative_to(bind.source)):
            raise CageError(f"{bind.source}: a bot would see the hidden {hidden}; keep the two apart")
        if not hidden.is_relative_to(bind.source):
            continue
        target = str(bind.target / hidden.relative_to(bind.source))
        if hidden.is_dir():
            arguments += ["--perms", "0000", "--size", "4096", "--tmpfs", target, "--remount-ro", target]
        elif hidden.exists():
            arguments += ["--ro-bind", "/dev/null", target]
        else:
            raise CageError(
                f"{hidden}: to be hidden from bots, but it does not exist, and {bind.source} above it is visible to "
                "them; create it first"
            )
    return arguments
