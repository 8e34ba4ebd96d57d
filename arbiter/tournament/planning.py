"""From a tournament file to a plan: entrants fixed, matches scheduled, deal sets seeded."""

from __future__ import annotations

import secrets
from collections.abc import Container, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice

from arbiter.cage import load_manifest
from arbiter.deals import commitment, derive_deal_seed, sides_per_match
from arbiter.deals.deal import SEED_BYTES, byte_stream
from arbiter.engine import RuleSet
from arbiter.packages import Versions
from arbiter.store import Entrant, Match, Tournament, TournamentState, Version
from arbiter.tournament.formats import Gauntlet, Groups, Ladder, RoundRobin, Seeding
from arbiter.tournament.spec import EntrantSpec, Side, SpecError, TournamentSpec

_LOT_BYTES = 16


def new_id(name: str, taken: Container[str] = ()) -> str:
    """An id for a tournament of this name that is not taken: the name and four random hexadecimal digits, or more."""
    digits = 4
    while (made := f"{name}-{secrets.token_hex(digits // 2)}") in taken:
        digits += 2
    return made


def enter(entrants: Sequence[EntrantSpec], bots: Versions) -> list[Entrant]:
    """Fix every entrant's version: its folder is put into ``bots`` under its digest, and that copy plays.

    Raises:
        ManifestError, SnapshotError: a bot's folder is missing or not a bot's.
        SpecError: two entrants have one name.
    """
    fixed: list[Entrant] = []
    for index, entrant in enumerate(entrants):
        manifest = load_manifest(entrant.folder)
        name = entrant.name or manifest.name
        twin = next((other for other in fixed if other.name == name), None)
        if twin is not None:
            raise SpecError(
                f"entrants.{index + 1}: {name!r} is entrant {twin.index + 1} already; give one of them another name"
            )
        snapshot = bots.put(entrant.folder)
        declared = {**asdict(manifest), "run": list(manifest.run)}
        fixed.append(Entrant(index, name, snapshot.digest, declared))
    return fixed


def entrant_of(index: int, version: Version, contents: Versions, name: str | None = None) -> Entrant:
    """A version as an entrant, under its own or another name; raises `VersionMissing` when its content is gone."""
    contents.open(version.built)  # said now, and not in the middle of the tournament
    manifest = {**version.submission.manifest, "owner": version.submission.owner}
    return Entrant(index, name or version.name, version.built, manifest)


def plan_tournament(
    tournament_id: str, spec: TournamentSpec, entrants: Sequence[Entrant], now: datetime, *, draft: bool = False
) -> tuple[Tournament, list[Match]]:
    """The plan, ready for the store: every match of the first stage with its own deal set, whose seed derives from the
    tournament's; of a draft, whose entrants are not yet known, the seed alone.

    The tournament's seed is the file's, else 32 bytes drawn from the operating system.
    """
    seed = spec.deal_seed or secrets.token_bytes(SEED_BYTES)
    matches: list[Match] = []
    if not draft:
        sides = spec.sides_of(entrants)
        groups = spec.format.next_stage(len(sides), sides_per_match(spec.rules), [], lots_of(spec, len(sides), seed))
        matches = plan_matches(spec, sides, seed, groups, first=0)
    tournament = Tournament(
        id=tournament_id,
        name=spec.name,
        state=TournamentState.DRAFT if draft else TournamentState.SCHEDULED,
        spec=spec.to_dict(),
        deal_seed=seed,
        created_at=now,
    )
    return tournament, matches


def lots_of(spec: TournamentSpec, sides: int, seed: bytes) -> list[int]:
    """By side, its place in the seeding: as listed, or drawn from the tournament's seed, which the lots say nothing
    about."""
    listed = list(range(sides))
    if isinstance(spec.format, RoundRobin | Gauntlet | Ladder) or spec.format.seeding is Seeding.LISTED:
        return listed
    drawn = {
        side: bytes(islice(byte_stream(seed, b"hearts-arbiter/lots/v1", side.to_bytes(8, "big")), _LOT_BYTES))
        for side in listed
    }
    order = sorted(listed, key=drawn.__getitem__)
    return [order.index(side) for side in listed]


def plan_matches(
    spec: TournamentSpec, sides: Sequence[Side], seed: bytes, groups: Groups, *, first: int
) -> list[Match]:
    """Matches of groups of sides from number ``first`` on, each with a deal set of its own by that number."""
    matches: list[Match] = []
    for index, group in enumerate(groups, first):
        deal_seed = derive_deal_seed(seed, index)
        places = places_of([sides[side] for side in group], spec.rules)
        matches.append(Match(index, places, deal_seed, commitment(deal_seed), spec.boards))
    return matches


def places_of(sides: Sequence[Side], rules: RuleSet) -> tuple[int, ...]:
    """The entrants of a match in the order of its places.

    Place p belongs to side p mod t of the match's t sides: partners sit opposite (see ``arbiter.deals.seatings``).
    """
    return tuple(sides[place % len(sides)].entrants[place // len(sides)] for place in range(rules.players))
