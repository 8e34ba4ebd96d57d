"""Reads and checks ``bot.toml``, the description that a bot's folder carries."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from arbiter.cage.runtimes import Runtime, Runtimes, RuntimesError
from arbiter.errors import UsageError

MANIFEST_FILE = "bot.toml"
DEFAULT_OPEN_TABLES = 1024
MAX_OPEN_TABLES = 65536

_KEYS = ("name", "runtime", "run", "max_open_tables")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class ManifestError(UsageError):
    """A bot's folder or its ``bot.toml`` is not as it should be; the message names the file and the key."""


@dataclass(frozen=True)
class Manifest:
    """What a bot says of itself.

    Attributes:
        name: lower-case word of at most 40 characters.
        runtime: name of how it is started; see `arbiter.cage.runtimes`.
        run: the command. Its first word is the runtime's (``python``, ``node``), or else a file of the folder.
        max_open_tables: how many tables the bot is willing to play at once, 1 to 65536.
    """

    name: str
    runtime: str
    run: tuple[str, ...]
    max_open_tables: int = DEFAULT_OPEN_TABLES


def load_manifest(folder: Path, runtimes: Runtimes | None = None, built: bool = True) -> Manifest:
    """Read ``bot.toml`` of a bot's folder.

    Args:
        folder: the bot's.
        runtimes: those that it may name; None: as `Runtimes.from_environment` says.
        built: the folder is what is started; before a build, what `run` names need not be there yet.

    Raises:
        ManifestError: the folder or the file is missing, or a key is unknown, missing or wrong.
    """
    file = folder / MANIFEST_FILE
    if not folder.is_dir():
        raise ManifestError(f"{folder}: no such folder; give the folder of a bot, the one that holds {MANIFEST_FILE}")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise ManifestError(
            f"{file}: no such file; a bot's folder needs a {MANIFEST_FILE} with a [bot] section (name, runtime, run)"
        ) from None
    except OSError as error:
        raise ManifestError(f"{file}: can't be read ({error}); it must be a UTF-8 text file") from error
    return parse_manifest(content, str(file), _Folder(folder), runtimes, built)


class BotFiles(Protocol):
    """The files that a manifest may name, in a folder or in an archive of one."""

    @property
    def place(self) -> str:
        """What messages call the folder."""

    def executable(self, path: PurePosixPath) -> bool | None:
        """Whether a file is executable, by its path below the folder; None when there is no such file."""

    def names(self) -> list[str]:
        """The files directly in the folder."""


@dataclass(frozen=True)
class _Folder:
    path: Path

    @property
    def place(self) -> str:
        return str(self.path)

    def executable(self, path: PurePosixPath) -> bool | None:
        file = self.path / path
        return bool(file.stat().st_mode & 0o111) if file.is_file() else None

    def names(self) -> list[str]:
        return [entry.name for entry in self.path.iterdir() if entry.is_file()]


def parse_manifest(
    content: bytes, file: str, files: BotFiles, runtimes: Runtimes | None = None, built: bool = True
) -> Manifest:
    """Read a ``bot.toml`` from memory.

    Args:
        content: the file.
        file: what messages call it.
        files: the bot's other files.
        runtimes: as for `load_manifest`.
        built: as for `load_manifest`.

    Raises:
        ManifestError: a key is unknown, missing or wrong.
    """
    try:
        document = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise ManifestError(f"{file}: can't be read ({error}); it must be a UTF-8 text file") from error
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{file}: not valid TOML ({error}); see https://toml.io for the syntax") from error
    except RecursionError:
        raise ManifestError(f"{file}: nested too deep; it holds one section with a handful of keys") from None
    _refuse_unknown(document, ("bot",), file, "section")
    section = document.get("bot")
    if section is None:
        raise ManifestError(f"{file}: the section [bot] is missing; it holds the keys name, runtime and run")
    if not isinstance(section, dict):
        raise ManifestError(f"{file}: bot must be a section, written [bot], not {_kind(section)}")
    _refuse_unknown(section, _KEYS, file, "key")

    name = _text(section, "name", file, 'a word such as "careful"')
    if not _NAME.fullmatch(name):
        raise ManifestError(
            f"{file}: name {name!r} is not allowed; use 1 to 40 characters a-z, 0-9, - and _, the first one a letter"
        )
    table = Runtimes.from_environment() if runtimes is None else runtimes
    try:
        runtime = table.named(_text(section, "runtime", file, " or ".join(f'"{name}"' for name in table)))
    except RuntimesError as error:
        raise ManifestError(f"{file}: {error}") from None
    run = _command(section, file)
    if runtime.word:
        _check_script(run, runtime, files, file)
    else:
        _check_program(run, runtime, files, file, built)
    tables = section.get("max_open_tables", DEFAULT_OPEN_TABLES)
    if not isinstance(tables, int) or isinstance(tables, bool):
        raise ManifestError(f"{file}: max_open_tables must be a whole number, not {_kind(tables)}")
    if not 1 <= tables <= MAX_OPEN_TABLES:
        raise ManifestError(f"{file}: max_open_tables is {tables}; it must be from 1 to {MAX_OPEN_TABLES}")
    return Manifest(name=name, runtime=runtime.name, run=run, max_open_tables=tables)


