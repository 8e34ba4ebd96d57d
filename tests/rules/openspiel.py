"""The engine against OpenSpiel's Hearts: the same hands in both, every legal set and every score compared.

``python -m tests.rules.openspiel --hands 20000`` plays that many random hands, and rigged ones for the corners that
random play misses, under each combination of the rules that both can express, and prints a table; it exits 1 when
anything differs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyspiel

from arbiter.engine import (
    CARDS,
    Hand,
    PassDirection,
    Phase,
    Rules,
    cards_of,
    compile_rules,
    format_cards,
    mask_of,
    new_hand,
    parse_cards,
    rule_set,
    score_hand,
)
from arbiter.engine.rules import HEARTS, QUEEN_OF_SPADES

SEATS: Final = 4
ACTIONS: Final = tuple(card.rank * 4 + card.suit for card in CARDS)
"""By card index: OpenSpiel's action, which counts suits within ranks."""
INDEXES: Final = tuple(sorted(range(52), key=ACTIONS.__getitem__))
"""By OpenSpiel's action: the card index."""
BITS: Final = tuple(1 << index for index in INDEXES)
"""By OpenSpiel's action: the card's mask."""
DIRECTIONS: Final = (PassDirection.NONE, PassDirection.LEFT, PassDirection.ACROSS, PassDirection.RIGHT)
"""By OpenSpiel's first chance action: the direction of the pass."""
POINTS_OF_A_HAND: Final = 26
"""OpenSpiel returns this less a seat's points."""
RIGGED_REPETITIONS: Final = 50
"""How often each rigged deal is played under each combination."""

Choose = Callable[[Hand, list[int]], int]
"""Picks one of the legal actions for the seat whose turn it is."""


class Flags(NamedTuple):
    """OpenSpiel's parameters whose meaning the rule sets have too; the names are OpenSpiel's.

    Left out are ``can_lead_any_club`` (the opener picks a club, here 2C or any card) and ``avoid_all_tricks_bonus``.
    """

    pass_cards: bool
    no_pts_on_first_trick: bool
    jd_bonus: bool
    must_break_hearts: bool
    qs_breaks_hearts: bool
    can_lead_hearts_instead_of_qs: bool

    def game(self) -> Any:
        """OpenSpiel's game with these flags."""
        return pyspiel.load_game("hearts", self._asdict())

    def rules(self) -> Rules:
        """The rule set of the same meaning: Black Lady with what the flags change (RULES.md, section 6)."""
        override: dict[str, Any] = {
            "first_trick_ban": "penalty_cards" if self.no_pts_on_first_trick else "none",
            "bonus": {"JD": -10} if self.jd_bonus else {},
            "must_break_hearts": self.must_break_hearts,
            "qs_breaks_hearts": self.qs_breaks_hearts,
            "lead_if_only_penalty": "free" if self.can_lead_hearts_instead_of_qs else "non_heart",
        }
        if not self.pass_cards:
            override |= {"pass_cycle": ["none"], "pass_count": 0}
        return compile_rules(rule_set("black_lady", override=override))

    def __str__(self) -> str:
        return ", ".join(name for name, on in self._asdict().items() if on) or "none"


COMBINATIONS: Final = [Flags(*values) for values in itertools.product((False, True), repeat=len(Flags._fields))]


class Rig(NamedTuple):
    """A deal made for a corner: cards that seats must hold, the rest at random."""

    name: str
    fixed: dict[int, str]
    """By seat: cards."""
    high: bool = False
    """Seat 1 plays its highest legal card; otherwise everybody plays at random."""


