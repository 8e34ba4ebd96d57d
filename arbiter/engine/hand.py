"""One hand: passing, then tricks, to the last card. A deterministic state machine without clock or chance.

The state is one small mutable object because this is the hot path; :meth:`Hand.copy` gives an independent one.
Cards are indexes and masks here (see :mod:`arbiter.engine.cards`); nothing is allocated per card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import Final, NamedTuple

from arbiter.engine.cards import CARDS, PLANE, PLANE_MASK, SUITS, indexes_in_suit, indexes_of
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


_trick: Final[Callable[[tuple[int, tuple[int, ...], int | None, int]], Trick]] = partial(tuple.__new__, Trick)
"""A trick from its fields, without the detour that a named tuple's own constructor makes."""


class Hand:
    """One hand in play; :func:`new_hand` makes one.

    A hand is of the class that plays its rules, so that the play loop asks for no variant.
    """

    __slots__ = (
        "_outcomes",
        "_played",
        "_points",
        "_start",
        "_tricks",
        "best",
        "bonus_taken",
        "broken",
        "dealer",
        "direction",
        "first_trick",
        "hands",
        "kitty",
        "leader",
        "led",
        "legal",
        "offenders",
        "passed",
        "penalty_taken",
        "pending_bonus",
        "pending_penalty",
        "phase",
        "received",
        "rules",
        "turn",
        "winning",
    )

    def __init__(
        self, rules: Rules, hands: list[int], dealer: int, direction: PassDirection, kitty: int, broken: bool
    ) -> None:
        self.rules = rules
        self.hands = hands
        """By seat: cards still held, as masks."""
        self.dealer = dealer
        self.direction = direction
        self.kitty = kitty
        self.phase = Phase.PASSING
        self.passed: tuple[tuple[int, ...], ...] | None = None
        """By seat: card indexes passed, once all have."""
        self.received: tuple[tuple[int, ...], ...] | None = None
        """By seat: card indexes received, once all have passed."""
        self.leader = -1
        """Seat that led, or leads, the current trick."""
        self.turn = -1
        """Seat that owes a card; -1 unless playing."""
        self.legal = 0
        """What ``turn`` may play, as a mask of distinct cards."""
        self.led = 0
        """Mask of the suit that was led; 0 while the lead is owed."""
        self.best = -1
        """Card index that takes the trick as it lies on the table; without meaning while the lead is owed."""
        self.winning = -1
        """Seat that played it."""
        self.first_trick = True
        """Whether no trick is finished."""
        self.broken = broken
        """Whether hearts are broken."""
        self.penalty_taken = [0] * rules.seats
        """By seat: positive points taken so far."""
        self.bonus_taken = [0] * rules.seats
        """By seat: negative points taken so far."""
        self._points: tuple[int, ...] | None = None
        """What :attr:`points` gave since they last changed."""
        self.pending_penalty = 0
        """Positive points that go with the next trick won: of its cards, the kitty, carried tricks."""
        self.pending_bonus = 0
        """Negative points that go with the next trick won."""
        self.offenders: tuple[int, ...] = ()
        """Seats whose offence ended the hand."""
        # A trick becomes an object when somebody asks for it: most hands that searches and playouts play never are.
        self._played: list[int] = []
        """Card indexes in the order played, from the first card after ``_tricks`` as they were given."""
        self._start = 0
        """Where the current trick begins in ``_played``."""
        self._outcomes: list[int] = []
        """Of each trick finished but not in ``_tricks``: where it begins, leader, winner (-1 for none) and points."""
        self._tricks: list[Trick] = []

    def copy(self) -> Hand:
        """An independent hand in the same state."""
        other = self._alike()
        # Written out because searches and playouts copy by the thousand: a loop over the names takes twice as long.
        other.phase = self.phase
        other.passed = self.passed
        other.received = self.received
        other.leader = self.leader
        other.turn = self.turn
        other.legal = self.legal
        other.led = self.led
        other.best = self.best
        other.winning = self.winning
        other.first_trick = self.first_trick
        other.penalty_taken = self.penalty_taken.copy()
        other.bonus_taken = self.bonus_taken.copy()
        other._points = self._points
        other.pending_penalty = self.pending_penalty
        other.pending_bonus = self.pending_bonus
        other.offenders = self.offenders
        other._played = self._played.copy()
        other._start = self._start
        other._outcomes = self._outcomes.copy()
        other._tricks = self._tricks.copy()
        return other

    def _alike(self) -> Hand:
        """A hand of the same class with the same cards."""
        return Hand(self.rules, self.hands.copy(), self.dealer, self.direction, self.kitty, self.broken)

    @property
    def trick(self) -> list[int]:
        """Card indexes on the table, the leader's first."""
        return self._played[self._start :]

    @property
    def tricks(self) -> list[Trick]:
        """Finished tricks."""
        outcomes = self._outcomes
        for at in range(0, len(outcomes), 4):
            leader, winner = outcomes[at + 1], outcomes[at + 2]
            end = outcomes[at + 4] if at + 4 < len(outcomes) else self._start
            cards = tuple(self._played[outcomes[at] : end])
            self._tricks.append(_trick((leader, cards, None if winner < 0 else winner, outcomes[at + 3])))
        if outcomes:
            outcomes.clear()
        return self._tricks

    @property
    def legal_indexes(self) -> tuple[int, ...]:
        """What ``turn`` may play, as ascending indexes of distinct cards; empty unless playing."""
        legal = self.legal
        if legal & self.led:
            return indexes_in_suit(legal, SUITS[self.best])
        return indexes_of(legal)

    def set_up(self, leader: int | None, tricks: Sequence[Trick], trick: Sequence[int]) -> None:
        """What :func:`new_hand` does to a hand that was just made."""
        for card in indexes_of(self.kitty):
            self._count(card)
        for past in tricks:
            for card in past.cards:
                self._count(card)
            if past.winner is not None:
                self._collect(past.winner)
        self._tricks = list(tricks)
        self.first_trick = not tricks
        if self.direction is not PassDirection.NONE:
            return
        self._start_play(self._first_leader() if leader is None else leader)
        for card in trick:
            seat = self.turn
            held = self.hands[seat]
            self.hands[seat] = self.legal = 1 << card
            self.play(card)
            self.hands[seat] = held

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
        hands = self.hands
        bit = 1 << card
        # Not "^=", which a compiled engine does to boxed numbers.
        hands[seat] = hands[seat] ^ bit
        self._played.append(card)
        if bit & rules.eventful:
            self._note(card)
        led = self.led
        if not led:
            self.led = led = SUIT_MASKS[card]
            self.best = card
            self.winning = seat
        elif card > self.best and bit & led:
            self.best = card
            self.winning = seat
        seat = rules.next_seat[seat]
        if seat == self.leader:
            self._finish_trick()
            return
        self.turn = seat
        held = hands[seat]
        self.legal = held & led or (self._legal_discards() if self.first_trick else held)

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
        if self.led:
            if self.legal & self.led:
                suit = CARDS[self.trick[0]].suit.name.lower()
                return IllegalPlay(f"{name} does not follow {suit}, which the hand holds", revoke=True)
            return IllegalPlay(f"{name} has points, which may not be discarded on the first trick")
        if self.first_trick and self.rules.opening_card:
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
    def points(self) -> tuple[int, ...]:
        """By seat: points taken so far, bonus cards included, before any moon."""
        points = self._points
        if points is None:
            taken = zip(self.penalty_taken, self.bonus_taken, strict=True)
            self._points = points = tuple([penalty + bonus for penalty, bonus in taken])
        return points

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
        return legal_leads(self.rules, self.hands[self.turn], self.first_trick, self.broken)

    def _legal_discards(self) -> int:
        return legal_discards(self.rules, self.hands[self.turn], self.first_trick)

    def _finish_trick(self) -> None:
        """The highest card of the led suit takes the trick, of equal ones the first (RULES.md, rule 7)."""
        self._end_trick(self.winning, self._last())

    def _last(self) -> bool:
        """Whether nobody holds a card any more."""
        return not self.hands[self.turn] and not any(self.hands)

    def _end_trick(self, winner: int, last: bool) -> None:
        """Give the trick to its winner, or carry it on where there is none (-1), and let the next lead begin."""
        points = 0
        leader = self.leader
        if winner >= 0:
            self.leader = winner
            if self.pending_penalty or self.pending_bonus:
                points = self._collect(winner)
        outcomes = self._outcomes
        outcomes.append(self._start)
        outcomes.append(leader)
        outcomes.append(winner)
        outcomes.append(points)
        self._start = len(self._played)
        self.led = 0
        self.first_trick = False
        if last:
            self._finish()
            return
        self.turn = turn = self.leader
        self.legal = self.hands[turn] if self.broken else self._legal_leads()

    def _note(self, card: int) -> None:
        """Count a card that was played for whoever takes it, and see whether it breaks hearts."""
        self._count(card)
        if self.rules.breakers >> card & 1:
            self.broken = True

    def _count(self, card: int) -> None:
        self.pending_penalty += self.rules.penalty[card]
        self.pending_bonus += self.rules.bonus[card]

    def _collect(self, winner: int) -> int:
        """Give the points that wait for a winner to this seat; returns them."""
        penalty, bonus = self.pending_penalty, self.pending_bonus
        self.penalty_taken[winner] = self.penalty_taken[winner] + penalty
        self.bonus_taken[winner] = self.bonus_taken[winner] + bonus
        self._points = None
        self.pending_penalty = self.pending_bonus = 0
        return penalty + bonus

    def _finish(self) -> None:
        self.phase = Phase.DONE
        self.turn = -1
        self.legal = 0


