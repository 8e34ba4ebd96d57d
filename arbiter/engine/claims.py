"""Is a hand settled before its last card? The one safe ground for stopping early (RULES.md, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from arbiter.engine.cards import PLANE, indexes_of
from arbiter.engine.hand import Hand, Phase

SEARCH_LIMIT: Final = 20_000
"""Plays that the search tries before it gives up."""

_Shares = tuple[tuple[int, int], ...]
"""Who gets which scoring cards, as sorted (card index, seat) pairs."""


def is_settled(hand: Hand, *, limit: int = SEARCH_LIMIT) -> bool:
    """Whether every legal continuation gives each seat the same scoring cards.

    Scoring cards are those with points of either sign. The answer comes from trying every legal continuation, each
    position once; True is a proof. False means that two continuations differ, that cards are still to be passed, or
    that ``limit`` plays did not suffice: then the hand has to be played.
    """
    if hand.phase is not Phase.PLAYING:
        return hand.phase is Phase.DONE
    return _Search(hand, limit).shares(hand, _carried(hand)) is not None


def _carried(hand: Hand) -> _Shares:
    """Scoring cards that go with the next trick won (kitty, cancelled tricks), as of seat -1."""
    cards = list(indexes_of(hand.kitty))
    for trick in hand.tricks:
        cards = [] if trick.winner is not None else [*cards, *trick.cards]
    return _scoring(hand, cards)


def _scoring(hand: Hand, cards: Iterable[int], seat: int = -1) -> _Shares:
    return tuple((card, seat) for card in cards if hand.rules.scoring >> card & 1)


class _Search:
    """A depth-first search over continuations that stops at the first two which differ."""

    def __init__(self, hand: Hand, limit: int) -> None:
        scoring = hand.rules.scoring
        self._both_planes = scoring | scoring << PLANE
        self._left = limit
        self._known: dict[tuple[object, ...], _Shares | None] = {}

    def shares(self, hand: Hand, carried: _Shares) -> _Shares | None:
        """Who gets the scoring cards that nobody has yet, or None where that is open."""
        if not carried and not self._out(hand):
            return ()
        key = (tuple(hand.hands), hand.leader, tuple(hand.trick), hand.broken, hand.first_trick, carried)
        if key not in self._known:
            self._known[key] = self._try_all(hand, carried)
        return self._known[key]

    def _out(self, hand: Hand) -> bool:
        scoring = self._both_planes
        return any(cards & scoring for cards in hand.hands) or any(scoring >> card & 1 for card in hand.trick)

    def _try_all(self, hand: Hand, carried: _Shares) -> _Shares | None:
        first: _Shares | None = None
        for card in hand.legal_indexes:
            if not self._left:
                return None
            self._left -= 1
            shares = self._after(hand, card, carried)
            if shares is None or (first is not None and shares != first):
                return None
            first = shares
        return first

    def _after(self, hand: Hand, card: int, carried: _Shares) -> _Shares | None:
        child = hand.copy()
        child.play(card)
        gained: _Shares = ()
        if not child.led:
            trick = child.tricks[-1]
            taken = [held for held, _ in carried] + list(trick.cards)
            if trick.winner is None:
                carried = _scoring(hand, taken)
            else:
                gained, carried = _scoring(hand, taken, trick.winner), ()
        rest = self.shares(child, carried)
        return None if rest is None else tuple(sorted(gained + rest))
