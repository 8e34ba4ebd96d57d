"""Careful: a price for every card, and the cheapest is played. Lesson: ask the rules, don't write them down.

What cards are worth comes from ``view.match.card_points`` and what is good from the rule set, so the same few rules of
thumb serve every game: duck, get rid of what is dangerous, keep low cards over the queen of spades (or whatever is
heavy in this game), take bonus cards, and stop whoever is about to shoot the moon.
"""

from __future__ import annotations

from arbiter.engine.ruleset import Moon, Winner
from arbiter.sdk import Bot, Card, CardView, MatchInfo, PassView, Suit, mask_of, run


class Careful(Bot):
    """Plays the card that is likely to cost the least."""

    def start(self, match: MatchInfo) -> None:
        rules = match.rules
        self.sign = -1 if (rules.winner is Winner.HIGHEST) == (rules.sign > 0) else 1
        self.cost = [self.sign * points for points in match.card_points]
        self.total = sum(points for points in self.cost if points > 0)
        self.heavy = [max((self.cost[card], card) for card in range(13 * suit, 13 * suit + 13)) for suit in Suit]
        self.deck = mask_of(set(match.compiled.deck))
        self.watch = rules.moon is not Moon.NONE and self.sign > 0

    def choose_pass(self, view: PassView) -> list[Card]:
        def burden(card: Card) -> tuple[bool, float]:
            guarded = self.heavy[card.suit][0] > self.total / 6 and (view.hand_mask & card.suit.mask).bit_count() > 4
            return not guarded, self.danger(card, view.hand_mask, self.deck & ~view.hand_mask)

        return sorted(view.hand, key=burden)[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        played = mask_of({*view.trick_indexes, *(card for trick in view.tricks for card in trick.cards)})
        unseen = self.deck & ~view.hand_mask & ~played
        return min(view.legal, key=lambda card: self.price(card, view, unseen))

    def price(self, card: Card, view: CardView, unseen: int) -> float:
        """Points that playing the card is likely to cost, less what it is worth to be rid of it."""
        trick = view.trick
        led = trick[0].suit if trick else card.suit
        top = max((other.index for other in trick if other.suit is led), default=-1)
        to_come = view.players - len(trick) - 1
        load = float(sum(self.cost[other.index] for other in trick) + self.cost[card.index])
        chance = 0.0
        if card.suit is led and card.index > top:
            lower = (unseen & led.mask & card.mask - 1).bit_count()
            higher = (unseen & led.mask & -card.mask).bit_count()
            chance = 1.0 if not (to_come and higher) else lower / (lower + higher)
            if to_come:
                # Others drop what is heavy below my card, or whatever they like once they are out of the suit.
                dropped = max([0, *(self.cost[i] for i in range(13 * led, card.index) if unseen >> i & 1)])
                load += dropped / 2 + self.total / 8 * to_come / (to_come + lower + higher)
        if load > 0 and (threat := self.threat(view)) is not None:
            if chance:
                load = -self.total / 4
            elif trick and threat == (view.leader + view.trick_indexes.index(top)) % view.players:
                return self.total / 4 + self.cost[card.index]
        return chance * (load + 0.5) - self.danger(card, view.hand_mask, unseen) / 3

    def danger(self, card: Card, hand: int, unseen: int) -> float:
        """How much one would like to be rid of the card, in points or so."""
        suit = card.suit
        held = (hand & suit.mask).bit_count()
        lower = (unseen & suit.mask & card.mask - 1).bit_count()
        higher = (unseen & suit.mask & -card.mask).bit_count()
        takes = lower / (lower + higher) if higher else float(lower > 0)
        points, heavy = self.heavy[suit]
        danger = self.sign * takes * (4 + (held < 3)) + self.cost[card.index]
        if card.index >= heavy and points > self.total / 6 and (hand | unseen) >> heavy & 1:
            danger += points / (1 + held / 2)
        return danger

    def threat(self, view: CardView) -> int | None:
        """Another seat that has taken all points so far, and many."""
        takers = [seat for seat, points in enumerate(view.points) if points > 0]
        if self.watch and len(takers) == 1 and takers[0] != view.seat and view.points[takers[0]] > self.total / 2:
            return takers[0]
        return None


if __name__ == "__main__":
    run(Careful())
