"""The tournament file: a short TOML text, checked as a whole. Its keys are documented in
``docs/tournament-file.md``."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from arbiter.deals import Seatings, SeatingsError, partners_sit_opposite, read_seatings, sides_per_match
from arbiter.engine import EngineError, Moon, NamedRules, RuleSet, compile_rules, read_rules
from arbiter.engine.ruleset import GameEnd, Winner
from arbiter.errors import ArbiterError, UsageError
from arbiter.match import Clock, FaultPolicy, MatchFormat
from arbiter.store import Entrant
from arbiter.tournament.formats import (
    Gauntlet,
    Knockout,
    Ladder,
    RoundRobin,
    Seeding,
    Swiss,
    TournamentFormat,
    format_from_dict,
    format_to_dict,
)
from arbiter.tournament.gate_terms import GateTerms


class SpecError(UsageError):
    """A tournament file that can't be used; says where and what would be right."""


_EVENT = r"^[a-z0-9][a-z0-9-]{0,39}$"
_SEED = r"^[0-9a-fA-F]{64}$"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,39}$"


_PATTERNS = {
    _EVENT: "lower-case letters, digits and hyphens, 40 at the most",
    _SEED: "64 hexadecimal digits",
    _NAME: "letters, digits, '_', '.', '@' and '-', 40 at the most, a letter or digit first",
}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Seconds = Annotated[
    float, Field(ge=0, le=86400, allow_inf_nan=False), BeforeValidator(lambda v: float(v) if type(v) is int else v)
]


class _Match(_Table):
    format: Literal["hands", "game"] = "hands"
    boards: int = Field(64, ge=1, le=100_000)
    seatings: str | int = "rotations"
    open_tables: int = Field(256, ge=1, le=65_536)
    fault_limit: int = Field(3, ge=0, le=1_000_000)
    fault_policy: Literal["stand_in", "penalty", "forfeit_match"] = "stand_in"
    early_end: bool = False
    cpus: Literal[1, 2, 4, 8] = 1


