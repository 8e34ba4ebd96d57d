"""A game to the target score: totals, its end, ties, and the shooter's choice (RULES.md, rules 8 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from arbiter.engine.passing import pass_direction
from arbiter.engine.rules import Rules
from arbiter.engine.ruleset import GameEnd, Moon, PassDirection, RuleSet, Tie, Winner
from arbiter.engine.scoring import HandScore, moon_shooter, score_hand


@dataclass(frozen=True, slots=True)
class GameState:
    """A game between two hands."""

    totals: tuple[int, ...]
    """By seat."""
    hand_number: int = 1
    """Number of the hand to be played next, from 1."""
    overtime: bool = False
    """The end was reached with several best sides, and play goes on."""
    tied: tuple[int, ...] = ()
    """Seats between which extra hands decide; totals stand still meanwhile."""
    winners: tuple[int, ...] | None = None
    """Seats of the winning sides once the game is over."""

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.winners is not None


def new_game(rules: Rules) -> GameState:
    """The state before the first hand."""
    return GameState(totals=(rules.source.start,) * rules.seats)


@dataclass(frozen=True, slots=True)
class MoonChoice:
    """What the shooter of a moon may pick."""

    shooter: int
    """Seat that has the choice."""
    default: Moon
    """What stands when no answer comes."""


def moon_choice(
    rules: Rules, state: GameState, penalty_taken: Sequence[int], bonus_taken: Sequence[int]
) -> MoonChoice | None:
    """The choice that this hand offers to its shooter, or None when there is nothing to pick.

    ``choice`` always offers it (default old). ``mixed`` offers it only when an old moon would end the game with the
    shooter not among its winners (default new; RULES.md, A10); where a tie would prolong the game nobody has lost yet.
    """
    shooter = moon_shooter(rules, penalty_taken)
    policy = rules.source.moon
    if shooter is None or policy not in (Moon.CHOICE, Moon.MIXED):
        return None
    if policy is Moon.CHOICE:
        return MoonChoice(shooter, Moon.OLD)
    after = after_hand(rules, state, score_hand(rules, penalty_taken, bonus_taken, moon=Moon.OLD))
    lost = after.winners is not None and shooter not in after.winners
    return MoonChoice(shooter, Moon.NEW) if lost else None


def after_hand(rules: Rules, state: GameState, score: HandScore) -> GameState:
    """The game after a complete hand."""
    hand_number = state.hand_number + 1
    if state.tied:
        still = still_tied(rules, state.tied, score.points)
        won = _one_side(rules, still)
        return replace(
            state, hand_number=hand_number, tied=() if won else still, winners=still if won else None, overtime=not won
        )
    totals = _moved(rules, state.totals, score)
    if not _ended(rules, state, totals):
        return GameState(totals, hand_number)
    best = best_seats(rules, totals)
    if _one_side(rules, best) or rules.source.tie is Tie.SHARED:
        return GameState(totals, hand_number, winners=best)
    between = best if rules.source.tie is Tie.EXTRA_HAND_BETWEEN_TIED else ()
    return GameState(totals, hand_number, overtime=True, tied=between)


def still_tied(rules: Rules, tied: Sequence[int], points: Sequence[int]) -> tuple[int, ...]:
    """Which of the tied seats an extra hand leaves best: those with the best score of that hand alone."""
    return best_seats(rules, [rules.source.sign * value for value in points], among=tied)


class NextDeal(NamedTuple):
    """What is dealt next."""

    hand_number: int
    """From 1."""
    dealer: int
    """Seat."""
    direction: PassDirection
    """Where passed cards go."""


def next_deal(rules: RuleSet, hand_number: int, dealer: int, *, misdealt: bool = False) -> NextDeal:
    """The deal after hand ``hand_number`` of ``dealer``.

    That is the next hand, dealt one seat clockwise (RULES.md, rules 1 and 2); after a misdeal the same hand once more,
    by the same dealer (3.10).
    """
    if not misdealt:
        hand_number += 1
        dealer = (dealer + 1) % rules.players
    return NextDeal(hand_number, dealer, pass_direction(rules, hand_number))


def _moved(rules: Rules, totals: Sequence[int], score: HandScore) -> tuple[int, ...]:
    return tuple(total + rules.source.sign * points for total, points in zip(totals, score.points, strict=True))


def _ended(rules: Rules, state: GameState, totals: Sequence[int]) -> bool:
    source = rules.source
    if state.overtime:
        return True
    if source.end is GameEnd.HANDS:
        return state.hand_number >= source.target
    if source.end is GameEnd.ANY_AT_LEAST:
        return max(totals) >= source.target
    return min(totals) <= source.target


def _sides(rules: Rules) -> tuple[tuple[int, ...], ...]:
    return rules.source.teams or tuple((seat,) for seat in range(rules.seats))


def best_seats(rules: Rules, totals: Sequence[int], among: Sequence[int] | None = None) -> tuple[int, ...]:
    """Seats of the sides with the best sum of totals, ascending; ``among`` limits it to the sides of these seats."""
    pick = min if rules.source.winner is Winner.LOWEST else max
    sums = {
        side: sum(totals[seat] for seat in side) for side in _sides(rules) if among is None or set(side) <= set(among)
    }
    best = pick(sums.values())
    return tuple(sorted(seat for side, total in sums.items() if total == best for seat in side))


def _one_side(rules: Rules, seats: Sequence[int]) -> bool:
    return tuple(seats) in {tuple(sorted(side)) for side in _sides(rules)}
