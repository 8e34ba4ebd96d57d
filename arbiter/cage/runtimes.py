"""The table of runtimes: how a bot is started, and built where it needs it.

``arbiter/cage/runtimes.toml`` is what is shipped; ``ARBITER_RUNTIMES`` names a file of the host's that stands in its
place. One section for each runtime, with these keys, all optional::

    about      one line for listings
    word       what the first word of a bot's ``run`` must be; without it that is a file of the bot's folder
    program    what is started in place of that word; "{python}" is the arbiter's own interpreter
    probe      arguments with which the program succeeds on a machine that can be used
    build      a command, in which "{python}" may stand too, that is run in a copy of the bot's folder before the bot is
               first started
    tools      programs that the build needs
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arbiter.cage.errors import CageError
from arbiter.errors import InfrastructureError, UsageError

SHIPPED_FILE: Final = Path(__file__).with_name("runtimes.toml")
PYTHON: Final = "{python}"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PROBE_SECONDS: Final = 30.0
_TEXTS: Final = ("about", "word")
_LISTS: Final = ("program", "probe", "build", "tools")


class RuntimesError(UsageError):
    """The host's table of runtimes is not as it should be, or holds no runtime of a name."""


class RuntimeMissing(InfrastructureError):
    """This machine lacks what a runtime needs; no bot is to blame."""


def interpreter() -> Path:
    """The Python interpreter of the running service, at the path by which it was called (in a venv: the venv's)."""
    if not sys.executable:
        raise CageError("Python does not know the path of its own interpreter; start the service with a full path")
    return Path(os.path.abspath(sys.executable))


def search_path() -> str:
    """A bot's ``PATH``: the interpreter's folder, then the system's."""
    return f"{interpreter().parent}:/usr/local/bin:/usr/bin:/bin"


REMOTE: Final = "remote"
"""Kept for bots that stay with their authors; see docs/decisions/remote-bots.md."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """One way to start bots; the fields are the keys above."""

    name: str
    about: str = ""
    word: str = ""
    program: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    @property
    def start(self) -> list[str]:
        """The program with the interpreter's path in it; empty where a file of the bot's folder is started."""
        return _with_interpreter(self.program)

    @property
    def build_command(self) -> list[str]:
        """The build with the interpreter's path in it; empty where nothing is built."""
        return _with_interpreter(self.build)

    @property
    def own_python(self) -> bool:
        """Bots are started with the arbiter's own interpreter."""
        return self.program[:1] == (PYTHON,)

    @property
    def special(self) -> bool:
        """Not every machine can be expected to start its bots."""
        return bool(self.program) and (not self.own_python or bool(self.probe))

    def require(self) -> None:
        """See that this machine has what it needs. Runs its probe, uncaged: the table is the host's own.

        Raises:
            RuntimeMissing: it lacks something; one line says what.
        """
        start = self.start
        for program in (*start[:1], *self.build_command[:1], *self.tools):
            if shutil.which(program, path=search_path()) is None:
                raise RuntimeMissing(
                    f"the runtime {self.name!r} can't be used on this machine: {program} was not found; install it, or "
                    "take the runtime out of the table that ARBITER_RUNTIMES names"
                )
        if not (start and self.probe):
            return
        environment = {"PATH": search_path(), "LANG": "C.UTF-8"}
        try:
            done = subprocess.run(
                [*start, *self.probe],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeMissing(f"the runtime {self.name!r} can't be used on this machine: {error}") from error
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines() or ["no message"]
            command = " ".join([start[0], *self.probe])
            raise RuntimeMissing(
                f"the runtime {self.name!r} can't be used on this machine: {command} ended with exit "
                f"status {done.returncode}: {said[-1]}"
            )


def _with_interpreter(words: tuple[str, ...]) -> list[str]:
    return [str(interpreter()) if word == PYTHON else word for word in words]


class Runtimes(Mapping[str, Runtime]):
    """A table of runtimes by name.

    Args:
        runtimes: by name.
        source: where they come from, for messages.
    """

    def __init__(self, runtimes: Mapping[str, Runtime], source: str) -> None:
        self._runtimes: Final = dict(runtimes)
        self._source: Final = source

    @classmethod
    def from_file(cls, file: Path) -> Runtimes:
        """Read a table.

        Raises:
            RuntimesError: it can't be read, or a key is unknown or wrong; names the file and the key.
        """
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise RuntimesError(f"{file}: can't be read ({error}); it must be a UTF-8 text file") from error
        except tomllib.TOMLDecodeError as error:
            raise RuntimesError(f"{file}: not valid TOML ({error}); see https://toml.io for the syntax") from error
        if not document:
            raise RuntimesError(f"{file}: holds no runtime; start from a copy of {SHIPPED_FILE}")
        return cls({name: _parse(name, section, file) for name, section in document.items()}, str(file))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Runtimes:
        """The table that ``ARBITER_RUNTIMES`` names, else the shipped one.

        Raises:
            RuntimesError: see `from_file`.
        """
        file = environment.get("ARBITER_RUNTIMES")
        return cls.from_file(Path(file) if file else SHIPPED_FILE)

    def named(self, name: str) -> Runtime:
        """A runtime.

        Raises:
            RuntimesError: there is none of this name; says which there are.
        """
        if name == REMOTE:
            raise RuntimesError(
                f"runtime {REMOTE!r}: bots that stay with their authors and dial in are not taken yet; name one that"
                f" starts the bot here: {', '.join(self._runtimes)}"
            )
        if name not in self._runtimes:
            close = difflib.get_close_matches(name, self._runtimes, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            known = ", ".join(f'"{known}"' for known in self._runtimes)
            raise RuntimesError(f"runtime {name!r} is unknown; use one of {known}{hint}")
        return self._runtimes[name]

    def __getitem__(self, name: str) -> Runtime:
        return self._runtimes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runtimes)

    def __len__(self) -> int:
        return len(self._runtimes)

    def __repr__(self) -> str:
        return f"Runtimes({', '.join(self._runtimes)}; from {self._source})"


def _parse(name: str, section: object, file: Path) -> Runtime:
    if not _NAME.fullmatch(name):
        raise RuntimesError(f"{file}: the name {name!r} is not allowed; use 1 to 40 characters a-z, 0-9, - and _")
    if name == REMOTE:
        raise RuntimesError(f"{file}: the name {REMOTE!r} is kept for bots that dial in; choose another")
    if not isinstance(section, dict):
        raise RuntimesError(f"{file}: {name} must be a section, written [{name}]")
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in section.items():
        if key in _TEXTS:
            if not isinstance(value, str) or not value:
                raise RuntimesError(f"{file}: {name}.{key} must be a non-empty text, not {value!r}")
            texts[key] = value
        elif key in _LISTS:
            if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
                raise RuntimesError(f"{file}: {name}.{key} must be a list of non-empty texts, not {value!r}")
            lists[key] = tuple(value)
        else:
            raise RuntimesError(f"{file}: unknown key {key!r} in [{name}]; known: {', '.join((*_TEXTS, *_LISTS))}")
    if ("word" in texts) != ("program" in lists):
        raise RuntimesError(
            f"{file}: [{name}] needs word and program together: the one is started in place of the other"
        )
    if "probe" in lists and "program" not in lists:
        raise RuntimesError(f"{file}: [{name}] has a probe, but no program to give it to")
    return Runtime(
        name=name,
        about=texts.get("about", ""),
        word=texts.get("word", ""),
        program=lists.get("program", ()),
        probe=lists.get("probe", ()),
        build=lists.get("build", ()),
        tools=lists.get("tools", ()),
    )
