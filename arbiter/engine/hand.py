"""One hand: passing, then tricks, to the last card. A deterministic state machine without clock or chance.

The state is one small mutable object because this is the hot path; :meth:`Hand.copy` gives an independent one.
Cards are indexes and masks here (see :mod:`arbiter.engine.cards`); nothing is allocated per card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import Final, NamedTuple

from arbiter.engine.cards import CARDS, PLANE, PLANE_MASK, indexes_of
from arbiter.engine.errors import EngineError, IllegalPlay
from arbiter.engine.passing import check_pass, exchange, pass_target
from arbiter.engine.rules import SUIT_MASKS, TWO_OF_CLUBS, Rules, legal_discards, legal_leads
from arbiter.engine.ruleset import FirstLeader, PassDirection


class Phase(Enum):
    """Where a hand is."""

    PASSING = auto()
    """Every seat owes its cards to pass."""
    PLAYING = auto()
    """Seat ``turn`` owes a card."""
    DONE = auto()
    """All cards are played, or the hand was ended by an offence or early."""


class Trick(NamedTuple):
    """A finished trick, public in every part."""

    leader: int
    """Seat that led."""
    cards: tuple[int, ...]
    """Card indexes in the order played, the leader's first."""
    winner: int | None
    """Seat that took it; None when all led-suit cards cancelled and its points are carried."""
    points: int
    """Points of its cards and of what was carried into it, bonus cards included; 0 when carried on."""


_finished: Final[Callable[[tuple[int, tuple[int, ...], int | None, int]], Trick]] = partial(tuple.__new__, Trick)
"""A trick from its parts, without the detour that a named tuple's own constructor makes."""