RIGS: Final = (
    Rig("hearts alone", {0: "2C", 1: "2H 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("hearts and the queen alone", {0: "2C", 1: "QS 3H 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("one harmless card", {0: "2C", 1: "QS 9D 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("the Jack beside hearts and the queen", {3: "2C", 1: "QS JD 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("hearts and the queen on lead", {3: "2C 3C 4C 5C 6C", 1: "AC QS 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("hearts alone on lead", {2: "2C 3C 4C 5C 6C", 1: "AC 2H 4H 5H 6H 7H 8H 9H TH JH QH KH AH"}),
    Rig("a moon with the Jack", {0: "2C", 1: "AC KC QC AD KD QD JD AH KH QH AS KS QS"}, high=True),
    Rig(
        "a moon that leaves the Jack to the last trick",
        {
            1: "AC KC QC JC 2D AH KH QH JH AS KS QS JS",
            0: "2C 3C 4C 3D 4D 5D 6D 7D 8D 2H 3H 2S 3S",
            2: "5C 6C 9D TD QD KD AD 4H 5H 6H 4S 5S 6S",
            3: "7C 8C 9C TC JD 7H 8H 9H TH 7S 8S 9S TS",
        },
        high=True,
    ),
)

CORNERS: Final = (
    "nothing but points on the first trick",
    "one harmless card on the first trick",
    "hearts and the queen to lead, unbroken",
    "nothing but hearts to lead, unbroken",
    "moon with the Jack",
    "moon without the Jack",
)
"""What the rigged deals have to reach under every combination."""


@dataclass(slots=True)
class Tally:
    """What was compared, and what differed."""

    random_hands: int = 0
    rigged_hands: int = 0
    nodes: int = 0
    """Legal sets compared."""
    corners: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


class Table:
    """One hand on both sides."""

    def __init__(self, flags: Flags, game: Any, rules: Rules, dealt: Sequence[int], direction: int) -> None:
        """Deal ``dealt``, card indexes in the order in which they fall to seats 0, 1, 2, 3, 0 and so on."""
        self.flags = flags
        self.state = game.new_initial_state()
        self.state.apply_action(direction)
        for card in dealt:
            self.state.apply_action(ACTIONS[card])
        self.dealt = [mask_of(dealt[seat::SEATS]) for seat in range(SEATS)]
        self.hand = new_hand(rules, self.dealt, dealer=0, direction=DIRECTIONS[direction])
        self.nodes = 0
        self.difference = ""

    def pass_cards(self, choose: Choose) -> None:
        """Pass where this hand passes: in OpenSpiel card by card, seat by seat."""
        if self.hand.phase is not Phase.PASSING:
            return
        passes: list[list[int]] = []
        for seat, held in enumerate(self.hand.hands):
            passes.append([])
            for _ in range(self.hand.rules.source.pass_count):
                actions = self.state.legal_actions()
                self._compare(seat, held, actions)
                action = choose(self.hand, actions)
                self.state.apply_action(action)
                passes[seat].append(INDEXES[action])
                held ^= BITS[action]
        self.hand.exchange(passes)

    def play(self, choose: Choose, each: Callable[[Hand], None] | None = None) -> None:
        """Play to the last card or the first difference; ``each`` is called before every card."""
        state, hand = self.state, self.hand
        while not self.difference and hand.turn >= 0:
            if each:
                each(hand)
            actions = state.legal_actions()
            self._compare(hand.turn, hand.legal, actions)
            action = choose(hand, actions)
            state.apply_action(action)
            hand.play(INDEXES[action])
        if not self.difference:
            self._compare_scores()

    def _compare(self, seat: int, legal: int, actions: list[int]) -> None:
        self.nodes += 1
        theirs = sum(map(BITS.__getitem__, actions))
        if theirs != legal or self.state.current_player() != seat:
            self.difference = (
                f"seat {seat} may play {_names(legal)}; OpenSpiel: seat {self.state.current_player()} {_names(theirs)}"
                f" ({self.where()})"
            )

    def _compare_scores(self) -> None:
        score = score_hand(self.hand.rules, self.hand.penalty_taken, self.hand.bonus_taken)
        ours = [POINTS_OF_A_HAND - points for points in score.points]
        if not self.state.is_terminal() or ours != self.state.returns():
            self.difference = f"the end is {ours}; OpenSpiel: {self.state.returns()} ({self.where()})"

    def where(self) -> str:
        """The position, for a message."""
        dealt = " / ".join(_names(mask) for mask in self.dealt)
        played = " ".join(format_cards(trick.cards) for trick in self.hand.tricks)
        return f"{self.flags}; dealt {dealt}; pass {self.hand.direction} {self.hand.passed}; played {played}"


def _names(mask: int) -> str:
    return format_cards(cards_of(mask))


def compare_random(flags: Flags, hands: int, rng: random.Random, tally: Tally, *, rules: Rules | None = None) -> None:
    """Random hands: every deal, direction, pass and card by chance; ``rules`` stand in for those of the flags."""
    game, rules = flags.game(), rules or flags.rules()
    draw = rng.random
    directions = len(DIRECTIONS) if flags.pass_cards else 1

    def choose(_: Hand, actions: list[int]) -> int:
        return actions[int(draw() * len(actions))]

    for _ in range(hands):
        dealt = sorted(range(52), key=lambda _: draw())
        table = Table(flags, game, rules, dealt, int(draw() * directions))
        table.pass_cards(choose)
        table.play(choose)
        _record(table, tally)
        tally.random_hands += 1


def compare_rigged(
    flags: Flags, repetitions: int, rng: random.Random, tally: Tally, *, rules: Rules | None = None
) -> None:
    """Each rigged deal so many times, without a pass, the free cards dealt anew; ``rules`` as above."""
    game, rules = flags.game(), rules or flags.rules()
    for rig, _ in itertools.product(RIGS, range(repetitions)):
        high = 1 if rig.high else -1

        def choose(hand: Hand, actions: list[int], high: int = high) -> int:
            return max(actions) if hand.turn == high else rng.choice(actions)

        table = Table(flags, game, rules, _deal(rig, rng), DIRECTIONS.index(PassDirection.NONE))
        table.play(choose, lambda hand: tally.corners.update(_corners(hand)))
        shooter = score_hand(rules, table.hand.penalty_taken, table.hand.bonus_taken).moon
        if shooter is not None:
            jack = next(trick.winner for trick in table.hand.tricks if JACK in trick.cards)
            tally.corners["moon with the Jack" if jack == shooter else "moon without the Jack"] += 1
        _record(table, tally)
        tally.rigged_hands += 1


JACK: Final = parse_cards("JD")[0].index


def _deal(rig: Rig, rng: random.Random) -> list[int]:
    """Card indexes in the order of the deal."""
    hands = [[card.index for card in parse_cards(rig.fixed.get(seat, ""))] for seat in range(SEATS)]
    rest = sorted(set(range(52)).difference(*hands))
    rng.shuffle(rest)
    for hand in hands:
        while len(hand) < 13:
            hand.append(rest.pop())
    return [card for row in zip(*hands, strict=True) for card in row]


def _corners(hand: Hand) -> Iterator[str]:
    held = hand.hands[hand.turn]
    points = HEARTS | QUEEN_OF_SPADES
    if not hand.tricks and hand.trick:
        harmless = (held & ~points).bit_count()
        if not harmless:
            yield "nothing but points on the first trick"
        if harmless == 1 and hand.legal == held & ~points:
            yield "one harmless card on the first trick"
    if not hand.trick and not hand.broken and not held & ~points:
        yield f"{'hearts and the queen' if held & QUEEN_OF_SPADES else 'nothing but hearts'} to lead, unbroken"


def _record(table: Table, tally: Tally) -> None:
    tally.nodes += table.nodes
    if table.difference:
        tally.differences.append(table.difference)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all combinations and print the table as Markdown; exit status 1 when anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules.openspiel", description=__doc__)
    parser.add_argument("--hands", type=int, default=20_000, help="random hands for each combination (default 20000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the deals and plays (default 1)")
    parser.add_argument("--write", type=Path, help="write the report to this file too")
    options = parser.parse_args(arguments)
    rows: list[tuple[Flags, Tally, float]] = []
    for number, flags in enumerate(COMBINATIONS):
        print(f"combination {number + 1} of {len(COMBINATIONS)}: {flags}", file=sys.stderr)
        tally = Tally()
        rng = random.Random(f"{options.seed} {flags}")
        started = time.perf_counter()
        compare_random(flags, options.hands, rng, tally)
        compare_rigged(flags, RIGGED_REPETITIONS, rng, tally)
        rows.append((flags, tally, time.perf_counter() - started))
    text = _report(rows, options.hands)
    print(text)
    if options.write:
        options.write.write_text(text + "\n", "utf-8")
    differences = [difference for _, tally, _ in rows for difference in tally.differences]
    for difference in differences[:10]:
        print(difference, file=sys.stderr)
    return 1 if differences else 0


def _report(rows: list[tuple[Flags, Tally, float]], hands: int) -> str:
    names = Flags._fields
    corners = sum((tally.corners for _, tally, _ in rows), Counter[str]())
    lines = [
        "# The engine against OpenSpiel",
        "",
        f"`python -m tests.rules.openspiel --hands {hands}` wrote this: OpenSpiel {version('open_spiel')}, Python"
        f" {platform.python_version()}, {os.cpu_count()} cores.",
        "Every hand is played in both; the seat to move and its legal set are compared at every node, passes included,",
        "and the scores at the end. Deals, the direction of the pass, passes and plays are random; rigged deals reach",
        "the corners that random play misses.",
        "",
        f"- combinations of flags: {len(rows)}",
        f"- random hands: {sum(tally.random_hands for _, tally, _ in rows):,}",
        f"- rigged hands: {sum(tally.rigged_hands for _, tally, _ in rows):,}",
        f"- legal sets compared: {sum(tally.nodes for _, tally, _ in rows):,}",
        f"- differences: {sum(len(tally.differences) for _, tally, _ in rows):,}",
        f"- seconds: {sum(seconds for _, _, seconds in rows):,.0f}",
        "",
        "Not compared, because only one side has them: `can_lead_any_club` (there the opener may pick any club; here",
        "2C or, with `first_lead = any`, any card) and `avoid_all_tricks_bonus`.",
        "",
        "| corner | times |",
        "|---|---:|",
        *(f"| {corner} | {corners[corner]:,} |" for corner in CORNERS),
        "",
        "| " + " | ".join(f"`{name}`" for name in names) + " | random | rigged | legal sets | differences | seconds |",
        "|" + "---|" * len(names) + "---:|" * 5,
    ]
    for flags, tally, seconds in rows:
        cells = ["yes" if on else "no" for on in flags]
        cells += [f"{tally.random_hands:,}", f"{tally.rigged_hands:,}", f"{tally.nodes:,}"]
        cells += [str(len(tally.differences)), f"{seconds:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
