"""One hand: passing, then tricks, to the last card. A deterministic state machine without clock or chance.

The state is one small mutable object because this is the hot path; :meth:`Hand.copy` gives an independent one.
Cards are indexes and masks here (see :mod:`arbiter.engine.cards`); nothing is allocated per card.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from arbiter.engine.cards import CARDS, PLANE, PLANE_MASK, indexes_of
from arbiter.engine.errors import EngineError, IllegalPlay
from arbiter.engine.passing import check_pass, exchange, pass_target
from arbiter.engine.rules import SUIT_MASKS, TWO_OF_CLUBS, Rules, legal_cards
from arbiter.engine.ruleset import FirstLeader, PassDirection


class Phase(Enum):
    """Where a hand is."""

    PASSING = auto()
    """Every seat owes its cards to pass."""
    PLAYING = auto()
    """Seat ``turn`` owes a card."""
    DONE = auto()
    """All cards are played, or the hand was ended by an offence."""


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


class Hand:
    """One hand in play.

    Args:
        rules: the compiled rule set.
        hands: by seat, the cards dealt as a mask (two planes with two packs). Any sizes are taken, so that positions
        from
            the middle of a hand can be set up; a hand is over when nobody holds a card.
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
        """Positive points that go with the next trick won (kitty, carried tricks)."""
        self.pending_bonus = sum(rules.bonus[index] for index in indexes_of(kitty))
        """Negative points that go with the next trick won."""
        self.offenders: tuple[int, ...] = ()
        """Seats whose offence ended the hand."""
        for trick in tricks:
            self._collect(trick.cards, trick.winner)
        if direction is PassDirection.NONE:
            self._start_play(self._first_leader() if leader is None else leader)
        else:
            self.phase = Phase.PASSING

    def copy(self) -> Hand:
        """An independent hand in the same state."""
        other = object.__new__(type(self))
        for name in Hand.__slots__:
            setattr(other, name, getattr(self, name))
        other.hands = self.hands.copy()
        other.tricks = self.tricks.copy()
        other.trick = self.trick.copy()
        other.penalty_taken = self.penalty_taken.copy()
        other.bonus_taken = self.bonus_taken.copy()
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
        if card < 0 or not self.legal >> card & 1:
            raise self.why_illegal(card)
        rules = self.rules
        seat = self.turn
        self.hands[seat] ^= 1 << card
        trick = self.trick
        trick.append(card)
        if rules.breakers >> card & 1:
            self.broken = True
        if len(trick) == rules.seats:
            self._finish_trick()
            return
        self.turn = seat = rules.next_seat[seat]
        following = self.hands[seat] & SUIT_MASKS[trick[0]]
        if following:
            self.legal = following
        else:
            self.legal = self._legal_cards(trick[0])

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
        self.legal = self._legal_cards(None)

    def _legal_cards(self, led: int | None) -> int:
        """What ``turn`` may play on ``led``, or lead."""
        return legal_cards(self.rules, self.hands[self.turn], led, not self.tricks, self.broken)

    def _winning_position(self, last: bool) -> int | None:
        """Position in the trick of the card that takes it; None when nobody does."""
        return _winner(self.trick)

    def _finish_trick(self) -> None:
        trick = self.trick
        last = not any(self.hands)
        position = self._winning_position(last)
        leader = self.leader
        winner = None if position is None else (leader + position) % self.rules.seats
        self.tricks.append(Trick(leader, tuple(trick), winner, self._collect(trick, winner)))
        if winner is not None:
            self.leader = winner
        self.trick = []
        if last:
            self._finish()
            return
        self.turn = self.leader
        self.legal = self._legal_cards(None)

    def _collect(self, cards: Sequence[int], winner: int | None) -> int:
        """Count a trick for its winner, with all that waits for one; returns the points taken."""
        penalty, bonus = self.rules.penalty, self.rules.bonus
        for card in cards:
            self.pending_penalty += penalty[card]
            self.pending_bonus += bonus[card]
        if winner is None:
            return 0
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

    def _legal_cards(self, led: int | None) -> int:
        return legal_cards(self.rules, self.hands[self.turn] & PLANE_MASK, led, not self.tricks, self.broken)


class _CancellationHand(_TwoPackHand):
    """Two copies of a card in one trick cancel each other."""

    __slots__ = ()

    def _winning_position(self, last: bool) -> int | None:
        position = _uncancelled_winner(self.trick)
        return 0 if position is None and last else position


def _winner(trick: Sequence[int]) -> int:
    """Position in the trick of the highest card of the led suit; of equal ones the first (RULES.md, rule 7)."""
    best = trick[0]
    top = best - best % 13 + 12
    position = 0
    for index in range(1, len(trick)):
        if best < trick[index] <= top:
            best = trick[index]
            position = index
    return position


def _uncancelled_winner(trick: Sequence[int]) -> int | None:
    """The same where two copies of a card in one trick cancel each other (RULES.md, 3.11); None when all did."""
    alone = [index for index, card in enumerate(trick) if trick.count(card) == 1]
    led = SUIT_MASKS[trick[0]]
    following = [index for index in alone if led >> trick[index] & 1]
    return max(following, key=lambda index: trick[index], default=None)