_BANK_AND_INCREMENT: Final = re.compile(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


class _Clock(_Table):
    """What is given overrules the defaults; a text such as ``"60+0.1"`` gives bank and increment."""

    start_up: Seconds | None = None
    bank: Seconds | None = None
    increment: Seconds | None = None
    hard_stop: Seconds | None = None
    margin: Seconds | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        found = _BANK_AND_INCREMENT.fullmatch(value)
        if found is None:
            raise ValueError('write bank and increment in seconds, such as "60+0.1"')
        return {"bank": float(found[1]), "increment": float(found[2] or 0)}

    def over(self, clock: Clock) -> Clock:
        """A clock with what is given here in place of its own."""
        return replace(clock, **self.model_dump(exclude_none=True))


class _Entrant(_Table):
    bot: str = Field(min_length=1)
    name: str | None = Field(None, pattern=_NAME)
    side: str | None = Field(None, pattern=_NAME)
    clock: _Clock | None = None


class _Gauntlet(_Table):
    champions: int = Field(1, ge=1, le=100_000)


class _Swiss(_Table):
    stages: int = Field(ge=1, le=1_000)
    seeding: Literal["drawn", "listed"] = "drawn"


class _Knockout(_Table):
    advance: int | None = Field(None, ge=1, le=1_000)
    seeding: Literal["drawn", "listed"] = "drawn"


class _File(_Table):
    name: str = Field(pattern=_EVENT)
    format: Literal["round-robin", "roundrobin", "gauntlet", "swiss", "knockout", "ladder"] = "round-robin"
    gauntlet: _Gauntlet | None = None
    swiss: _Swiss | None = None
    knockout: _Knockout | None = None
    meetings: int | None = Field(None, ge=1, le=100_000)
    workers: int = Field(2, ge=1, le=1024)
    deal_seed: str | None = Field(None, pattern=_SEED)
    rules: dict[str, Any] = Field(default_factory=dict)
    match: _Match = Field(default_factory=lambda: _Match.model_validate({}))
    clock: _Clock = Field(default_factory=lambda: _Clock.model_validate({}))
    entrants: list[_Entrant] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EntrantSpec:
    """One entrant as the file names it."""

    folder: Path
    """The bot's folder."""
    name: str | None
    """A name in place of the bot's own."""
    side: str | None = None
    """The side it plays for, where the rule set has teams."""


@dataclass(frozen=True, slots=True)
class Side:
    """Entrants that play together, partners for the whole tournament."""

    name: str
    entrants: tuple[int, ...]
    """Their indexes."""


@dataclass(frozen=True, slots=True)
class TournamentSpec:
    """What a tournament file asks for."""

    name: str
    rules_name: str
    """How the rules were named, options and all, for people."""
    rules: RuleSet
    match_format: MatchFormat
    boards: int
    """Boards per match."""
    seatings: Seatings
    """In which arrangements each board is played."""
    open_tables: int
    fault_limit: int
    fault_policy: FaultPolicy
    cpus: int
    """Processors that a worker must have for a sitting, one of `arbiter.match.routes.CPU_CLASSES`."""
    early_end: bool
    """Whether a hand ends as soon as every card with points is taken."""
    clocks: tuple[Clock, ...]
    """What each entrant is allowed, by index; in a ladder one for all."""
    format: TournamentFormat
    workers: int
    """Worker processes on one machine."""
    deal_seed: bytes | None
    """The tournament's seed, 32 bytes, where the file gives one."""
    entrants: tuple[EntrantSpec, ...]
    sides: tuple[Side, ...] | None = None
    """Who plays together; None where every entrant plays for itself."""
    gate: GateTerms | None = None
    """What is asked, where this is a gate and no tournament."""

    def clock_of(self, entrant: int) -> Clock:
        """What an entrant is allowed, by its index."""
        return self.clocks[0 if isinstance(self.format, Ladder) else entrant]

    def sides_of(self, entrants: Sequence[Entrant]) -> tuple[Side, ...]:
        """The sides; without teams every entrant is one, by its index."""
        return self.sides or tuple(Side(entrant.name, (entrant.index,)) for entrant in entrants)

    def to_dict(self) -> dict[str, object]:
        """Plain data for the store: all but the seed and the entrants, which have places of their own there."""
        return {
            "name": self.name,
            "rules_name": self.rules_name,
            "rules": self.rules.to_dict(),
            "match": {
                "format": self.match_format.value,
                "boards": self.boards,
                "seatings": self.seatings.count or self.seatings.kind.value,
                "open_tables": self.open_tables,
                "fault_limit": self.fault_limit,
                "fault_policy": self.fault_policy.value,
                "early_end": self.early_end,
                "cpus": self.cpus,
            },
            "clocks": [asdict(clock) for clock in self.clocks],
            "format": format_to_dict(self.format),
            "workers": self.workers,
            "sides": None if self.sides is None else [[side.name, list(side.entrants)] for side in self.sides],
            "gate": None if self.gate is None else self.gate.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TournamentSpec:
        """What :meth:`to_dict` wrote, without seed and entrants.

        Raises:
            SpecError: it is something else, as a later version's may be; says what.
        """
        try:
            return cls._from_dict(data)
        except (ArbiterError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecError(f"the plan can't be read: {type(error).__name__}: {error}") from error

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> TournamentSpec:
        match = data["match"]
        rules = RuleSet.from_dict(data["rules"])
        return cls(
            name=data["name"],
            rules_name=data["rules_name"],
            rules=rules,
            match_format=MatchFormat(match["format"]),
            boards=match["boards"],
            seatings=read_seatings(match["seatings"], rules),
            open_tables=match["open_tables"],
            fault_limit=match["fault_limit"],
            fault_policy=FaultPolicy(match["fault_policy"]),
            early_end=match["early_end"],
            cpus=match.get("cpus", 1),  # older plans have no such key
            clocks=tuple(Clock(**clock) for clock in data["clocks"]),
            # Older plans are round-robins and have no such key.
            format=format_from_dict(data["format"]) if "format" in data else RoundRobin(data["meetings"]),
            workers=data["workers"],
            deal_seed=None,
            entrants=(),
            sides=None if data["sides"] is None else tuple(Side(name, tuple(held)) for name, held in data["sides"]),
            gate=GateTerms.from_dict(data["gate"]) if data.get("gate") else None,  # older plans have no such key
        )


def load_spec(path: Path) -> TournamentSpec:
    """Read a tournament file; bots' folders count from the file's own.

    Raises:
        SpecError: the file is missing, is no TOML, or asks for something impossible.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: can't be read: {error.strerror}; name a tournament file (TOML)") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text; a tournament file is TOML") from error
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: is no TOML: {error}") from error
    if "entry" in data:
        raise SpecError(f"{path}: entry: is for a service, whose contestants enter; here list [[entrants]]")
    try:
        return parse_spec(data, path.parent)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error


def parse_spec(data: Mapping[str, Any], base: Path) -> TournamentSpec:
    """The same from data; folders count from ``base``. Raises :class:`SpecError`."""
    try:
        file = _File.model_validate(dict(data))
    except ValidationError as error:
        raise SpecError(_first_error(error)) from None
    rules_name, rules = _rules(file.rules)
    if file.match.format == "hands" and rules.moon is Moon.MIXED:
        raise SpecError("rules.moon: is mixed, which needs the running totals of a game; write match.format = 'game'")
    if file.match.format == "game" and rules.end is not GameEnd.HANDS and not compile_rules(rules).penalty_total:
        raise SpecError("rules: no card has positive points, so a game would never end; write end = 'hands'")
    if file.match.fault_policy == "penalty" and not (lowest_wins(rules) and compile_rules(rules).penalty_total):
        raise SpecError(f"match.fault_policy: under {rules_name} a penalty in points costs nothing; write 'stand_in'")
    if not partners_sit_opposite(rules):
        raise SpecError(f"rules.teams: are {rules.teams}; partners have to sit opposite, such as [[0, 2], [1, 3]]")
    if file.format == "ladder":
        _check_ladder(file, rules)
    elif len(file.entrants) < rules.players:
        raise SpecError(f"entrants: {len(file.entrants)} given, but a table of {rules_name} seats {rules.players}")
    try:
        seatings = read_seatings(file.match.seatings, rules)
    except SeatingsError as error:
        raise SpecError(f"match.seatings: {error}") from error
    sides = _sides(file.entrants, rules)
    clock = file.clock.over(Clock())
    return TournamentSpec(
        name=file.name,
        rules_name=rules_name,
        rules=rules,
        match_format=MatchFormat(file.match.format),
        boards=file.match.boards,
        seatings=seatings,
        open_tables=file.match.open_tables,
        fault_limit=file.match.fault_limit,
        fault_policy=FaultPolicy(file.match.fault_policy),
        early_end=file.match.early_end,
        cpus=file.match.cpus,
        clocks=(clock,)
        if file.format == "ladder"
        else tuple(entrant.clock.over(clock) if entrant.clock else clock for entrant in file.entrants),
        format=_format(file, len(file.entrants if sides is None else sides), sides_per_match(rules)),
        workers=file.workers,
        deal_seed=bytes.fromhex(file.deal_seed) if file.deal_seed else None,
        entrants=tuple(EntrantSpec(base / entrant.bot, entrant.name, entrant.side) for entrant in file.entrants),
        sides=sides,
    )


def _format(file: _File, sides: int, seats: int) -> TournamentFormat:
    """The format with its options, for this number of sides in all and at a table."""
    for name in ("gauntlet", "swiss", "knockout"):
        if getattr(file, name) is not None and file.format != name:
            raise SpecError(f"{name}: is given, but format is {file.format!r}; write format = {name!r} or leave it out")
    if file.meetings is not None and file.format in ("swiss", "knockout", "ladder"):
        raise SpecError(f"meetings: says nothing in format {file.format!r}; it goes with round-robin and gauntlet")
    if file.format == "ladder":
        return Ladder()
    if file.format == "gauntlet":
        champions = (file.gauntlet or _Gauntlet.model_validate({})).champions
        if sides - champions < seats - 1:
            raise SpecError(
                f"gauntlet.champions: is {champions} of {sides}, but a table seats a champion and {seats - 1} of the "
                f"field; write {sides - seats + 1} at the most"
            )
        return Gauntlet(champions, file.meetings)
    if file.format == "swiss":
        if file.swiss is None:
            raise SpecError("swiss: is missing; write [swiss] with stages = 5, or another number")
        return Swiss(file.swiss.stages, Seeding(file.swiss.seeding))
    if file.format == "knockout":
        options = file.knockout or _Knockout.model_validate({})
        advance = seats // 2 if options.advance is None else options.advance
        if advance >= seats:
            raise SpecError(
                f"knockout.advance: is {advance}, but of a table of {seats} at the most {seats - 1} can go on"
            )
        return Knockout(advance, Seeding(options.seeding))
    return RoundRobin(file.meetings)


def _check_ladder(file: _File, rules: RuleSet) -> None:
    if file.entrants:
        raise SpecError("entrants: are given, but versions enter a ladder while it runs; leave them out")
    if rules.teams is not None:
        raise SpecError(
            "rules.teams: a ladder is for bots that play for themselves, not for pairs; choose a rule set without "
            "teams, or let sides play a tournament"
        )


def lowest_wins(rules: RuleSet) -> bool:
    """Whether fewer points in a hand are better: the winner's total, read with the sign that points move it by."""
    return (rules.winner is Winner.LOWEST) == (rules.sign == 1)


def _sides(entrants: Sequence[_Entrant], rules: RuleSet) -> tuple[Side, ...] | None:
    """The sides that entrants name, in order of their first entrant; None where the rule set has no teams."""
    named: dict[str, list[int]] = {}
    for index, entrant in enumerate(entrants):
        if (entrant.side is None) != (rules.teams is None):
            wrong = (
                "is missing, but the rule set has teams" if rules.teams else "is given, but the rule set has no teams"
            )
            raise SpecError(f"entrants.{index + 1}.side: {wrong}")
        if entrant.side is not None:
            named.setdefault(entrant.side, []).append(index)
    if rules.teams is None:
        return None
    partners = rules.players // len(rules.teams)
    for name, members in named.items():
        if len(members) != partners:
            raise SpecError(f"entrants: side {name!r} has {len(members)} entrants; a side has {partners}")
    return tuple(Side(name, tuple(members)) for name, members in named.items())


def _rules(table: Mapping[str, Any]) -> NamedRules:
    try:
        return read_rules(table)
    except EngineError as error:
        raise SpecError(str(error)) from error


def _first_error(error: ValidationError) -> str:
    """The first thing wrong, as ``where: what; what would be right``."""
    # A key that is not known explains one that is missing.
    first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _keys(first["loc"][:-1])
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        return f"{where}: unknown key; " + (f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known)}")
    if first["type"] == "missing":
        return f"{where}: is missing"
    if first["type"] == "string_pattern_mismatch":
        return f"{where}: is {first['input']!r}; write {_PATTERNS[first['ctx']['pattern']]}"
    given = first["input"]
    shown = f" (is {given!r})" if not isinstance(given, dict | list) else ""
    return f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}{shown}"


def _keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys that are known at a place of the file."""
    tables: dict[str, type[_Table]] = {
        "match": _Match,
        "clock": _Clock,
        "entrants": _Entrant,
        "gauntlet": _Gauntlet,
        "swiss": _Swiss,
        "knockout": _Knockout,
    }
    names = [part for part in place if isinstance(part, str)]
    table = tables[names[-1]] if names else _File
    return sorted(table.model_fields)
