"""The formats of a tournament: their options, and which groups of sides each one plays next.

Groups are planned in *stages*: a stage is everything that can be planned before more results are there. A round-robin
or a gauntlet is one stage; in a Swiss tournament or a knockout each stage depends on the results of those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from arbiter.schedule import Stage, gauntlet, knockout_sizes, knockout_stage, round_robin, swiss_stage

Groups = list[tuple[int, ...]]
"""Sides by number, one tuple for each match, in the order of its places."""


class Seeding(StrEnum):
    """What decides where results don't: who meets whom in the first stage, and between equals."""

    DRAWN = "drawn"  #: lots drawn from the tournament's seed
    LISTED = "listed"  #: the order of the file, the best first


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Everyone meets everyone."""

    kind: ClassVar[str] = "round-robin"
    meetings: int | None = None
    """How often each pair should meet at least; None leaves it to the schedule."""

    def stage_sizes(self, sides: int, seats: int) -> None:
        """Everything is planned from the beginning."""

    def next_stage(self, sides: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> Groups:
        """See :data:`TournamentFormat`."""
        return [] if played else round_robin(sides, seats, meetings=self.meetings)


@dataclass(frozen=True, slots=True)
class Gauntlet:
    """Champions, the first of the file, against the field."""

    kind: ClassVar[str] = "gauntlet"
    champions: int
    meetings: int | None = None
    """How often each champion should meet each of the field at least; None leaves it to the schedule."""

    def stage_sizes(self, sides: int, seats: int) -> None:
        """Everything is planned from the beginning."""

    def next_stage(self, sides: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> Groups:
        """See :data:`TournamentFormat`."""
        return [] if played else gauntlet(sides, seats, self.champions, meetings=self.meetings)


@dataclass(frozen=True, slots=True)
class Swiss:
    """Equals in score meet, and nobody meets anyone again while that is avoidable."""

    kind: ClassVar[str] = "swiss"
    stages: int
    seeding: Seeding = Seeding.DRAWN

    def stage_sizes(self, sides: int, seats: int) -> list[int]:
        """How many matches each stage has."""
        return [sides // seats] * self.stages

    def next_stage(self, sides: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> Groups:
        """See :data:`TournamentFormat`."""
        return swiss_stage(sides, seats, played, lots) if len(played) < self.stages else []


@dataclass(frozen=True, slots=True)
class Knockout:
    """The best of each group go on, until the final."""

    kind: ClassVar[str] = "knockout"
    advance: int
    """How many of a group go on."""
    seeding: Seeding = Seeding.DRAWN

    def stage_sizes(self, sides: int, seats: int) -> list[int]:
        """How many matches each stage has."""
        return knockout_sizes(sides, seats, self.advance)

    def next_stage(self, sides: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> Groups:
        """See :data:`TournamentFormat`."""
        return knockout_stage(sides, seats, self.advance, played, lots)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Entrants come and go, and there is always a next match, see :mod:`arbiter.tournament.ladder`."""

    kind: ClassVar[str] = "ladder"

    def stage_sizes(self, sides: int, seats: int) -> None:
        """There are no stages."""

    def next_stage(self, sides: int, seats: int, played: Sequence[Stage], lots: Sequence[int]) -> Groups:
        """Nothing: what is next depends on ratings, and is planned match by match."""
        return []


TournamentFormat = RoundRobin | Gauntlet | Swiss | Knockout | Ladder
"""Each has ``stage_sizes(sides, seats)``, how many matches its stages have, or None where there is a single one; and
``next_stage(sides, seats, played, lots)``, the groups that follow the stages ``played``, none when all is planned.
A side of several partners counts as one, ``seats`` are sides at a table, ``lots`` is each side's place in the seeding.
"""

_KINDS: Final[dict[str, type[TournamentFormat]]] = {
    each.kind: each for each in (RoundRobin, Gauntlet, Swiss, Knockout, Ladder)
}


def format_to_dict(chosen: TournamentFormat) -> dict[str, Any]:
    """Plain data for the store."""
    return {"kind": chosen.kind, **asdict(chosen)}


def format_from_dict(data: Mapping[str, Any]) -> TournamentFormat:
    """What :func:`format_to_dict` wrote."""
    options = {key: value for key, value in data.items() if key != "kind"}
    if "seeding" in options:
        options["seeding"] = Seeding(options["seeding"])
    return _KINDS[data["kind"]](**options)
