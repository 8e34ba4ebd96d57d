"""Counts of legal play sequences by depth, from fixed positions: ``perft.json``, and how it is made and checked.

``python -m tests.rules.perft`` counts all positions with the engine and with the naive implementation and exits 1 when
a count is not the recorded one; ``--write`` draws the positions anew, counts them with the naive implementation and
records that. Equal cards of two packs are one move.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.engine import CARDS, Card, Hand, Trick, compile_rules, mask_of, new_hand, rule_set
from arbiter.engine.cards import indexes_of
from tests.rules import naive

FILE: Final = Path(__file__).parent / "perft.json"
TABLE: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "docs" / "rules" / "rulesets.json").read_text("utf-8")
)
MOST: Final = 5_000
"""Most sequences of one depth that a position may have."""
PAST: Final = Trick(leader=0, cards=(), winner=0, points=0)
"""A trick of which nothing is told but that it was the first."""


class Position(NamedTuple):
    """A position to count from; cards by name."""

    ruleset: str
    options: list[str]
    override: dict[str, Any]
    hands: list[list[str]]
    kitty: list[str]
    dealer: int
    leader: int | None
    """Who leads to the second trick; None at the beginning of a hand, where the rules say who."""
    counts: list[int]
    """By depth, from 1: how many legal sequences of so many plays there are."""

    @property
    def name(self) -> str:
        """For people: rule set, options, overrides, cards of a hand and where it stands."""
        changes = [f"{key}={value}" for key, value in self.override.items()]
        where = "first trick" if self.leader is None else "second trick"
        return f"{'+'.join([self.ruleset, *self.options, *changes])}, {len(self.hands[0])} cards, {where}"

    @property
    def size(self) -> int:
        """Sequences of all depths together."""
        return sum(self.counts)


def load() -> list[Position]:
    """The recorded positions."""
    return [Position(**row) for row in json.loads(FILE.read_text("utf-8"))]


def count_with_engine(position: Position) -> list[int]:
    """By depth: sequences that the engine allows."""
    rules = compile_rules(rule_set(position.ruleset, position.options, position.override))
    middle = position.leader is not None
    hand = new_hand(
        rules,
        [_mask(cards) for cards in position.hands],
        dealer=position.dealer,
        kitty=_mask(position.kitty),
        leader=position.leader,
        tricks=[PAST] if middle else [],
    )
    counts = [0] * len(position.counts)

    def count(hand: Hand, depth: int) -> None:
        counts[depth] += hand.legal.bit_count()
        if depth + 1 == len(counts):
            return
        for card in indexes_of(hand.legal):
            child = hand.copy()
            child.play(card)
            count(child, depth + 1)

    count(hand, 0)
    return counts


def count_with_naive(position: Position, most: int | None = None) -> list[int] | None:
    """The same by the naive implementation; None when a depth has more than ``most`` sequences."""
    parameters = dict(TABLE["rulesets"][position.ruleset])
    for option in position.options:
        parameters |= TABLE["options"][position.ruleset][option]
    parameters |= position.override
    start = naive.NaiveHand(parameters, position.hands, position.dealer, position.kitty, position.leader)
    counts: list[int] = []
    level = [start]
    for _ in position.counts:
        counts.append(sum(len(hand.legal) for hand in level))
        if most is not None and counts[-1] > most:
            return None
        level = list(_played(level)) if len(counts) < len(position.counts) else []
    return counts


def _played(level: list[naive.NaiveHand]) -> Iterator[naive.NaiveHand]:
    for hand in level:
        for card in hand.legal:
            child = hand.copy()
            child.play(card)
            yield child


def _mask(names: list[str]) -> int:
    return mask_of(Card.parse(name) for name in names)


def _draw() -> Iterator[Position]:
    """Positions of every rule set, option by option: small hands to their end, whole hands to a few plays."""
    for name in TABLE["rulesets"]:
        options = TABLE["options"].get(name, {})
        changes: list[tuple[list[str], dict[str, Any]]] = [([], {}), *(([option], {}) for option in options)]
        if name == "cancellation":
            changes += [([], {"players": players}) for players in (5, 7, 8, 11)]
        for chosen, override in changes:
            rng = random.Random(f"{name} {chosen} {override}")
            yield _first(_small(rng, name, chosen, override, middle=False))
            yield _first(_small(rng, name, chosen, override, middle=True))
            yield _whole(rng, name, chosen, override)


def _first(positions: Iterator[Position]) -> Position:
    """The first position that can be counted to its end within bounds, counted."""
    return next(
        position._replace(counts=counts)
        for position in positions
        if (counts := count_with_naive(position, MOST)) is not None and max(counts) > MOST // 50
    )


def _small(
    rng: random.Random, name: str, options: list[str], override: dict[str, Any], *, middle: bool
) -> Iterator[Position]:
    """Hands of a few cards, rich in those that rules are about."""
    rules = compile_rules(rule_set(name, options, override))
    size = {3: 4, 4: 4, 11: 2}.get(rules.seats, 3)
    opening = "2C" if rules.opening_card and not middle else None
    while True:
        deck = [str(CARDS[index]) for index in rules.deck if str(CARDS[index]) != opening]
        weights = [3 if card[1] == "H" or card in ("QS", "KS", "AS", "JD", "KC") else 1 for card in deck]
        order = sorted(zip(deck, weights, strict=True), key=lambda pair: rng.random() ** (1 / pair[1]), reverse=True)
        kitty = 0 if middle else min(rules.source.kitty_size, 2)
        cards = [card for card, _ in order][: size * rules.seats + kitty - (opening is not None)]
        if opening:
            cards.insert(rng.randrange(size * rules.seats), opening)
        hands = [cards[seat * size : (seat + 1) * size] for seat in range(rules.seats)]
        rest = cards[size * rules.seats :]
        leader = rng.randrange(rules.seats) if middle else None
        dealer = rng.randrange(rules.seats)
        yield Position(name, options, override, hands, rest, dealer, leader, [0] * (size * rules.seats))


def _whole(rng: random.Random, name: str, options: list[str], override: dict[str, Any]) -> Position:
    """A whole deal, as deep as the bound allows."""
    rules = compile_rules(rule_set(name, options, override))
    deck = [str(CARDS[index]) for index in rules.deck]
    rng.shuffle(deck)
    size = rules.hand_size
    hands = [deck[seat * size : (seat + 1) * size] for seat in range(rules.seats)]
    position = Position(
        name, options, override, hands, deck[size * rules.seats :], rng.randrange(rules.seats), None, []
    )
    while True:
        counts = count_with_naive(position._replace(counts=[*position.counts, 0]), MOST)
        if counts is None:
            return position
        position = position._replace(counts=counts)


def main() -> int:
    """Check all recorded positions, or record new ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules.perft", description="Check perft.json.")
    parser.add_argument("--write", action="store_true", help="draw the positions anew and record them")
    if parser.parse_args().write:
        rows = ",\n".join(json.dumps(position._asdict()) for position in _draw())
        FILE.write_text(f"[\n{rows}\n]\n", "utf-8")
    started = time.perf_counter()
    wrong = 0
    positions = load()
    for position in positions:
        for who, counts in (("engine", count_with_engine(position)), ("naive", count_with_naive(position))):
            if counts != position.counts:
                wrong += 1
                print(f"{position.name}: {who} counts {counts}, recorded is {position.counts}", file=sys.stderr)
    total = sum(position.size for position in positions)
    seconds = time.perf_counter() - started
    print(f"{len(positions)} positions, {total:,} sequences, {wrong} wrong, {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
