"""Many hands of one rule set in step, as NumPy columns: every operation plays a card in each of them.

For whoever plays hands out by the thousand. A card costs some tens of nanoseconds, where :class:`Hand` takes hundreds,
and a step some tens of microseconds however few hands there are: below some fifty hands, single ones are quicker.
The only module of the engine that needs NumPy; nothing else here imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from arbiter.engine.cards import PLANE, PLANE_MASK
from arbiter.engine.errors import EngineError, IllegalPlay
from arbiter.engine.hand import Hand
from arbiter.engine.rules import SUIT_MASKS, TWO_OF_CLUBS, Rules
from arbiter.engine.ruleset import FirstLeader

Masks: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_BITS: Final = np.array([1 << card for card in range(PLANE)], dtype=np.uint64)
_SUIT_MASKS: Final = np.array(SUIT_MASKS, dtype=np.uint64)
_SUIT: Final = 0x1FFF
_NONE: Final = np.uint64(0)


def _suit_tables() -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """By the thirteen bits of a suit: how many are set, and, thirteen values a row, the rank of the n-th that is."""
    bits = np.unpackbits(np.arange(8192, dtype="<u2").view(np.uint8).reshape(-1, 2), axis=1, bitorder="little")[:, :13]
    # A stable sort that puts the set bits first leaves them in their order.
    ranks = np.argsort(1 - bits.astype(np.int8), axis=1, kind="stable")
    return bits.sum(axis=1, dtype=np.int8), ranks.astype(np.int8).ravel()


_COUNTS, _RANKS = _suit_tables()


class HandColumns:
    """Hands in step: the same rules, and the same number of cards played in each.

    :func:`deal_in_step` and :meth:`of` make them.

    Args:
        rules: the compiled rule set.
        once: cards held at least once, as masks: (hands, seats).
        twice: cards held twice: (hands, seats).
        leader: who leads to the first trick: (hands,).
    """

    def __init__(self, rules: Rules, once: Masks, twice: Masks, leader: Numbers) -> None:
        count = len(once)
        self.rules: Final = rules
        self._rows: Final = np.arange(count) * rules.seats
        """Where each hand's seats begin in columns of (hands, seats) that are laid flat."""
        self.once: Final = once
        """Cards still held at least once: (hands, seats)."""
        self.twice: Final = twice
        """Cards still held twice: (hands, seats)."""
        self._left = sum(int(held).bit_count() for held in (*once[0], *twice[0]))
        self.turn: Numbers = leader
        """Seat that owes a card: (hands,)."""
        self._leader: Numbers = leader
        self._led: Masks = np.zeros(count, dtype=np.uint64)
        self._best: Numbers = leader
        self._winning: Numbers = leader
        self._broken: Flags = np.zeros(count, dtype=np.bool_)
        self._trick: list[Numbers] = []
        self._first_trick = True
        self.penalty_taken: Numbers = np.zeros((count, rules.seats), dtype=np.int64)
        """Positive points taken so far: (hands, seats)."""
        self.bonus_taken: Numbers = np.zeros((count, rules.seats), dtype=np.int64)
        """Negative points taken so far: (hands, seats)."""
        self._pending_penalty: Numbers = np.zeros(count, dtype=np.int64)
        self._pending_bonus: Numbers = np.zeros(count, dtype=np.int64)
        self._next_seat: Final = np.array(rules.next_seat)
        self._penalty: Final = np.array(rules.penalty)
        self._bonus: Final = np.array(rules.bonus)
        self._breaks: Final = np.array([bool(rules.breakers >> card & 1) for card in range(PLANE)])
        self._lead_barred: Final = np.uint64(rules.lead_barred)
        self._lead_excused: Final = np.uint64(rules.lead_excused)
        self._first_barred: Final = np.uint64(rules.first_trick_barred)
        self._own: Masks
        self.legal: Masks = self._legal()
        """What ``turn`` may play, as masks of distinct cards: (hands,)."""

    @classmethod
    def of(cls, hands: Sequence[Hand]) -> HandColumns:
        """One or more hands in play, each at the same card of the same trick. They are left alone.

        Raises:
            EngineError: there are none, they differ in what has to be the same, or one of them is not in play.
        """
        first = _first_of(hands)
        columns = cls(
            first.rules,
            np.array([[held & PLANE_MASK for held in hand.hands] for hand in hands], dtype=np.uint64),
            np.array([[held >> PLANE for held in hand.hands] for hand in hands], dtype=np.uint64),
            np.array([hand.leader for hand in hands]),
        )
        columns.turn = np.array([hand.turn for hand in hands])
        columns._led = np.array([hand.led for hand in hands], dtype=np.uint64)
        columns._best = np.array([hand.best for hand in hands])
        columns._winning = np.array([hand.winning for hand in hands])
        columns._broken = np.array([hand.broken for hand in hands])
        columns._trick = [np.array(cards) for cards in zip(*(hand.trick for hand in hands), strict=True)]
        columns._first_trick = first.first_trick
        columns.penalty_taken = np.array([hand.penalty_taken for hand in hands])
        columns.bonus_taken = np.array([hand.bonus_taken for hand in hands])
        columns._pending_penalty = np.array([hand.pending_penalty for hand in hands])
        columns._pending_bonus = np.array([hand.pending_bonus for hand in hands])
        columns.legal = columns._legal()
        return columns

    @property
    def done(self) -> bool:
        """Whether all cards are played."""
        return not self._left

    def lay_aside(self, kitty: Numbers) -> None:
        """These cards of each hand, (hands, cards), go to whoever takes the first trick."""
        self._pending_penalty = self._pending_penalty + self._penalty.take(kitty).sum(axis=1)
        self._pending_bonus = self._pending_bonus + self._bonus.take(kitty).sum(axis=1)

    def play(self, cards: Numbers) -> None:
        """In each hand the seat whose turn it is plays the card with this index: (hands,).

        Raises:
            IllegalPlay: a card is not among ``legal``; nothing has changed then.
        """
        bits = _BITS.take(cards)
        if self.done or not (self.legal & bits).all():
            raise IllegalPlay("no card is due in these hands" if self.done else "a card is not among the legal ones")
        seats = self.turn
        owners = self._rows + seats
        if self.rules.two_packs:
            second = self.twice.take(owners) & bits
            self.twice.reshape(-1)[owners] ^= second
            bits = bits ^ second
        self.once.reshape(-1)[owners] = self._own ^ bits
        self._pending_penalty += self._penalty.take(cards)
        self._pending_bonus += self._bonus.take(cards)
        self._broken |= self._breaks.take(cards)
        if not self._trick:
            self._led, self._best, self._winning = _SUIT_MASKS.take(cards), cards, seats
        else:
            better = (cards > self._best) & (_SUIT_MASKS.take(cards) == self._led)
            self._best = np.where(better, cards, self._best)
            self._winning = np.where(better, seats, self._winning)
        self._trick.append(cards)
        self._left -= 1
        if len(self._trick) == self.rules.seats:
            self._finish_trick()
        else:
            self.turn = self._next_seat.take(seats)
        self.legal = self._legal()

    def _finish_trick(self) -> None:
        if self.rules.cancellation:
            self._cancel()
        takes = self._winning >= 0
        winners = np.where(takes, self._winning, self._leader)
        owners = self._rows + winners
        for taken, pending in (
            (self.penalty_taken, self._pending_penalty),
            (self.bonus_taken, self._pending_bonus),
        ):
            taken.reshape(-1)[owners] += pending * takes
            pending *= ~takes
        self._leader = self.turn = winners
        self._trick = []
        self._first_trick = False

    def _cancel(self) -> None:
        """Two copies of a card in one trick cancel each other (RULES.md, 3.11)."""
        trick = np.stack(self._trick, axis=1)
        alone = (trick[:, :, None] == trick[:, None, :]).sum(axis=2) == 1
        counts = alone & (_BITS[trick] & self._led[:, None] != _NONE)
        best = np.where(counts, trick, -1).argmax(axis=1)
        nobody = self._leader if self.done else np.full_like(self._leader, -1)
        self._winning = np.where(counts.any(axis=1), (self._leader + best) % self.rules.seats, nobody)

    def _legal(self) -> Masks:
        """RULES.md, rules 3 to 5, as :mod:`arbiter.engine.rules` has them for one hand."""
        self._own = own = self.once.take(self._rows + self.turn)
        if not self._trick:
            if self.done:
                return np.zeros_like(own)
            if self._first_trick and self.rules.opening_card:
                return np.full_like(own, self.rules.opening_card)
            return np.where(self._broken | (own & ~self._lead_excused == _NONE), own, own & ~self._lead_barred)
        following = own & self._led
        discards = own
        if self._first_trick:
            free = own & ~self._first_barred
            discards = np.where(free != _NONE, free, own)
        return np.where(following != _NONE, following, discards)


