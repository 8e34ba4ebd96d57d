"""Deals that differ in hidden cards alone, and bots that play by one script in both as far as the rules let them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbiter.deals import Deal
from arbiter.engine import Card, cards_of, mask_of
from arbiter.match import HandRecord
from arbiter.sdk import Bot, CardView, PassView

KITTY = -1


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many of their first elements are the same."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@dataclass(frozen=True)
class Script:
    """What everybody does at one board."""

    passes: tuple[tuple[int, ...], ...]
    """By place: card indexes."""
    cards: tuple[int, ...]
    """In the order played."""


def script_of(hand: HandRecord) -> Script:
    """A hand's own course as a script."""
    places = range(len(hand.places))
    passes = hand.passed or ((),) * len(hand.places)
    return Script(
        tuple(passes[hand.places.index(place)] for place in places),
        tuple(card for trick in hand.tricks for card in trick.cards),
    )


class Scripted(Bot):
    """Passes what it was given to pass and plays its part of each board's script, while the rules allow it."""

    def __init__(self, place: int, scripts: Mapping[int, Script]) -> None:
        self._place = place
        self._scripts = scripts

    def choose_pass(self, view: PassView) -> list[Card]:
        return [Card(index) for index in self._scripts[view.board].passes[self._place]]

    def choose_card(self, view: CardView) -> Card:
        card = self._scripts[view.board].cards[len(view.tricks) * view.players + len(view.trick)]
        return Card(card) if view.legal_mask >> card & 1 else view.legal[0]


def hidden_changed(hand: HandRecord, seat: int, after: int, chance: random.Random, *, kitty: bool = True) -> Deal:
    """The deal with the cards shuffled that the other seats play after trick ``after``, and those of the kitty."""
    passed = {card for cards in hand.passed or () for card in cards}
    cards: list[int] = [card.index for card in cards_of(hand.kitty)] if kitty else []
    owners: list[int] = [KITTY] * len(cards)
    for trick in hand.tricks[after:]:
        for turn, card in enumerate(trick.cards):
            owner = (trick.leader + turn) % len(hand.places)
            if owner != seat and card not in passed:
                owners.append(owner)
                cards.append(card)
    held = {owner: [card.index for card in cards_of(mask)] for owner, mask in enumerate(hand.dealt)}
    held[KITTY] = [card.index for card in cards_of(hand.kitty)]
    for owner, card in zip(owners, cards, strict=True):
        held[owner].remove(card)
    chance.shuffle(cards)
    for owner, card in zip(owners, cards, strict=True):
        held[owner].append(card)
    return Deal(tuple(mask_of(held[owner]) for owner in range(len(hand.places))), mask_of(held[KITTY]))


def public_events(hands: Sequence[HandRecord], place: int) -> tuple[list[object], list[int]]:
    """What the table saw at board after board, and after how many events each answer of this place was due."""
    events: list[object] = []
    due: list[int] = []
    for hand in hands:
        seat = hand.places.index(place)
        if hand.passed is not None:
            due.append(len(events))
        for trick in hand.tricks:
            events.append(f"seat {trick.leader} leads")
            for turn, card in enumerate(trick.cards):
                if (trick.leader + turn) % len(hand.places) == seat:
                    due.append(len(events))
                events.append(card)
            events.append((trick.winner, trick.points))
    return events, due
