"""A rule set compiled once into what the play loop needs: masks and small tables, no variant flags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from arbiter.engine.cards import CARDS, Card, Suit
from arbiter.engine.ruleset import (
    PIP,
    FirstLead,
    FirstLeader,
    FirstTrickBan,
    LeadIfOnlyPenalty,
    Moon,
    QueenLead,
    RuleSet,
)

HEARTS: Final = Suit.HEARTS.mask
QUEEN_OF_SPADES: Final = Card.parse("QS").mask
TWO_OF_CLUBS: Final = Card.parse("2C").mask

SUIT_MASKS: Final = tuple(Suit(index // 13).mask for index in range(52))
"""By card index: the mask of the card's whole suit."""


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The compiled form of ``source``. All masks are of one plane (52 bits); all tables are indexed by card."""

    source: RuleSet
    seats: int
    hand_size: int
    two_packs: bool
    cancellation: bool
    next_seat: tuple[int, ...]
    """By seat: the seat to its left."""
    others: tuple[tuple[int, ...], ...]
    """By seat: all other seats, clockwise from its left."""
    opening_card: int
    """Mask of the one card that may open the first trick; 0 where any may."""
    first_trick_barred: int
    """Mask of what a void seat may not discard on the first trick while it holds anything else."""
    lead_barred: int
    """Mask of what may not be led while hearts are unbroken."""
    lead_excused: int
    """A hand wholly inside this mask may lead any of its cards though hearts are unbroken."""
    free_lead: tuple[bool, ...]
    """By card: whether it may be led though hearts are unbroken."""
    breakers: int
    """Mask of the cards that break hearts."""
    penalty: tuple[int, ...]
    """By card: its positive points, else 0."""
    bonus: tuple[int, ...]
    """By card: its negative points, else 0."""
    scoring: int
    """Mask of all cards with points of either sign."""
    eventful: int
    """Mask of the cards that do more than lie there when they are played: by their points or by breaking hearts."""
    penalty_total: int
    """All positive points of the pack: what a moon and a revoke are worth."""
    moon_total: int
    """What shoots the moon: the same where the rule set knows moons, else 0."""
    bonus_total: int
    """All negative points of the pack."""
    deck: tuple[int, ...]
    """The pack in index order, each card as often as it is in the game: what a deal shuffles."""


@lru_cache(maxsize=64)
def compile_rules(source: RuleSet) -> Rules:
    """Compile a rule set (RULES.md sections 1 and 3 into masks); equal rule sets share one result."""
    values = _card_values(source)
    penalty = tuple(max(value, 0) for value in values)
    bonus = tuple(min(value, 0) for value in values)
    penalty_mask = sum(1 << index for index, points in enumerate(penalty) if points)
    bonus_mask = sum(1 << index for index, points in enumerate(bonus) if points)
    removed = {Card.parse(name).index for name in source.removed}
    deck = tuple(index for _ in range(source.decks) for index in range(52) if index not in removed)
    penalty_total = sum([penalty[index] for index in deck])
    restricted = HEARTS if source.must_break_hearts else 0
    excused = restricted
    if restricted and source.qs_may_lead is QueenLead.WHEN_BROKEN:
        restricted |= QUEEN_OF_SPADES
        excused = restricted
    if restricted and source.lead_if_only_penalty is LeadIfOnlyPenalty.FREE:
        excused |= QUEEN_OF_SPADES
    breakers = HEARTS | (QUEEN_OF_SPADES if source.qs_breaks_hearts else 0)
    opens = source.first_leader is FirstLeader.HOLDER_2C and source.first_lead is FirstLead.TWO_OF_CLUBS
    return Rules(
        source=source,
        seats=source.players,
        hand_size=source.hand_size,
        two_packs=source.decks == 2,
        cancellation=source.cancellation,
        next_seat=tuple((seat + 1) % source.players for seat in range(source.players)),
        others=tuple(
            tuple((seat + step) % source.players for step in range(1, source.players)) for seat in range(source.players)
        ),
        opening_card=TWO_OF_CLUBS if opens else 0,
        first_trick_barred=penalty_mask if source.first_trick_ban is FirstTrickBan.PENALTY_CARDS else 0,
        lead_barred=restricted,
        lead_excused=excused,
        free_lead=tuple(not restricted >> index & 1 for index in range(52)),
        breakers=breakers,
        penalty=penalty,
        bonus=bonus,
        scoring=penalty_mask | bonus_mask,
        eventful=penalty_mask | bonus_mask | breakers,
        penalty_total=penalty_total,
        moon_total=0 if source.moon is Moon.NONE else penalty_total,
        bonus_total=sum(bonus[index] for index in deck),
        deck=deck,
    )


def _card_values(source: RuleSet) -> list[int]:
    """Points of each card by index, positive and negative, removed cards at 0."""
    values = [0] * 52
    for card in CARDS:
        name = str(card)
        if name in source.removed:
            continue
        if name in source.bonus:
            values[card.index] = source.bonus[name]
        elif name in source.card_values:
            values[card.index] = source.card_values[name]
        elif card.suit is Suit.HEARTS:
            values[card.index] = card.rank + 2 if source.heart_value == PIP else int(source.heart_value)
        elif name in ("QS", "KS", "AS"):
            values[card.index] = getattr(source, name)
    return values


def legal_cards(rules: Rules, hand: int, led: int | None, first_trick: bool, broken: bool) -> int:
    """What ``hand`` may play, as a mask of distinct cards (RULES.md, rules 3 to 5).

    Args:
        hand: the seat's distinct cards, one plane.
        led: index of the card that was led, or None when this seat leads.
        first_trick: whether this is the hand's first trick.
        broken: whether hearts are broken.
    """
    if led is None:
        return legal_leads(rules, hand, first_trick, broken)
    return hand & SUIT_MASKS[led] or legal_discards(rules, hand, first_trick)


def legal_leads(rules: Rules, hand: int, first_trick: bool, broken: bool) -> int:
    """What ``hand`` may lead (rules 3 and 5)."""
    if first_trick and rules.opening_card:
        return rules.opening_card
    if broken or not hand & ~rules.lead_excused:
        return hand
    return hand & ~rules.lead_barred


def legal_discards(rules: Rules, hand: int, first_trick: bool) -> int:
    """What ``hand`` may play when it is void in the suit led (rule 4)."""
    if first_trick:
        return hand & ~rules.first_trick_barred or hand
    return hand
