"""Monte-Carlo: deal the cards one can't see at random, play each choice out, keep the best on average.

Lesson: what one knows shapes the guess. Everything public narrows where a card can be: who failed to follow a suit has
none of it, what was passed is where it went until it is played, and each seat holds as many cards as it must. The
engine that the arbiter plays with comes with the SDK, so hands can be played out by the real rules, whatever they are.
The bot draws from ``view.random`` and plays a fixed number of hands out, so it is reproducible to the last card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

from arbiter.engine import Hand, new_hand, pass_target, score_hand
from arbiter.engine.rules import SUIT_MASKS
from arbiter.engine.ruleset import Winner
from arbiter.sdk import CARDS, Bot, Card, CardView, MatchInfo, PassView, Suit, mask_of, run

ALL_CARDS = (1 << 52) - 1
LOW_FIRST = tuple(sum(1 << 13 * suit + rank for suit in range(4)) for rank in range(13))
"""By rank, from two: its four cards as a mask."""
HIGH_FIRST = LOW_FIRST[::-1]


class Known:
    """Where the unseen cards can be, as far as the seat can know.

    Places are the seats and, last, the kitty: cards left over by the deal, which nobody has seen.
    """

    def __init__(self, view: CardView) -> None:
        self.view = view
        rules = view.match.compiled
        unseen = Counter(rules.deck)
        unseen.subtract(card.index for card in view.hand)
        self.room = [view.hand_mask.bit_count()] * rules.seats + [rules.source.kitty_size]
        """By place: how many unseen cards it holds."""
        self.may_hold = [ALL_CARDS] * len(self.room)
        """By place: what it may hold, as a mask."""
        target = pass_target(rules.seats, view.seat, view.direction)
        passed = Counter(view.table.passed)
        self.room[view.seat] = 0
        for at in range(len(view.trick_indexes)):
            self.room[(view.leader + at) % rules.seats] -= 1
        tricks = [(trick.leader, trick.cards) for trick in view.tricks]
        for leader, cards in [*tricks, (view.leader, view.trick_indexes)]:
            unseen.subtract(cards)
            for at, card in enumerate(cards):
                seat = (leader + at) % rules.seats
                if not SUIT_MASKS[cards[0]] >> card & 1:
                    self.may_hold[seat] &= ~SUIT_MASKS[cards[0]]
                if seat == target:
                    passed[card] -= 1
        self.others = mask_of((+unseen).elements())
        """Mask of the cards that other seats, or the kitty, hold."""
        self.held = {target: list((+passed).elements())} if view.table.passed else {}
        """By seat: cards that it is known to hold."""
        for seat, held in self.held.items():
            unseen.subtract(held)
            self.room[seat] -= len(held)
        self.unseen = sorted((+unseen).elements(), key=self._places)
        """The cards to deal, those with the fewest possible places first."""

    def _places(self, card: int) -> int:
        return sum(mask >> card & 1 for mask, room in zip(self.may_hold, self.room, strict=True) if room)

    def deal(self, random: Random) -> list[list[int]]:
        """By place: the cards that others hold, dealt at random as they can lie."""
        free = [place for place, room in enumerate(self.room) for _ in range(room)]
        random.shuffle(free)
        dealt: list[list[int]] = [[] for _ in self.room]
        for card in self.unseen:
            self._put(card, free, dealt, set())
        for seat, held in self.held.items():
            dealt[seat] += held
        return dealt

    def _put(self, card: int, free: list[int], dealt: list[list[int]], tried: set[int]) -> bool:
        """Put the card into the first free place that may hold it; where all are full, a card of theirs moves on."""
        for at, place in enumerate(free):
            if self.may_hold[place] >> card & 1:
                del free[at]
                dealt[place].append(card)
                return True
        for place, cards in enumerate(dealt):
            if place not in tried and self.may_hold[place] >> card & 1:
                tried.add(place)
                for at, other in enumerate(cards):
                    if self._put(other, free, dealt, tried):
                        cards[at] = card
                        return True
        return False

    def world(self, random: Random) -> Hand:
        """The hand in play as it may be."""
        view = self.view
        *hands, kitty = map(mask_of, self.deal(random))
        hands[view.seat] = view.hand_mask
        rules, tricks, broken = view.match.compiled, view.tricks, view.hearts_broken
        # The trick on the table is laid, not played: the worlds' other seats may hold what would have forbidden a card.
        return new_hand(
            rules,
            hands,
            dealer=view.dealer,
            kitty=kitty,
            leader=view.leader,
            tricks=tricks,
            trick=view.trick_indexes,
            broken=broken,
        )


class MonteCarlo(Bot):
    """Plays the card that did best over random worlds."""

    rounds = (12, 16, 32)
    """How many worlds are dealt for a decision, after each of which the worse half of the choices is left out."""

    def start(self, match: MatchInfo) -> None:
        rules = match.compiled
        self.wants_points = (match.rules.winner is Winner.HIGHEST) == (match.rules.sign > 0)
        self.costly = sum(1 << card for card, points in enumerate(rules.penalty) if points)
        tiers = sorted({points for points in rules.penalty if points > 1}, reverse=True)
        heavy = [sum(1 << c for c in range(52) if rules.penalty[c] == points) for points in tiers]
        self.worst = heavy[0] if heavy else 0
        # For the rules of thumb: what is not led, what is discarded first, and what ducks.
        self.risky = sum(suit.mask & -(suit.mask & self.worst) for suit in Suit if suit.mask & self.worst)
        self.discards = heavy
        self.lead_order, self.discard_order, self.duckable = LOW_FIRST, HIGH_FIRST, ALL_CARDS
        if self.wants_points:
            self.risky, self.discards, self.duckable = 0, [ALL_CARDS & ~self.costly], 0
            self.lead_order, self.discard_order = HIGH_FIRST, LOW_FIRST

    def choose_pass(self, view: PassView) -> list[Card]:
        def danger(card: Card) -> float:
            held = (view.hand_mask & card.suit.mask).bit_count()
            if self.worst & card.suit.mask and held < 6:
                return 20 if card.mask & self.risky else -20
            return card.rank - held + 2 * bool(self.costly & card.mask)

        return sorted(view.hand, key=danger, reverse=not self.wants_points)[: view.pass_count]

    def choose_card(self, view: CardView) -> Card:
        known = Known(view)
        results = dict.fromkeys(self.choices(view, known.others | mask_of(set(view.trick_indexes))), 0.0)
        for worlds in self.rounds:
            if len(results) == 1:
                break
            for _ in range(worlds):
                world = known.world(view.random)
                for card in results:
                    trial = world.copy()
                    trial.play(card)
                    self.play_out(trial)
                    results[card] += self.value(trial, view.seat)
            best = sorted(results.items(), key=lambda item: -item[1])
            results = dict(best[: (len(best) + 1) // 2])
        return CARDS[next(iter(results))]

    def choices(self, view: CardView, others: int) -> list[int]:
        """Legal cards, but one only of those that cost the same and have no card of ``others`` between them."""
        points = view.match.card_points
        found: list[int] = []
        for card in (card.index for card in view.legal):
            alike = [c for c in found[-1:] if c // 13 == card // 13 and points[c] == points[card]]
            if not alike or others & (1 << card) - (1 << alike[0]):
                found.append(card)
        return found

    def value(self, hand: Hand, seat: int) -> float:
        """What the finished hand is worth to the seat's side against the mean of the others."""
        points = score_hand(hand.rules, hand.penalty_taken, hand.bonus_taken).points
        side = next((team for team in hand.rules.source.teams or () if seat in team), (seat,))
        own = sum(points[member] for member in side)
        lead = own / len(side) - (sum(points) - own) / (len(points) - len(side))
        return lead if self.wants_points else -lead

    def play_out(self, hand: Hand) -> None:
        """Play the hand to its end, or to its last point, every seat by the same rules of thumb."""
        costly, risky, worst = self.costly, self.risky, self.worst
        next_seat = hand.rules.next_seat
        while legal := hand.legal:
            led = hand.led
            if not led and hand.settled:
                return
            if not legal & legal - 1:
                hand.play(legal.bit_length() - 1)
            elif not led:
                hand.play(pick(legal & ~risky or legal, self.lead_order))
            elif legal & led:
                if below := legal & self.duckable & (1 << hand.best) - 1:
                    hand.play((below & worst or below).bit_length() - 1)
                elif next_seat[hand.turn] == hand.leader:
                    hand.play((legal & ~costly or legal).bit_length() - 1)
                else:
                    hand.play((legal & -legal).bit_length() - 1)
            else:
                discard = next((legal & cards for cards in self.discards if legal & cards), legal)
                hand.play(pick(discard, self.discard_order))


def pick(cards: int, ranks: Iterable[int]) -> int:
    """Index of a card of the first of ``ranks`` that the mask, which is not empty, has one of."""
    for rank in ranks:
        if cards & rank:
            break
    return (cards & rank).bit_length() - 1


if __name__ == "__main__":
    run(MonteCarlo())