_BITS: Final = {index: 1 << index for index in range(PLANE)}
_TOPS: Final = tuple(index // 13 * 13 + 12 for index in range(PLANE))
"""By card: the ace of its suit."""


class Hand:
    """One hand in play.

    Args:
        rules: the compiled rule set.
        hands: by seat, the cards dealt as a mask (two planes with two packs). Any sizes are taken, so that positions
            from the middle of a hand can be set up; a hand is over when nobody holds a card.
        dealer: the dealer's seat.
        direction: where passed cards go; ``none`` starts play at once.
        kitty: cards left over by the deal, as a mask.
        leader: who leads, where the position is one from the middle of a hand; None takes who the rules say.
        tricks: those finished before the position. Their cards count for who took them; a trick of unknown cards may
            stand with none.
        broken: whether hearts are broken in it.

    Raises:
        EngineError: the holder of 2C leads and nobody holds it (here, or in :meth:`exchange`).
    """

    __slots__ = (
        "bonus_taken",
        "broken",
        "dealer",
        "direction",
        "hands",
        "kitty",
        "leader",
        "legal",
        "offenders",
        "passed",
        "penalty_taken",
        "pending_bonus",
        "pending_penalty",
        "phase",
        "received",
        "rules",
        "trick",
        "tricks",
        "turn",
    )

    def __new__(cls, rules: Rules, *_: object, **__: object) -> Hand:
        """A hand of the class that plays these rules, so that the play loop asks for no variant."""
        if rules.cancellation:
            return object.__new__(_CancellationHand)
        return object.__new__(_TwoPackHand if rules.two_packs else Hand)

    def __init__(
        self,
        rules: Rules,
        hands: Sequence[int],
        *,
        dealer: int,
        direction: PassDirection = PassDirection.NONE,
        kitty: int = 0,
        leader: int | None = None,
        tricks: Sequence[Trick] = (),
        broken: bool = False,
    ) -> None:
        self.rules = rules
        self.hands = list(hands)
        """By seat: cards still held, as masks."""
        self.dealer = dealer
        self.direction = direction
        self.kitty = kitty
        self.passed: tuple[tuple[int, ...], ...] | None = None
        """By seat: card indexes passed, once all have."""
        self.received: tuple[tuple[int, ...], ...] | None = None
        """By seat: card indexes received, once all have passed."""
        self.tricks = list(tricks)
        """Finished tricks."""
        self.trick: list[int] = []
        """Card indexes on the table, the leader's first."""
        self.leader = -1
        """Seat that led, or leads, the current trick."""
        self.turn = -1
        """Seat that owes a card; -1 unless playing."""
        self.legal = 0
        """What ``turn`` may play, as a mask of distinct cards."""
        self.broken = broken
        """Whether hearts are broken."""
        self.penalty_taken = [0] * rules.seats
        """By seat: positive points taken so far."""
        self.bonus_taken = [0] * rules.seats
        """By seat: negative points taken so far."""
        self.pending_penalty = sum(rules.penalty[index] for index in indexes_of(kitty))
        """Positive points that go with the next trick won: of its cards, the kitty, carried tricks."""
        self.pending_bonus = sum(rules.bonus[index] for index in indexes_of(kitty))
        """Negative points that go with the next trick won."""
        self.offenders: tuple[int, ...] = ()
        """Seats whose offence ended the hand."""
        for trick in tricks:
            for card in trick.cards:
                self.pending_penalty += rules.penalty[card]
                self.pending_bonus += rules.bonus[card]
            if trick.winner is not None:
                self._collect(trick.winner)
        if direction is PassDirection.NONE:
            self._start_play(self._first_leader() if leader is None else leader)
        else:
            self.phase = Phase.PASSING

    def copy(self) -> Hand:
        """An independent hand in the same state."""
        other = object.__new__(type(self))
        # Written out because searches and playouts copy by the thousand: a loop over the names takes twice as long.
        other.rules = self.rules
        other.hands = self.hands.copy()
        other.dealer = self.dealer
        other.direction = self.direction
        other.kitty = self.kitty
        other.passed = self.passed
        other.received = self.received
        other.tricks = self.tricks.copy()
        other.trick = self.trick.copy()
        other.leader = self.leader
        other.turn = self.turn
        other.legal = self.legal
        other.broken = self.broken
        other.penalty_taken = self.penalty_taken.copy()
        other.bonus_taken = self.bonus_taken.copy()
        other.pending_penalty = self.pending_penalty
        other.pending_bonus = self.pending_bonus
        other.offenders = self.offenders
        other.phase = self.phase
        return other

    def exchange(self, passes: Sequence[Sequence[int]]) -> None:
        """Move all passed cards at once and begin play.

        Args:
            passes: by seat, the card indexes it passes.

        Raises:
            IllegalPass: a seat passes what it may not; nothing has moved then.
        """
        for seat, cards in enumerate(passes):
            check_pass(self.rules, self.hands[seat], cards)
        self.hands = exchange(self.rules, self.hands, self.direction, passes)
        received: list[tuple[int, ...]] = [()] * self.rules.seats
        for seat, cards in enumerate(passes):
            received[pass_target(self.rules.seats, seat, self.direction)] = tuple(sorted(cards))
        self.passed = tuple(tuple(sorted(cards)) for cards in passes)
        self.received = tuple(received)
        self._start_play(self._first_leader())

    def play(self, card: int) -> None:
        """Seat ``turn`` plays the card with this index.

        Raises:
            IllegalPlay: the card is not among ``legal``; nothing has changed then.
        """
        bit = _BITS.get(card, 0)
        if not self.legal & bit:
            raise self.why_illegal(card)
        rules = self.rules
        seat = self.turn
        hands = self.hands
        hands[seat] ^= bit
        trick = self.trick
        trick.append(card)
        if rules.eventful[card]:
            self._note(card)
        if len(trick) == rules.seats:
            self._finish_trick()
            return
        self.turn = seat = rules.next_seat[seat]
        self.legal = hands[seat] & SUIT_MASKS[trick[0]] or (hands[seat] if self.tricks else self._legal_discards())

    def why_illegal(self, card: int) -> IllegalPlay:
        """The error that says why ``turn`` may not play the card, which is not legal now."""
        if self.phase is not Phase.PLAYING:
            return IllegalPlay("no card is due in this hand")
        if not 0 <= card < PLANE:
            return IllegalPlay(f"{card} is no card: indexes run from 0 to {PLANE - 1}")
        name = CARDS[card]
        hand = self.hands[self.turn]
        if not hand >> card & 1:
            return IllegalPlay(f"{name} is not in the hand")
        if self.trick:
            if self.legal & SUIT_MASKS[self.trick[0]]:
                suit = CARDS[self.trick[0]].suit.name.lower()
                return IllegalPlay(f"{name} does not follow {suit}, which the hand holds", revoke=True)
            return IllegalPlay(f"{name} has points, which may not be discarded on the first trick")
        if not self.tricks and self.rules.opening_card:
            return IllegalPlay(f"{name} led, but the first trick opens with 2C")
        return IllegalPlay(f"{name} may not be led before hearts are broken while other cards are held")

    def end_by_offence(self, *offenders: int) -> None:
        """End the hand at once: each offender scores its whole positive total, all others 0 (RULES.md, section 4)."""
        self.offenders = offenders
        self._finish()

    def end_early(self) -> None:
        """End a hand that is :attr:`settled`: its score is what it would be after the last card.

        Raises:
            EngineError: it is not settled; nothing has changed then.
        """
        if not self.settled:
            raise EngineError("the hand is not settled: cards with points are still to be taken; play on")
        self._finish()

    @property
    def settled(self) -> bool:
        """Whether all positive and bonus cards are taken, so that the cards left decide nothing (RULES.md, section 4).

        This is the cheap half of :func:`~arbiter.engine.claims.is_settled`: True is a proof, False is none.
        """
        return (
            self.phase is not Phase.PASSING
            and sum(self.penalty_taken) == self.rules.penalty_total
            and sum(self.bonus_taken) == self.rules.bonus_total
        )

    @property
    def first_trick(self) -> bool:
        """Whether the first trick is being played."""
        return not self.tricks

    @property
    def points(self) -> tuple[int, ...]:
        """By seat: points taken so far, bonus cards included, before any moon."""
        return tuple(map(sum, zip(self.penalty_taken, self.bonus_taken, strict=True)))

    def _first_leader(self) -> int:
        if self.rules.source.first_leader is not FirstLeader.HOLDER_2C:
            return self.rules.next_seat[self.dealer]
        for seat, hand in enumerate(self.hands):
            if hand & TWO_OF_CLUBS:
                return seat
        raise EngineError("nobody holds 2C, whose holder leads: deal it, or say who leads")

    def _start_play(self, leader: int) -> None:
        self.phase = Phase.PLAYING
        self.turn = self.leader = leader
        self.legal = self._legal_leads()

    def _legal_leads(self) -> int:
        return legal_leads(self.rules, self.hands[self.turn], not self.tricks, self.broken)

    def _legal_discards(self) -> int:
        return legal_discards(self.rules, self.hands[self.turn], not self.tricks)

    def _finish_trick(self) -> None:
        """The highest card of the led suit takes the trick, of equal ones the first (RULES.md, rule 7)."""
        trick = self.trick
        best = trick[0]
        top = _TOPS[best]
        for card in trick:
            if best < card <= top:
                best = card
        self._end_trick((self.leader + trick.index(best)) % self.rules.seats, not any(self.hands))

    def _end_trick(self, winner: int | None, last: bool) -> None:
        """Give the trick to its winner, or carry it on where there is none, and let the next lead begin."""
        points = 0
        leader = self.leader
        if winner is not None:
            self.leader = winner
            if self.pending_penalty or self.pending_bonus:
                points = self._collect(winner)
        self.tricks.append(_finished((leader, tuple(self.trick), winner, points)))
        self.trick = []
        if last:
            self._finish()
            return
        self.turn = turn = self.leader
        self.legal = self.hands[turn] if self.broken else self._legal_leads()

    def _note(self, card: int) -> None:
        """Count a card that was played for whoever takes it, and see whether it breaks hearts."""
        rules = self.rules
        self.pending_penalty += rules.penalty[card]
        self.pending_bonus += rules.bonus[card]
        if rules.breakers & _BITS[card]:
            self.broken = True

    def _collect(self, winner: int) -> int:
        """Give the points that wait for a winner to this seat; returns them."""
        points = self.pending_penalty + self.pending_bonus
        self.penalty_taken[winner] += self.pending_penalty
        self.bonus_taken[winner] += self.pending_bonus
        self.pending_penalty = self.pending_bonus = 0
        return points

    def _finish(self) -> None:
        self.phase = Phase.DONE
        self.turn = -1
        self.legal = 0


class _TwoPackHand(Hand):
    """Hands of two planes: the second copy of a card is played before the first."""

    __slots__ = ()

    def play(self, card: int) -> None:
        """See :meth:`Hand.play`."""
        if 0 <= card < PLANE and self.legal >> card & 1:
            held = self.hands[self.turn]
            second = 1 << (card + PLANE)
            if held & second:
                # Playing flips the card's lower bit; flipped here too, it stays set, and the upper one goes.
                self.hands[self.turn] = held ^ second ^ (1 << card)
        super().play(card)
        self.legal &= PLANE_MASK

    def _legal_leads(self) -> int:
        return legal_leads(self.rules, self.hands[self.turn] & PLANE_MASK, not self.tricks, self.broken)

    def _legal_discards(self) -> int:
        return legal_discards(self.rules, self.hands[self.turn] & PLANE_MASK, not self.tricks)


class _CancellationHand(_TwoPackHand):
    """Two copies of a card in one trick cancel each other (RULES.md, 3.11)."""

    __slots__ = ()

    def _finish_trick(self) -> None:
        trick = self.trick
        last = not any(self.hands)
        led = SUIT_MASKS[trick[0]]
        alone = [card for card in trick if led >> card & 1 and trick.count(card) == 1]
        if alone:
            self._end_trick((self.leader + trick.index(max(alone))) % self.rules.seats, last)
        else:
            self._end_trick(self.leader if last else None, last)