def pick(masks: Masks, draws: npt.NDArray[np.float64]) -> Numbers:
    """Of each mask, none of them empty, the card at ``draw`` of all its cards, ascending: (hands,).

    Args:
        masks: cards of one plane.
        draws: at least 0 and less than 1, such as ``numpy.random.default_rng(1).random(len(masks))``.
    """
    signed = masks.view(np.int64)
    clubs, diamonds, hearts, spades = (_COUNTS.take(signed >> shift & _SUIT) for shift in (0, 13, 26, 39))
    diamonds += clubs
    hearts += diamonds
    spades += hearts
    place = (draws * spades).astype(np.int8)
    suit = (place >= clubs).astype(np.int64)
    suit += place >= diamonds
    suit += place >= hearts
    before = np.where(suit == 1, clubs, np.where(suit == 2, diamonds, hearts))
    place -= np.where(suit == 0, 0, before).astype(np.int8)
    suit *= 13
    return suit + _RANKS.take((signed >> suit & _SUIT) * 13 + place)


def deal_in_step(rules: Rules, count: int, dealer: int, rng: np.random.Generator) -> HandColumns:
    """So many hands, dealt at random and not passed, each deal as likely as any other; what is left is the kitty."""
    pack = rng.permuted(np.tile(np.arange(len(rules.deck)), (count, 1)), axis=1)
    dealt = rules.hand_size * rules.seats
    # The second copies of a pack's cards stand behind all first ones.
    deck = np.array(sorted(set(rules.deck)))
    bits, second = _BITS[deck][pack % len(deck)], pack >= len(deck)
    bits = bits[:, :dealt].reshape(count, rules.seats, rules.hand_size)
    second = second[:, :dealt].reshape(bits.shape)
    one, other = (np.bitwise_or.reduce(np.where(which, bits, _NONE), axis=2) for which in (~second, second))
    if rules.source.first_leader is FirstLeader.HOLDER_2C:
        leader = (one & np.uint64(TWO_OF_CLUBS) != _NONE).argmax(axis=1)
    else:
        leader = np.full(count, rules.next_seat[dealer])
    hands = HandColumns(rules, one | other, one & other, leader)
    hands.lay_aside(deck[pack[:, dealt:] % len(deck)])
    return hands


def play_out_in_step(hands: HandColumns, rng: np.random.Generator) -> None:
    """Play all hands to their end at random, each legal card as likely as any other."""
    while not hands.done:
        hands.play(pick(hands.legal, rng.random(len(hands.legal))))


def _first_of(hands: Sequence[Hand]) -> Hand:
    if not hands:
        raise EngineError("no hands: give one or more")
    first = hands[0]
    for hand in hands:
        if hand.turn < 0:
            raise EngineError("a hand is not in play: exchange the passes first, and leave out finished ones")
        if hand.rules is not first.rules:
            raise EngineError("hands of different rule sets: give those of one")
        if _step(hand) != _step(first):
            raise EngineError("hands at different cards: give hands in which as many are played and as many are left")
    return first


def _step(hand: Hand) -> tuple[bool, int, int]:
    return hand.first_trick, len(hand.trick), sum(held.bit_count() for held in hand.hands)


__all__ = ["HandColumns", "deal_in_step", "pick", "play_out_in_step"]
