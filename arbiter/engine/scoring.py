"""What a finished hand is worth to each seat (RULES.md, rule 8 and section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from arbiter.engine.rules import Rules
from arbiter.engine.ruleset import Moon, MoonPartner


class HandScore(NamedTuple):
    """Result of one hand, before the rule set's ``sign``."""

    points: tuple[int, ...]
    """By seat: penalty points, negative where bonus cards or a new moon make them so."""
    moon: int | None
    """Seat that shot the moon."""


def moon_shooter(rules: Rules, penalty_taken: Sequence[int]) -> int | None:
    """The seat that took every positive card, or None; nobody shoots where the rule set has no moon."""
    return penalty_taken.index(rules.moon_total) if rules.moon_total and rules.moon_total in penalty_taken else None


def score_hand(
    rules: Rules,
    penalty_taken: Sequence[int],
    bonus_taken: Sequence[int],
    *,
    offenders: Sequence[int] = (),
    moon: Moon | None = None,
) -> HandScore:
    """Score a hand.

    Args:
        penalty_taken: by seat, positive points of its tricks.
        bonus_taken: by seat, negative points of its tricks.
        offenders: seats whose offence ended the hand: each takes the whole positive total, there is no moon or bonus.
        moon: ``old`` or ``new`` where the shooter has a choice and made it; None takes the rule set's own, old for
            ``choice`` and ``mixed``.
    """
    if offenders:
        return HandScore(tuple(rules.penalty_total if seat in offenders else 0 for seat in range(rules.seats)), None)
    shooter = moon_shooter(rules, penalty_taken)
    points = list(penalty_taken)
    if shooter is not None:
        policy = moon or rules.source.moon
        if policy is Moon.NEW:
            points = [-rules.penalty_total if seat == shooter else 0 for seat in range(rules.seats)]
        else:
            spared = _spared(rules, shooter)
            points = [0 if seat in spared else rules.penalty_total for seat in range(rules.seats)]
    return HandScore(tuple([penalty + bonus for penalty, bonus in zip(points, bonus_taken, strict=True)]), shooter)


def _spared(rules: Rules, shooter: int) -> frozenset[int]:
    """Seats that an old moon costs nothing: the shooter and, where the rule set says so, its partners."""
    for team in rules.source.teams or ():
        if shooter in team and rules.source.moon_partner is MoonPartner.SPARED:
            return frozenset(team)
    return frozenset((shooter,))