class _TwoPackHand(Hand):
    """Hands of two planes: the second copy of a card is played before the first."""

    __slots__ = ()

    def _alike(self) -> Hand:
        return _TwoPackHand(self.rules, self.hands.copy(), self.dealer, self.direction, self.kitty, self.broken)

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
        return legal_leads(self.rules, self.hands[self.turn] & PLANE_MASK, self.first_trick, self.broken)

    def _legal_discards(self) -> int:
        return legal_discards(self.rules, self.hands[self.turn] & PLANE_MASK, self.first_trick)


class _CancellationHand(_TwoPackHand):
    """Two copies of a card in one trick cancel each other (RULES.md, 3.11)."""

    __slots__ = ()

    def _alike(self) -> Hand:
        return _CancellationHand(self.rules, self.hands.copy(), self.dealer, self.direction, self.kitty, self.broken)

    def _finish_trick(self) -> None:
        trick = self.trick
        last = self._last()
        alone = [card for card in trick if self.led >> card & 1 and trick.count(card) == 1]
        if alone:
            self._end_trick((self.leader + trick.index(max(alone))) % self.rules.seats, last)
        else:
            self._end_trick(self.leader if last else -1, last)


def new_hand(
    rules: Rules,
    hands: Sequence[int],
    *,
    dealer: int,
    direction: PassDirection = PassDirection.NONE,
    kitty: int = 0,
    leader: int | None = None,
    tricks: Sequence[Trick] = (),
    trick: Sequence[int] = (),
    broken: bool = False,
) -> Hand:
    """A hand that was dealt, or a position from the middle of one.

    Args:
        rules: the compiled rule set.
        hands: by seat, the cards dealt as a mask (two planes with two packs). Any sizes are taken, so that positions
            from the middle of a hand can be set up; a hand is over when nobody holds a card.
        dealer: the dealer's seat.
        direction: where passed cards go; ``none`` starts play at once.
        kitty: cards left over by the deal, as a mask.
        leader: who leads, or led to ``trick``, where the position is one from the middle of a hand; None takes who the
            rules say.
        tricks: those finished before the position. Their cards count for who took them; a trick of unknown cards may
            stand with none.
        trick: card indexes on the table, the leader's first, fewer than there are seats. They are laid there, not
            played: nobody asks whether they were legal.
        broken: whether hearts are broken in it.

    Raises:
        EngineError: the holder of 2C leads and nobody holds it (here, or in :meth:`Hand.exchange`).
    """
    kind = _CancellationHand if rules.cancellation else _TwoPackHand if rules.two_packs else Hand
    hand = kind(rules, list(hands), dealer, direction, kitty, broken)
    hand.set_up(leader, tricks, trick)
    return hand
