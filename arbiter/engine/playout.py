"""Random playouts: a hand played to its end by chance, as Monte-Carlo bots do by the thousand.

A :class:`Hand` plays the rest of a trick in progress, and two packs. From a lead on little more is asked for than suits
and points, and the cards lie in plain lists by seat and suit, which is nearly twice as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from arbiter.engine.cards import SUITS, indexes_by_suit
from arbiter.engine.hand import Hand
from arbiter.engine.rules import Rules


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
    two_packs = hand.rules.two_packs
    if two_packs or hand.led or hand.pending_penalty or hand.pending_bonus:
        hand = hand.copy()
        while hand.turn >= 0 and (two_packs or hand.led or hand.pending_penalty or hand.pending_bonus):
            legal = hand.legal_indexes
            hand.play(legal[int(draw() * len(legal))])
    taken = Taken(hand.penalty_taken.copy(), hand.bonus_taken.copy())
    if hand.turn >= 0:
        _play_tricks(hand, draw, taken)
    return taken


def _play_tricks(hand: Hand, draw: Callable[[], float], taken: Taken) -> None:
    """Play one pack's tricks from a lead to the end, for what is taken alone."""
    rules = hand.rules
    suit_of, eventful, breakers, others = SUITS, rules.eventful, rules.breakers, rules.others
    penalty, bonus = rules.penalty, rules.bonus
    first = hand.first_trick
    broken = hand.broken
    held = [indexes_by_suit(mask) for mask in hand.hands]
    leader = hand.leader
    choices = list(hand.legal_indexes)
    lying: list[int] = []
    for _ in range(hand.hands[leader].bit_count()):
        card = best = choices[int(draw() * len(choices))]
        suit = suit_of[card]
        held[leader][suit].remove(card)
        if eventful >> card & 1:
            lying.append(card)
        winner = leader
        for seat in others[leader]:
            own = held[seat]
            if following := own[suit]:
                card = following.pop(int(draw() * len(following)))
                if card > best:
                    best = card
                    winner = seat
            else:
                clubs, diamonds, hearts, spades = own
                choices = clubs + diamonds + hearts + spades
                if first:
                    choices = _may_discard_first(choices, rules.first_trick_barred)
                card = choices[int(draw() * len(choices))]
                own[suit_of[card]].remove(card)
            if eventful >> card & 1:
                lying.append(card)
        if lying:
            for card in lying:
                taken.penalty[winner] += penalty[card]
                taken.bonus[winner] += bonus[card]
                if breakers >> card & 1:
                    broken = True
            lying.clear()
        first = False
        leader = winner
        clubs, diamonds, hearts, spades = held[leader]
        choices = clubs + diamonds + hearts + spades
        if not broken:
            choices = _may_lead_unbroken(choices, rules)


def _may_discard_first(cards: list[int], barred: int) -> list[int]:
    """Rule 4 of RULES.md for a void hand on the first trick."""
    return [card for card in cards if not barred >> card & 1] or cards


def _may_lead_unbroken(cards: list[int], rules: Rules) -> list[int]:
    """Rule 5 for a hand on lead while hearts are unbroken; what excuses a hand holds all that is barred."""
    free_lead, excused = rules.free_lead, rules.lead_excused
    free = [card for card in cards if free_lead[card]]
    return free if any(not excused >> card & 1 for card in free) else cards
