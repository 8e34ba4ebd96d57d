"""Hearts a second time, slow and plain: cards are strings, a hand is a list, rules are read off RULES.md one by one.

It shares no code with the engine and takes its parameters as they stand in ``docs/rules/rulesets.json``, so that a
mistake has to be made twice, in two ways, to go unseen. Numbers in the comments are those of RULES.md, section 1.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

Parameters = dict[str, Any]
RANKS = "23456789TJQKA"
STEPS = {"left": 1, "right": -1, "none": 0}


def pack(p: Parameters) -> list[str]:
    """All cards in the game."""
    once = [rank + suit for suit in "SHDC" for rank in RANKS if rank + suit not in p["removed"]]
    return once * int(p["decks"])


def value(p: Parameters, card: str) -> int:
    """Points of a card, of either sign."""
    rank, suit = card[0], card[1]
    if card in p["bonus"]:
        return int(p["bonus"][card])
    if card in p["card_values"]:
        return int(p["card_values"][card])
    if card in ("QS", "KS", "AS"):
        return int(p[card])
    if suit != "H":
        return 0
    if p["heart_value"] != "pip":
        return int(p["heart_value"])
    return {"J": 11, "Q": 12, "K": 13, "A": 14, "T": 10}.get(rank) or int(rank)


def pass_cards(p: Parameters, hands: list[list[str]], direction: str, passes: list[list[str]]) -> list[list[str]]:
    """Rule 2: all passes move at once."""
    seats = len(hands)
    step = seats // 2 if direction == "across" else STEPS[direction]
    after = [list(hand) for hand in hands]
    for seat, cards in enumerate(passes):
        for card in cards:
            after[seat].remove(card)
    for seat, cards in enumerate(passes):
        after[(seat + step) % seats] += cards
    return after


def opening_leader(p: Parameters, hands: list[list[str]], dealer: int) -> int:
    """Rule 3."""
    if p["first_leader"] == "left_of_dealer":
        return (dealer + 1) % len(hands)
    [holder] = [seat for seat, hand in enumerate(hands) if "2C" in hand]
    return holder


def legal(p: Parameters, hand: list[str], table: list[str], trick_number: int, broken: bool) -> set[str]:
    """Rules 3 to 5: what the hand may play after the cards on the table."""
    anything = set(hand)
    if table:
        led = table[0][1]
        following = {card for card in hand if card[1] == led}
        if following:
            return following
        if trick_number == 1 and p["first_trick_ban"] == "penalty_cards":
            return {card for card in hand if value(p, card) <= 0} or anything
        return anything
    if trick_number == 1 and p["first_lead"] == "2C":
        return {"2C"}
    if broken or not p["must_break_hearts"]:
        return anything
    suits = {card[1] for card in hand}
    if suits == {"H"}:
        return anything
    only_penalty = all(card[1] == "H" or card == "QS" for card in hand)
    if p["qs_may_lead"] == "when_broken":
        return anything if only_penalty else {card for card in hand if card[1] != "H" and card != "QS"}
    if only_penalty and p["lead_if_only_penalty"] == "free":
        return anything
    return {card for card in hand if card[1] != "H"}


def winner(p: Parameters, plays: list[tuple[int, str]], last: bool) -> int | None:
    """Rule 7 and section 3.11: the seat that takes the trick, or None when it is carried on."""
    led = plays[0][1][1]
    candidates = [(seat, card) for seat, card in plays if card[1] == led]
    if p["cancellation"]:
        times = Counter(card for _, card in plays)
        candidates = [(seat, card) for seat, card in candidates if times[card] == 1]
        if not candidates:
            return plays[0][0] if last else None
    best = candidates[0]
    for candidate in candidates[1:]:
        if RANKS.index(candidate[1][0]) > RANKS.index(best[1][0]):
            best = candidate
    return best[0]


class NaiveHand:
    """One hand from the first lead on, or from a later one where the leader is given."""

    def __init__(
        self, p: Parameters, hands: list[list[str]], dealer: int, kitty: list[str], leader: int | None = None
    ) -> None:
        self.p = p
        self.hands = [list(hand) for hand in hands]
        self.turn = opening_leader(p, hands, dealer) if leader is None else leader
        self.plays: list[tuple[int, str]] = []
        self.trick_number = 1 if leader is None else 2
        self.broken = False
        self.waiting = list(kitty)
        self.captured: list[list[str]] = [[] for _ in hands]
        self.winners: list[int | None] = []

    def copy(self) -> NaiveHand:
        other = copy.copy(self)
        other.hands = [list(hand) for hand in self.hands]
        other.plays = list(self.plays)
        other.waiting = list(self.waiting)
        other.captured = [list(cards) for cards in self.captured]
        other.winners = list(self.winners)
        return other

    @property
    def over(self) -> bool:
        return not any(self.hands)

    @property
    def legal(self) -> set[str]:
        table = [card for _, card in self.plays]
        return legal(self.p, self.hands[self.turn], table, self.trick_number, self.broken)

    def play(self, card: str) -> None:
        self.hands[self.turn].remove(card)
        self.plays.append((self.turn, card))
        # Rule 6.
        if card[1] == "H" or (card == "QS" and self.p["qs_breaks_hearts"]):
            self.broken = True
        self.turn = (self.turn + 1) % len(self.hands)
        if len(self.plays) == len(self.hands):
            self.finish_trick()

    def finish_trick(self) -> None:
        taker = winner(self.p, self.plays, self.over)
        self.winners.append(taker)
        self.waiting += [card for _, card in self.plays]
        self.turn = self.plays[0][0] if taker is None else taker
        if taker is not None:
            self.captured[taker] += self.waiting
            self.waiting = []
        self.plays = []
        self.trick_number += 1


def score(p: Parameters, captured: list[list[str]], choice: str | None) -> tuple[list[int], int | None]:
    """Rule 8: points by seat, and who shot the moon. ``choice`` is the shooter's where the rule set gives one."""
    positive = [[value(p, card) for card in cards if value(p, card) > 0] for cards in captured]
    bonus = [sum(value(p, card) for card in cards if value(p, card) < 0) for cards in captured]
    everything = [value(p, card) for card in pack(p) if value(p, card) > 0]
    total = sum(everything)
    points = [sum(values) for values in positive]
    shooter = None
    for seat, values in enumerate(positive):
        if values and len(values) == len(everything) and p["moon"] != "none":
            shooter = seat
    if shooter is not None:
        policy = p["moon"]
        if policy in ("choice", "mixed"):
            policy = choice or "old"
        for seat in range(len(captured)):
            partner = any(shooter in team and seat in team for team in p["teams"] or [])
            if policy == "new":
                points[seat] = -total if seat == shooter else 0
            elif seat == shooter or (partner and p["moon_partner"] == "spared"):
                points[seat] = 0
            else:
                points[seat] = total
    return [a + b for a, b in zip(points, bonus, strict=True)], shooter
