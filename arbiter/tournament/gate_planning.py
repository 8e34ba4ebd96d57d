"""From a gate's spec to its plan: pairs of matches over one deal set each, in blocks."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from datetime import datetime

from arbiter.deals import commitment, derive_deal_seed, sides_per_match
from arbiter.deals.deal import SEED_BYTES
from arbiter.store import Entrant, Match, Tournament, TournamentState
from arbiter.tournament.planning import places_of
from arbiter.tournament.spec import SpecError, TournamentSpec

CANDIDATE = 0
"""Number of the candidate's side."""

BASELINE = 1
"""Number of the baseline's side."""

FIRST_OPPONENT = 2
"""Number of the first opponent's side."""


def opponent_groups(opponents: int, seats: int) -> list[tuple[int, ...]]:
    """The groups of opponents that a block meets, each of ``seats`` different ones, every opponent equally often.

    The first group is 0, 1, 2, ...; each goes on where the one before ended, and around, until one ends with the last.
    """
    groups = opponents // math.gcd(opponents, seats)
    return [tuple((group * seats + seat) % opponents for seat in range(seats)) for group in range(groups)]


def plan_gate(
    tournament_id: str, spec: TournamentSpec, entrants: Sequence[Entrant], blocks: int, now: datetime
) -> tuple[Tournament, list[Match]]:
    """The whole plan of a gate, ready for the store.

    A block has two matches for each group of opponents, the candidate's and then the baseline's: same deal set, same
    seatings, same opponents.

    Raises:
        SpecError: not one block is asked for.
    """
    assert spec.gate is not None
    if blocks < 1:
        raise SpecError(f"max boards: too few for one block, which has {spec.boards * spec.gate.tables}")
    seed = spec.deal_seed or secrets.token_bytes(SEED_BYTES)
    return (
        Tournament(tournament_id, spec.name, TournamentState.SCHEDULED, spec.to_dict(), seed, created_at=now),
        gate_matches(spec, entrants, seed, range(blocks)),
    )


def gate_matches(spec: TournamentSpec, entrants: Sequence[Entrant], seed: bytes, blocks: range) -> list[Match]:
    """The matches of some blocks of a gate's plan, whose seed this is."""
    assert spec.gate is not None
    sides = spec.sides_of(entrants)
    groups = opponent_groups(len(sides) - FIRST_OPPONENT, sides_per_match(spec.rules) - 1)
    matches: list[Match] = []
    for block in blocks:
        for number, group in enumerate(groups):
            deal_seed = derive_deal_seed(seed, block * len(groups) + number)
            for tested in (CANDIDATE, BASELINE):
                seated = [sides[tested], *(sides[FIRST_OPPONENT + opponent] for opponent in group)]
                places = places_of(seated, spec.rules)
                index = blocks.start * spec.gate.matches_per_block + len(matches)
                matches.append(Match(index, places, deal_seed, commitment(deal_seed), spec.boards))
    return matches