def _command(section: Mapping[str, object], file: str) -> tuple[str, ...]:
    example = 'a list of words such as ["python", "bot.py"]'
    value = section.get("run")
    if value is None:
        raise ManifestError(f"{file}: the key run is missing; it must be {example}")
    if not isinstance(value, list) or not value:
        raise ManifestError(f"{file}: run must be {example}, not {'an empty list' if value == [] else _kind(value)}")
    words: list[str] = []
    for position, word in enumerate(value, start=1):
        if not isinstance(word, str) or not word or "\0" in word:
            raise ManifestError(f"{file}: word {position} of run must be a non-empty text, not {word!r}")
        words.append(word)
    return tuple(words)


def _check_script(run: tuple[str, ...], runtime: Runtime, files: BotFiles, file: str) -> None:
    word = runtime.word
    if run[0] != word:
        raise ManifestError(
            f'{file}: run starts with {run[0]!r}; for the runtime "{runtime.name}" the first word is "{word}"'
        )
    if len(run) == 1:
        raise ManifestError(
            f'{file}: run names no program after {word!r}; write the file that it runs, as in ["{word}", "bot.py"]'
        )
    if not run[1].startswith("-"):  # an option such as -m or -u: what it runs shows when it runs
        _executable(run[1], files, file)


def _check_program(run: tuple[str, ...], runtime: Runtime, files: BotFiles, file: str, built: bool) -> None:
    path = _relative(run[0], file)
    if runtime.build and files.executable(path) is None:
        if built:
            raise ManifestError(
                f"{file}: run names {run[0]!r}, which is not a file of {files.place}; the build for the runtime "
                f'"{runtime.name}" has to make it'
            )
        return
    if not _executable(run[0], files, file):
        raise ManifestError(
            f"{file}: run names {run[0]!r}, which is not executable; run: chmod +x {os.path.join(files.place, run[0])}"
        )


def _relative(word: str, file: str) -> PurePosixPath:
    relative = PurePosixPath(word)
    if relative.is_absolute() or ".." in relative.parts:
        raise ManifestError(f"{file}: run names {word!r}; it must be a file of the bot's folder, by its relative path")
    return relative


def _executable(word: str, files: BotFiles, file: str) -> bool:
    executable = files.executable(_relative(word, file))
    if executable is None:
        names = sorted(set(files.names()) - {MANIFEST_FILE})
        raise ManifestError(
            f"{file}: run names {word!r}, which is not a file of {files.place}; correct the name or add the file"
            f"{_suggest(os.path.normpath(word), names)}"
        )
    return executable


def _text(section: Mapping[str, object], key: str, file: str, example: str) -> str:
    value = section.get(key)
    if value is None:
        raise ManifestError(f"{file}: the key {key} is missing; it must be {example}")
    if not isinstance(value, str):
        raise ManifestError(f"{file}: {key} must be {example}, not {_kind(value)}")
    return value


def _refuse_unknown(table: Mapping[str, object], known: tuple[str, ...], file: str, word: str) -> None:
    for key in table:
        if key not in known:
            raise ManifestError(f"{file}: unknown {word} {key!r}; known: {', '.join(known)}{_suggest(key, known)}")


def _suggest(word: str, known: tuple[str, ...] | list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _kind(value: object) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", list: "a list"}
    return names.get(type(value), "a section" if isinstance(value, dict) else f"a {type(value).__name__}")
