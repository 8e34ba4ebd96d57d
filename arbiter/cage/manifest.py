"""Reads and checks ``bot.toml``, the description that a bot's folder carries."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from arbiter.errors import UsageError

MANIFEST_FILE = "bot.toml"
RUNTIMES = ("python", "executable")
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
        runtime: ``python`` (the interpreter of the service, with the SDK) or ``executable`` (a file of the folder).
        run: the command. For ``python`` the first word is ``python``; for ``executable`` it is a file of the folder.
        max_open_tables: how many tables the bot is willing to play at once, 1 to 65536.
    """

    name: str
    runtime: str
    run: tuple[str, ...]
    max_open_tables: int = DEFAULT_OPEN_TABLES


def load_manifest(folder: Path) -> Manifest:
    """Read ``bot.toml`` of a bot's folder.

    Raises:
        ManifestError: the folder or the file is missing, or a key is unknown, missing or wrong.
    """
    file = folder / MANIFEST_FILE
    if not folder.is_dir():
        raise ManifestError(f"{folder}: no such folder; give the folder of a bot, the one that holds {MANIFEST_FILE}")
    try:
        text = file.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except FileNotFoundError:
        raise ManifestError(
            f"{file}: no such file; a bot's folder needs a {MANIFEST_FILE} with a [bot] section (name, runtime, run)"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{file}: can't be read ({error}); it must be a UTF-8 text file") from error
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{file}: not valid TOML ({error}); see https://toml.io for the syntax") from error
    return _parse(document, folder, file)


def _parse(document: Mapping[str, object], folder: Path, file: Path) -> Manifest:
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
    runtime = _text(section, "runtime", file, '"python" or "executable"')
    if runtime not in RUNTIMES:
        raise ManifestError(
            f'{file}: runtime {runtime!r} is unknown; use "python" or "executable"{_suggest(runtime, RUNTIMES)}'
        )
    run = _command(section, file)
    if runtime == "python":
        _check_python(run, folder, file)
    else:
        _check_executable(run, folder, file)
    tables = section.get("max_open_tables", DEFAULT_OPEN_TABLES)
    if not isinstance(tables, int) or isinstance(tables, bool):
        raise ManifestError(f"{file}: max_open_tables must be a whole number, not {_kind(tables)}")
    if not 1 <= tables <= MAX_OPEN_TABLES:
        raise ManifestError(f"{file}: max_open_tables is {tables}; it must be from 1 to {MAX_OPEN_TABLES}")
    return Manifest(name=name, runtime=runtime, run=run, max_open_tables=tables)


def _command(section: Mapping[str, object], file: Path) -> tuple[str, ...]:
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


def _check_python(run: tuple[str, ...], folder: Path, file: Path) -> None:
    if run[0] != "python":
        raise ManifestError(f'{file}: run starts with {run[0]!r}; for the runtime "python" the first word is "python"')
    if len(run) == 1:
        raise ManifestError(f'{file}: run names no program; write for example ["python", "bot.py"]')
    if not run[1].startswith("-"):  # an option such as -m or -u: what it runs shows when it runs
        _file_of_folder(run[1], folder, file)


def _check_executable(run: tuple[str, ...], folder: Path, file: Path) -> None:
    path = _file_of_folder(run[0], folder, file)
    if not path.stat().st_mode & 0o111:
        raise ManifestError(f"{file}: run names {run[0]!r}, which is not executable; run: chmod +x {path}")


def _file_of_folder(word: str, folder: Path, file: Path) -> Path:
    relative = PurePosixPath(word)
    if relative.is_absolute() or ".." in relative.parts:
        raise ManifestError(f"{file}: run names {word!r}; it must be a file of the bot's folder, by its relative path")
    path = folder / relative
    if not path.is_file():
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file() and entry.name != MANIFEST_FILE)
        raise ManifestError(
            f"{file}: run names {word!r}, which is not a file of {folder}; correct the name or add the file"
            f"{_suggest(os.path.normpath(word), names)}"
        )
    return path


def _text(section: Mapping[str, object], key: str, file: Path, example: str) -> str:
    value = section.get(key)
    if value is None:
        raise ManifestError(f"{file}: the key {key} is missing; it must be {example}")
    if not isinstance(value, str):
        raise ManifestError(f"{file}: {key} must be {example}, not {_kind(value)}")
    return value


def _refuse_unknown(table: Mapping[str, object], known: tuple[str, ...], file: Path, word: str) -> None:
    for key in table:
        if key not in known:
            raise ManifestError(f"{file}: unknown {word} {key!r}; known: {', '.join(known)}{_suggest(key, known)}")


def _suggest(word: str, known: tuple[str, ...] | list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _kind(value: object) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", list: "a list"}
    return names.get(type(value), "a section" if isinstance(value, dict) else f"a {type(value).__name__}")
