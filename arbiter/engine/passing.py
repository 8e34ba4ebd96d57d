"""The pass: which way, which cards, and who then holds what (RULES.md, rule 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.engine.cards import CARDS, PLANE, mask_of, take_card
from arbiter.engine.errors import IllegalPass
from arbiter.engine.rules import Rules
from arbiter.engine.ruleset import PassDirection, RuleSet

_STEPS: Final = {PassDirection.LEFT: 1, PassDirection.RIGHT: -1, PassDirection.NONE: 0}


def pass_direction(rules: RuleSet, hand_number: int) -> PassDirection:
    """Direction of hand ``hand_number`` (from 1): the cycle, over and over."""
    return rules.pass_cycle[(hand_number - 1) % len(rules.pass_cycle)]


def pass_target(seats: int, seat: int, direction: PassDirection) -> int:
    """The seat that gets what ``seat`` passes."""
    if direction is PassDirection.ACROSS:
        return (seat + seats // 2) % seats
    return (seat + _STEPS[direction]) % seats


def check_pass(rules: Rules, hand: int, cards: Sequence[int]) -> None:
    """Return when ``cards`` (indexes) may be passed from ``hand``.

    Raises:
        IllegalPass: with code ``wrong_count``, ``duplicate`` or ``not_in_hand``, the first that applies.
    """
    if len(cards) != rules.source.pass_count:
        raise IllegalPass("wrong_count", f"{len(cards)} cards passed; the rules want {rules.source.pass_count}")
    left = hand
    for index in cards:
        if not 0 <= index < PLANE:
            raise IllegalPass("not_in_hand", f"{index} is no card: indexes run from 0 to {PLANE - 1}")
        if not left >> index & 1:
            if hand >> index & 1:
                raise IllegalPass("duplicate", f"{CARDS[index]} passed more often than held")
            raise IllegalPass("not_in_hand", f"{CARDS[index]} passed but not held")
        left = take_card(left, index)


def exchange(
    rules: Rules, hands: Sequence[int], direction: PassDirection, passes: Sequence[Sequence[int]]
) -> list[int]:
    """Hands after all passes moved at once.

    Args:
        hands: by seat.
        passes: by seat, the card indexes it passes, each already checked with :func:`check_pass`.
    """
    after = list(hands)
    moved = [mask_of(cards) for cards in passes]
    for seat, cards in enumerate(passes):
        if rules.two_packs:
            for index in cards:
                after[seat] = take_card(after[seat], index)
        else:
            after[seat] = after[seat] ^ moved[seat]
    for seat, cards in enumerate(passes):
        target = pass_target(rules.seats, seat, direction)
        after[target] = _with_cards(after[target], moved[seat], cards)
    return after


def _with_cards(hand: int, added: int, cards: Sequence[int]) -> int:
    if not hand & added:
        return hand | added
    both = [index for index in range(52) for plane in (0, 52) if hand >> (index + plane) & 1]
    return mask_of([*both, *cards])
