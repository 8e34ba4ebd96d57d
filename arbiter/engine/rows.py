"""Hands of one rule set side by side, each at a card of its own, as NumPy rows: one operation plays a card in many.

:mod:`arbiter.engine.columns` moves hands in step; here any of them go on while others wait, as tables do at which
different bots sit. A :class:`Hand` lends the state of its play to a row and gets it back, with all cards that were
played meanwhile, whenever something is due that is out of the ordinary: what is written here is what happens at every
card, and no more. It needs NumPy and one pack.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arbiter.engine.cards import PLANE
from arbiter.engine.errors import EngineError
from arbiter.engine.hand import Hand, Phase
from arbiter.engine.rules import SUIT_MASKS, Rules
from arbiter.engine.view import PlayColumns

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_BITS: Final = np.array([1 << card for card in range(PLANE)], dtype=np.int64)
_SUIT_MASKS: Final = np.array(SUIT_MASKS, dtype=np.int64)


class _Of(IntEnum):
    """What is kept of a hand beside what its seats hold and have taken, in this order. Masks fit: 52 bits of 63."""

    TURN = 0
    LEADER = 1
    WINNING = 2
    LEGAL = 3
    LED = 4
    BEST = 5
    BROKEN = 6
    FIRST_TRICK = 7
    PENDING_PENALTY = 8
    PENDING_BONUS = 9
    COUNT = 10
    """How many cards of the hand are played."""
    SIZE = 11
    """How many of them lie on the table."""
    TRICKS = 12
    """How many tricks were completed since the hand was taken."""


class TrickColumns(NamedTuple):
    """Tricks that were completed, one row for each; the cards follow one another, as many a row as there are seats."""

    place: list[int]
    """Where its hand stands among those that a card was played in."""
    leader: list[int]
    cards: list[int]
    winner: list[int]
    points: list[int]


class HandRows:
    """Rows for hands in play.

    Args:
        rules: the compiled rule set, of one pack without cancellation.
        rows: how many hands there can be at the same time.
        early_end: whether a hand is over once it is settled; see :attr:`Hand.settled`.

    Raises:
        EngineError: the rule set has two packs, or cancellation.
    """

    def __init__(self, rules: Rules, rows: int, early_end: bool = False) -> None:
        if rules.two_packs or rules.cancellation:
            raise EngineError("rows hold one pack without cancellation: play other hands one by one")
        seats = rules.seats
        self._rules: Final = rules
        self._early_end: Final = early_end
        self._free: Final = list(range(rows))
        self._hands: Final[dict[int, Hand]] = {}
        self._state: Final = np.zeros((len(_Of), rows), dtype=np.int64)
        self._held: Final = np.zeros((rows, seats), dtype=np.int64)
        """Cards held, as masks."""
        self._penalty_taken, self._bonus_taken = (np.zeros((rows, seats), dtype=np.int64) for _ in range(2))
        self._trick: Final = np.zeros((rows, seats), dtype=np.int64)
        """Cards on the table, the leader's first."""
        self._played: Final = np.zeros((rows, len(rules.deck)), dtype=np.int8)
        self._outcomes: Final = np.zeros((rows, rules.hand_size, 4), dtype=np.int32)
        """Of each trick completed: where it begins among the cards played, leader, winner and points."""
        self._next_seat: Final = np.array(rules.next_seat)
        self._points: Final = np.array([rules.penalty, rules.bonus])
        self._breaks: Final = np.array([rules.breakers >> card & 1 for card in range(PLANE)])
        self._seats: Final = np.arange(seats)

    def take(self, hands: Sequence[Hand]) -> Numbers:
        """Hands in play lend their state: until :meth:`give_back` they are asked nothing. Returns their rows.

        Raises:
            EngineError: one of them is not in play, or there are no rows left; nothing has changed then.
        """
        if len(hands) > len(self._free):
            raise EngineError(f"{len(self._free)} rows are left, and there are {len(hands)} hands: give some back")
        if any(hand.turn < 0 for hand in hands):
            raise EngineError("a hand is not in play: exchange the passes first, and leave out finished ones")
        taken = [self._free.pop() for _ in hands]
        self._hands.update(zip(taken, hands, strict=True))
        rows = np.array(taken)
        tricks = [hand.trick for hand in hands]
        fields = [
            (
                hand.turn,
                hand.leader,
                hand.winning,
                hand.legal,
                hand.led,
                hand.best,
                hand.broken,
                hand.first_trick,
                hand.pending_penalty,
                hand.pending_bonus,
                len(hand._played),
                len(trick),
                0,
            )
            for hand, trick in zip(hands, tricks, strict=True)
        ]
        self._state[:, rows] = np.array(fields).T
        self._held[rows] = [hand.hands for hand in hands]
        self._penalty_taken[rows] = [hand.penalty_taken for hand in hands]
        self._bonus_taken[rows] = [hand.bonus_taken for hand in hands]
        for row, trick in zip(taken, tricks, strict=True):
            self._trick[row, : len(trick)] = trick
        return rows

    def give_back(self, rows: Sequence[int]) -> None:
        """Hands get their state back, and their rows are free."""
        at = np.array(rows)
        columns = zip(
            rows,
            self._state[:, at].T.tolist(),
            self._held[at].tolist(),
            self._penalty_taken[at].tolist(),
            self._bonus_taken[at].tolist(),
            strict=True,
        )
        for row, state, held, penalty_taken, bonus_taken in columns:
            hand = self._hands.pop(row)
            hand.turn, hand.leader, hand.winning, hand.legal, hand.led, hand.best, broken, first, *pending = state[:10]
            hand.broken, hand.first_trick = bool(broken), bool(first)
            hand.pending_penalty, hand.pending_bonus = pending
            hand.hands, hand.penalty_taken, hand.bonus_taken = held, penalty_taken, bonus_taken
            hand._points = None
            count, size, tricks = state[_Of.COUNT :]
            hand._played += self._played[row, len(hand._played) : count].tolist()
            hand._outcomes += self._outcomes[row, :tricks].ravel().tolist()
            hand._start = count - size
            if hand.turn < 0:
                hand.phase = Phase.DONE
        self._free.extend(rows)

    def allow(self, rows: Numbers, cards: Numbers) -> bool:
        """Whether each of these card indexes, at least 0, may be played in its row."""
        return bool(cards.max() < PLANE and (self._state[_Of.LEGAL].take(rows) >> cards & 1).all())

    def play(self, rows: Numbers, cards: Numbers) -> tuple[Numbers, TrickColumns | None]:
        """In each of these rows, none of which comes twice, whose turn it is plays the card with this index, which is
        allowed.

        Returns:
            By row: the seat whose turn it is then, -1 where the hand is over; and the tricks that were completed.
        """
        state = self._state.take(rows, axis=1)
        seat, size, best, winning = state[_Of.TURN], state[_Of.SIZE], state[_Of.BEST], state[_Of.WINNING]
        self._held[rows, seat] ^= _BITS.take(cards)
        self._trick[rows, size] = cards
        self._played[rows, state[_Of.COUNT]] = cards
        state[_Of.COUNT] += 1
        state[_Of.PENDING_PENALTY : _Of.PENDING_BONUS + 1] += self._points.take(cards, axis=1)
        state[_Of.BROKEN] |= self._breaks.take(cards)
        suit = _SUIT_MASKS.take(cards)
        leads = size == 0
        np.copyto(state[_Of.LED], suit, where=leads)
        better = leads | ((cards > best) & (suit == state[_Of.LED]))
        np.copyto(best, cards, where=better)
        np.copyto(winning, seat, where=better)
        size += 1
        turn = self._next_seat.take(seat)
        tricks = None
        if (full := np.flatnonzero(size == self._rules.seats)).size:
            tricks = self._finish(full, rows[full], state)
            turn[full] = np.where(self._over(rows[full]), -1, state[_Of.LEADER, full])
        state[_Of.TURN] = turn
        state[_Of.LEGAL] = self._legal(state, self._held[rows, turn])
        self._state[:, rows] = state
        return turn, tricks

    def see(self, rows: Numbers) -> PlayColumns:
        """What the seats see whose turn it is in these rows: what :func:`arbiter.engine.view.play_columns` says."""
        state = self._state.take(rows, axis=1)
        size = state[_Of.SIZE]
        return PlayColumns(
            self._held[rows, state[_Of.TURN]].tolist(),
            state[_Of.LEGAL].tolist(),
            state[_Of.LEADER].tolist(),
            size.tolist(),
            self._trick[rows][self._seats < size[:, None]].tolist(),
            state[_Of.BROKEN].astype(np.bool_).tolist(),
            (self._penalty_taken[rows] + self._bonus_taken[rows]).ravel().tolist(),
        )

    def _finish(self, full: Numbers, rows: Numbers, state: Numbers) -> TrickColumns:
        """Give full tricks to their winners; ``full`` says which columns of ``state`` these rows are."""
        winners, leaders = state[_Of.WINNING, full], state[_Of.LEADER, full]
        penalty, bonus = state[_Of.PENDING_PENALTY, full], state[_Of.PENDING_BONUS, full]
        self._penalty_taken[rows, winners] += penalty
        self._bonus_taken[rows, winners] += bonus
        points, number = penalty + bonus, state[_Of.TRICKS, full]
        outcome = np.stack([state[_Of.COUNT, full] - self._rules.seats, leaders, winners, points], axis=1)
        self._outcomes[rows, number] = outcome
        state[_Of.TRICKS, full] = number + 1
        state[_Of.LEADER, full] = winners
        for cleared in (_Of.PENDING_PENALTY, _Of.PENDING_BONUS, _Of.SIZE, _Of.LED, _Of.FIRST_TRICK):
            state[cleared, full] = 0
        return TrickColumns(
            full.tolist(), leaders.tolist(), self._trick[rows].ravel().tolist(), winners.tolist(), points.tolist()
        )

    def _over(self, rows: Numbers) -> Flags:
        """In which of these rows, whose trick is full, nobody holds a card, or nothing is left to be decided."""
        over: Flags = np.logical_not(self._held[rows].any(axis=1))
        if self._early_end:
            settled = self._penalty_taken[rows].sum(axis=1) == self._rules.penalty_total
            settled &= self._bonus_taken[rows].sum(axis=1) == self._rules.bonus_total
            np.logical_or(over, settled, out=over)
        return over

    def _legal(self, state: Numbers, own: Numbers) -> Numbers:
        """RULES.md, rules 3 to 5, as :mod:`arbiter.engine.rules` has them for one hand, from the second card on."""
        rules, led = self._rules, state[_Of.LED]
        following = own & led
        legal = np.where(following != 0, following, own)
        if state[_Of.FIRST_TRICK].any():
            free = own & ~rules.first_trick_barred
            discards = (following == 0) & (free != 0) & (state[_Of.FIRST_TRICK] != 0)
            np.copyto(legal, free, where=discards)
        leads = led == 0
        barred = leads & (state[_Of.BROKEN] == 0) & (own & ~rules.lead_excused != 0)
        np.copyto(legal, own & ~rules.lead_barred, where=barred)
        np.copyto(legal, 0, where=state[_Of.TURN] < 0)
        return legal


__all__ = ["HandRows", "TrickColumns"]
