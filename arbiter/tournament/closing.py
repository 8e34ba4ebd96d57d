"""Closes drafts: fixes who plays and who is left out, and plans the matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from arbiter.engine import RuleSet
from arbiter.errors import UsageError
from arbiter.packages import Versions as Contents
from arbiter.store import Entrant, Entry, Match, Store, Tournament, Version, VersionState
from arbiter.tournament.drafts import LeftOut, draft_terms, listed_in, parse_entered, partners_of, read_definition
from arbiter.tournament.formats import Gauntlet
from arbiter.tournament.naming import read_version_name
from arbiter.tournament.planning import entrant_of, plan_tournament
from arbiter.tournament.spec import SpecError, TournamentSpec

_SAID: Final = 5
"""How many of those left out an error names."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the tournament that is taken."""

    table: dict[str, Any]
    """As in ``[[entrants]]``."""
    version: Version

    @property
    def name(self) -> str:
        return str(self.table.get("name") or self.version.name)

    @property
    def side(self) -> str | None:
        return self.table.get("side")


class DraftChanged(UsageError):
    """Somebody has entered, withdrawn or retired something since a draft was planned; it has to be planned anew."""


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """What a draft becomes when it is closed.

    Attributes:
        tournament: The draft's id.
        spec: What is kept of what it asks for.
        entries: Who had entered it.
        versions: Who plays, by bot and number.
        entrants: The same as entrants.
        matches: What they play...
        sittings_per_match: ...and in how many sittings each.
        left_out: Who does not play.
    """

    tournament: str
    spec: dict[str, object]
    entries: Sequence[Entry]
    versions: Sequence[tuple[str, int]]
    entrants: Sequence[Entrant]
    matches: Sequence[Match]
    sittings_per_match: int
    left_out: Sequence[LeftOut]

    def write(self, store: Store) -> Tournament:
        """Close the draft; returns the tournament, scheduled.

        Raises:
            DraftChanged: it has to be planned anew.
            TransitionRefused: it is no draft any more.
        """
        closed = store.entries.close(
            self.tournament,
            self.spec,
            self.entries,
            self.versions,
            self.entrants,
            self.matches,
            self.sittings_per_match,
        )
        if closed is None:
            raise DraftChanged(f"who plays in {self.tournament} has changed meanwhile; close it anew")
        return closed


def plan_draft(store: Store, contents: Contents, tournament: str) -> DraftPlan:
    """Make a plan of a draft: those that its file lists and those that entered it, in this order.

    Left out is whose version is not active any more, and every side that is not complete. Whatever is entered,
    withdrawn or retired before the plan is written has it made anew.

    Raises:
        TransitionRefused: it is no draft.
        SpecError: it can't be held with those who are left; says who was left out.
        VersionMissing: the content of an active version is gone.
    """
    found, entries = store.tournament(tournament), store.entries.entries(tournament)
    terms, listed = draft_terms(found), listed_in(found)
    definition = str(found.spec["definition"])
    data = read_definition(definition)
    places, left_out = _who_plays(store, listed, entries, TournamentSpec.from_dict(found.spec).rules)
    try:
        spec = parse_entered(data, [place.table for place in places])
        _check_champions(spec, listed, left_out)
    except SpecError as error:
        raise SpecError(f"{error}{_said(left_out)}") from error
    entrants = [
        entrant_of(index, place.version, contents, place.table.get("name")) for index, place in enumerate(places)
    ]
    _, matches = plan_tournament(tournament, replace(spec, deal_seed=found.deal_seed), entrants, found.created_at)
    kept: dict[str, object] = {
        **spec.to_dict(),
        "definition": definition,
        "entry": asdict(terms),
        "left_out": [asdict(each) for each in left_out],
    }
    versions = [(place.version.submission.bot, place.version.number) for place in places]
    sittings = spec.seatings.sittings(spec.rules)
    return DraftPlan(tournament, kept, entries, versions, entrants, matches, sittings, left_out)


def _who_plays(
    store: Store, listed: Sequence[dict[str, Any]], entries: Sequence[Entry], rules: RuleSet
) -> tuple[list[_Place], list[LeftOut]]:
    """The places that are taken, and who is left out. Each version is looked at once."""
    asked = [
        *listed,
        *({"bot": f"{entry.bot}@{entry.version}"} | ({"side": entry.side} if entry.side else {}) for entry in entries),
    ]
    active: dict[str, _Place] = {}
    left_out: list[LeftOut] = []
    for table in asked:
        text = table["bot"]
        place = _active(store, table)
        if isinstance(place, str):
            left_out.append(LeftOut(text, place))
        elif place.name in active:  # such as "mybot" beside "mybot@3" once no newer one is active
            left_out.append(LeftOut(text, f"there is an entrant {place.name} already"))
        else:
            active[place.name] = place
    sizes = Counter(place.side for place in active.values())
    places: list[_Place] = []
    for place in active.values():
        if rules.teams is None or sizes[place.side] == partners_of(rules):
            places.append(place)
        else:
            left_out.append(LeftOut(place.table["bot"], f"its side {str(place.side)!r} is not complete"))
    return places, left_out


def _active(store: Store, table: dict[str, Any]) -> _Place | str:
    """The place of a version that is active, or why it can't play."""
    try:
        version = store.versions.get(*read_version_name(table["bot"]))
    except UsageError as error:
        return str(error)
    if version.state is VersionState.ACTIVE:
        return _Place(table, version)
    return f"it is {version.state}" + (f": {version.failure}" if version.failure else "")


def _check_champions(spec: TournamentSpec, listed: Sequence[dict[str, Any]], left_out: Sequence[LeftOut]) -> None:
    """Refuse to let somebody else be a gauntlet's champion in place of one that the file lists."""
    if not isinstance(spec.format, Gauntlet):
        return
    sides = dict.fromkeys(table.get("side", index) for index, table in enumerate(listed))
    champions = set(list(sides)[: spec.format.champions])
    gone = {each.name for each in left_out}
    for index, table in enumerate(listed):
        if table.get("side", index) in champions and table["bot"] in gone:
            raise SpecError(f"entrants.{index + 1}.bot: {table['bot']} is a champion of the gauntlet and can't play")


def _said(left_out: Sequence[LeftOut]) -> str:
    if not left_out:
        return ""
    shown = [f"{each.name} ({each.reason})" for each in left_out[:_SAID]]
    more = f" and {len(left_out) - _SAID} more" if len(left_out) > _SAID else ""
    return f"; left out: {', '.join(shown)}{more}"
