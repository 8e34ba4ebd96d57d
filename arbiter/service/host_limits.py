"""What a host allows contestants and callers, from a file in place of the defaults."""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from arbiter.errors import UsageError
from arbiter.service.limits import CallLimits, Kind
from arbiter.store import Quota

Table = TypeVar("Table")

MOST: Final = 1 << 53
"""Largest number that is taken: whole ones are exact up to there, in every format."""


class LimitsError(UsageError):
    """The file can't be read, or holds what is no limit."""


@dataclass(frozen=True, slots=True)
class HostLimits:
    """All that a host may set; its tables and their keys are those of the file.

    Attributes:
        quota: What one contestant may submit and have played.
        calls: What callers may ask.
    """

    quota: Quota = field(default_factory=Quota)
    calls: CallLimits = field(default_factory=CallLimits)

    @classmethod
    def from_file(cls, file: Path | None) -> HostLimits:
        """Read a TOML file, of which every key may be left out; without a file all is as it is by default.

        Raises:
            LimitsError: it can't be read, or a key is unknown or out of its range; names the file and the key.
        """
        if file is None:
            return cls()
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise LimitsError(f"{file}: can't be read ({error}); it must be a UTF-8 text file") from error
        except tomllib.TOMLDecodeError as error:
            raise LimitsError(f"{file}: not valid TOML ({error}); see https://toml.io for the syntax") from error
        try:
            return _changed(cls(), document, "")
        except UsageError as error:
            raise LimitsError(f"{file}: {error}") from error


def _changed(table: Table, changes: Mapping[str, object], where: str) -> Table:
    """A table of limits with some of them changed."""
    fields = [each.name for each in dataclasses.fields(cast("Any", table))]
    _check_keys(changes, fields, where)
    values = {name: _value(getattr(table, name), value, f"{where}{name}") for name, value in changes.items()}
    try:
        return cast("Table", dataclasses.replace(cast("Any", table), **values))
    except UsageError as error:
        raise UsageError(f"{where}{error}") from error


def _value(now: object, value: object, where: str) -> object:
    """What a key is set to, in place of what it is now."""
    if isinstance(now, int | float):
        return _number(type(now), value, where)
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a table, written [{where}]")
    if isinstance(now, Mapping):
        kinds = {kind.name.lower(): kind for kind in Kind}
        _check_keys(value, kinds, f"{where}.")
        return dict(now) | {
            kinds[name]: _value(now[kinds[name]], change, f"{where}.{name}") for name, change in value.items()
        }
    return _changed(now, value, f"{where}.")


def _number(kind: type[int] | type[float], value: object, where: str) -> int | float:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole or (kind is float and isinstance(value, float) and math.isfinite(value))):
        raise UsageError(f"{where} must be a {'whole ' if kind is int else ''}number, not {value!r}")
    found = kind(cast("float", value))
    if not 0 < found <= MOST:
        raise UsageError(f"{where} is {value!r}; write a number above 0 and up to {MOST}")
    return found


def _check_keys(changes: Mapping[str, object], known: Iterable[str], where: str) -> None:
    names = list(known)
    for key in changes:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UsageError(f"unknown key {where + key!r}{hint}; known: {', '.join(names)}")
