"""Moonshooter: takes everything when the hand is strong enough. Lesson: a plan that is checked again at every card.

Shooting the moon turns the worst hand into the best one, and a try that fails costs all its points. So the plan needs
a test that is asked anew at each decision: is it still possible, and is the rest of the hand still strong enough?
"""

from __future__ import annotations

from arbiter.engine.ruleset import Moon
from arbiter.sdk import Bot, Card, CardView, MatchInfo, PassView, Rank, mask_of, run


class Moonshooter(Bot):
    """Shoots when strong, ducks otherwise."""

    to_begin = 0.6
    """Share of the cards that have to be masters for a try to begin."""
    to_go_on = 0.75
    """The same once points were taken."""

    def start(self, match: MatchInfo) -> None:
        self.cost = match.card_points
        self.deck = mask_of(set(match.compiled.deck))
        self.can_shoot = match.rules.moon is not Moon.NONE

    def choose_pass(self, view: PassView) -> list[Card]:
        ranked = sorted(view.hand, key=lambda card: (card.rank, self.cost[card.index]))
        high = sum(card.rank >= Rank.JACK for card in ranked)
        if self.can_shoot and high >= 7:
            return ranked[: view.pass_count]
        return ranked[-view.pass_count :]

    def choose_card(self, view: CardView) -> Card:
        if self.can_shoot and self.still_possible(view) and self.strong(view):
            return self.take(view)
        return self.duck(view)

    def still_possible(self, view: CardView) -> bool:
        """Whether no other seat has taken a point."""
        return all(points <= 0 for seat, points in enumerate(view.points) if seat != view.seat)

    def strong(self, view: CardView) -> bool:
        """Whether most cards of the hand are masters: with fewer above them unseen than held in the suit."""
        played = mask_of({*view.trick_indexes, *(card for trick in view.tricks for card in trick.cards)})
        unseen = self.deck & ~view.hand_mask & ~played
        masters = sum(
            (unseen & card.suit.mask & -card.mask).bit_count() * 3 <= (view.hand_mask & card.suit.mask).bit_count() - 1
            for card in view.hand
        )
        begun = view.points[view.seat] > 0
        return masters >= len(view.hand) * (self.to_go_on if begun else self.to_begin)

    def take(self, view: CardView) -> Card:
        """The highest card that follows suit or leads; off suit the one that is least use."""
        trick = view.trick
        if trick and view.legal[0].suit is not trick[0].suit:
            return min(view.legal, key=lambda card: (self.cost[card.index] > 0, card.rank))
        return max(view.legal, key=lambda card: (card.rank, -self.cost[card.index]))

    def duck(self, view: CardView) -> Card:
        """The highest card that stays below the trick's best, else the lowest; off suit the worst."""
        trick = view.trick
        if not trick:
            return min(view.legal, key=lambda card: card.rank)
        if view.legal[0].suit is not trick[0].suit:
            return max(view.legal, key=lambda card: (self.cost[card.index], card.rank))
        best = max(card for card in trick if card.suit is trick[0].suit)
        below = [card for card in view.legal if card < best]
        return max(below, key=lambda card: (self.cost[card.index], card.rank)) if below else view.legal[0]


if __name__ == "__main__":
    run(Moonshooter())
