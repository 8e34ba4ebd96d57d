"""Random playouts: a hand played to its end by chance, as Monte-Carlo bots do by the thousand.

A :class:`Hand` plays the first trick, with all its rules, and the rest of a trick in progress. From there on little is
left of the rules, and the cards lie in plain lists by seat and suit, which is several times faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from arbiter.engine.cards import PLANE, Suit, indexes_of
from arbiter.engine.hand import Hand

_CLUBS, _DIAMONDS, _HEARTS, _SPADES = (suit.mask for suit in Suit)

_SUIT_OF: Final = tuple(index // 13 for index in range(PLANE))
"""By card: its place in a hand's list of suits."""


class Taken(NamedTuple):
    """What each seat has taken at the end of a hand; :func:`~arbiter.engine.scoring.score_hand` makes points of it."""

    penalty: list[int]
    """By seat: positive points."""
    bonus: list[int]
    """By seat: negative points."""


def play_out(hand: Hand, draw: Callable[[], float]) -> Taken:
    """Play the rest of a hand at random, each legal card as likely as any other, and leave the hand itself alone.

    Args:
        hand: a hand in play, in which every seat that still has to play to this trick holds one card more than those
            that have.
        draw: gives numbers of at least 0 and less than 1, such as ``random.Random(1).random``.
    """
    hand = hand.copy()
    whole = hand.rules.two_packs
    while hand.turn >= 0 and (whole or hand.trick or not hand.tricks):
        legal = indexes_of(hand.legal)
        hand.play(legal[int(draw() * len(legal))])
    if hand.turn >= 0:
        _play_tricks(hand, draw)
    return Taken(hand.penalty_taken, hand.bonus_taken)


def _play_tricks(hand: Hand, draw: Callable[[], float]) -> None:
    """Play one pack's tricks from the next lead to the end, for what is taken alone."""
    rules = hand.rules
    penalty, bonus, eventful, breakers = rules.penalty, rules.bonus, rules.eventful, rules.breakers
    penalty_taken, bonus_taken = hand.penalty_taken, hand.bonus_taken
    broken = hand.broken
    held = [_by_suit(mask) for mask in hand.hands]
    leader = hand.leader
    for _ in range(hand.hands[leader].bit_count()):
        clubs, diamonds, hearts, spades = own = held[leader]
        choices = clubs + diamonds + hearts + spades
        if not broken:
            choices = _may_lead(choices, rules.lead_barred, rules.lead_excused)
        card = best = choices[int(draw() * len(choices))]
        suit = _SUIT_OF[card]
        own[suit].remove(card)
        taken = [card] if eventful[card] else []
        winner = leader
        for seat in rules.others[leader]:
            following = held[seat][suit]
            if following:
                card = following.pop(int(draw() * len(following)))
                if card > best:
                    best = card
                    winner = seat
            else:
                clubs, diamonds, hearts, spades = own = held[seat]
                choices = clubs + diamonds + hearts + spades
                card = choices[int(draw() * len(choices))]
                own[_SUIT_OF[card]].remove(card)
            if eventful[card]:
                taken.append(card)
        for card in taken:
            penalty_taken[winner] += penalty[card]
            bonus_taken[winner] += bonus[card]
            if breakers >> card & 1:
                broken = True
        leader = winner


def _by_suit(mask: int) -> list[list[int]]:
    return [
        list(indexes_of(mask & _CLUBS)),
        list(indexes_of(mask & _DIAMONDS)),
        list(indexes_of(mask & _HEARTS)),
        list(indexes_of(mask & _SPADES)),
    ]


def _may_lead(cards: list[int], barred: int, excused: int) -> list[int]:
    """Rule 5 of RULES.md for a list of cards."""
    free = [card for card in cards if not barred >> card & 1]
    return free if any(not excused >> card & 1 for card in cards) else cards
