"""Tournaments that contestants enter: a tournament file with ``[entry]`` in place of some or all of its entrants."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from arbiter.engine import EngineError, RuleSet, read_rules
from arbiter.store import Tournament, TournamentState, TransitionRefused
from arbiter.tournament.spec import SpecError, TournamentSpec, parse_spec

MAX_DEFINITION: Final = 256 * 1024
"""Largest tournament file, in bytes."""

MAX_ENTRIES: Final = 1000
_KEYS: Final = {"per_owner": 1, "limit": 64}
"""Keys of ``[entry]`` with what they are by default."""


@dataclass(frozen=True, slots=True)
class EntryTerms:
    """Who may enter.

    Attributes:
        per_owner: Bots that one contestant may enter.
        limit: Entrants in all, with those that the file lists.
    """

    per_owner: int
    limit: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Who does not play though listed or entered.

    Attributes:
        name: Of the version, or of the bot where the file names none.
        reason: One line.
    """

    name: str
    reason: str


def read_definition(text: str) -> dict[str, Any]:
    """A tournament file as plain data; raises `SpecError`."""
    if len(text.encode()) > MAX_DEFINITION:
        raise SpecError(f"definition: has more than {MAX_DEFINITION} bytes; that is no tournament file")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"definition: is no TOML: {error}") from error
    except RecursionError:
        raise SpecError("definition: is nested too deeply; that is no tournament file") from None


def read_terms(data: Mapping[str, Any]) -> EntryTerms | None:
    """What ``[entry]`` says; None when the file lists all its entrants. Raises `SpecError`."""
    if "entry" not in data:
        return None
    table = data["entry"]
    if not isinstance(table, dict):
        raise SpecError("entry: is no table; write [entry]")
    for key, value in table.items():
        if key not in _KEYS:
            raise SpecError(f"entry.{key}: unknown key; known are: {', '.join(_KEYS)}")
        if type(value) is not int or not 1 <= value <= MAX_ENTRIES:
            raise SpecError(f"entry.{key}: is {value!r}; write a whole number from 1 to {MAX_ENTRIES}")
    return EntryTerms(**{**_KEYS, **table})


def parse_draft(data: Mapping[str, Any], terms: EntryTerms) -> TournamentSpec:
    """What a draft asks for, checked as it would be were every place taken. The entrants are those that the file lists.

    Raises:
        SpecError: the file asks for something impossible.
    """
    listed = data.get("entrants", [])
    if not isinstance(listed, list) or not all(isinstance(entrant, dict) for entrant in listed):
        raise SpecError("entrants: are no list of tables; write [[entrants]]")
    if len(listed) > terms.limit:
        raise SpecError(f"entry.limit: is {terms.limit}, but the file lists {len(listed)} entrants")
    plain = {key: value for key, value in data.items() if key != "entry"}
    partners = _partners(plain)
    if terms.per_owner < partners:
        raise SpecError(
            f"entry.per_owner: is {terms.per_owner}, but a side is one contestant's and has {partners} entrants; write"
            f" {partners} or more"
        )
    room = (terms.limit - len(listed)) // partners * partners
    taken: list[dict[str, Any]] = [
        {"bot": f"entrant-{number}"} | ({"side": f"side-{number // partners}"} if partners > 1 else {})
        for number in range(room)
    ]
    return parse_spec({**plain, "entrants": [*listed, *taken]}, Path())


def parse_entered(data: Mapping[str, Any], entrants: Sequence[Mapping[str, Any]]) -> TournamentSpec:
    """The same once it is closed, with the tables ``[[entrants]]`` of all who play; raises `SpecError`."""
    plain = {key: value for key, value in data.items() if key != "entry"}
    return parse_spec({**plain, "entrants": list(entrants)}, Path())


def listed_in(tournament: Tournament) -> list[dict[str, Any]]:
    """The tables ``[[entrants]]`` of the file that a draft was made from."""
    tables = read_definition(str(tournament.spec["definition"])).get("entrants", [])
    return [{**table, "bot": str(Path(table["bot"]))} for table in tables]  # read as the path that it is elsewhere


def draft_terms(tournament: Tournament) -> EntryTerms:
    """Who may enter a draft; raises `TransitionRefused` when it is none, or none any more."""
    if tournament.state is not TournamentState.DRAFT:
        raise TransitionRefused(
            f"tournament {tournament.id!r} is {tournament.state}; only a draft is entered and closed"
        )
    return EntryTerms(**cast("dict[str, int]", tournament.spec["entry"]))


def left_out_of(tournament: Tournament) -> list[LeftOut]:
    """Who was left out when a tournament was closed; nobody where it never was a draft."""
    return [LeftOut(**each) for each in cast("list[dict[str, str]]", tournament.spec.get("left_out", []))]


def partners_of(rules: RuleSet) -> int:
    """Entrants of a side."""
    return 1 if rules.teams is None else rules.players // len(rules.teams)


def _partners(plain: Mapping[str, Any]) -> int:
    """Entrants of a side under the file's rules; 1 where a mistake in them is told later."""
    try:
        _, rules = read_rules(plain.get("rules", {}))
    except (EngineError, TypeError, ValueError):
        return 1
    return partners_of(rules)
