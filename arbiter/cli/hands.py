"""Hands of a replay as tables for a terminal: a whole hand, or one position of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from arbiter.cli.console import one_line
from arbiter.engine import CARDS, Card, Suit, cards_of, compile_rules, format_cards, new_hand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arbiter.match import HandRecord, Replay

SUIT_STYLES = {Suit.CLUBS: "green", Suit.DIAMONDS: "yellow", Suit.HEARTS: "red", Suit.SPADES: "bold"}


def hand_table(replay: Replay, hand: HandRecord) -> Table:
    """A hand as a table: a column per seat with the cards dealt and passed, then a row per trick."""
    table = _table(replay, hand, _title(replay, hand))
    table.add_row("dealt", *(_by_suit(cards_of(mask)) for mask in hand.dealt), end_section=hand.passed is None)
    if hand.passed is not None:
        table.add_row("passes", *(_cards(cards) for cards in hand.passed), end_section=True)
    for number, trick in enumerate(hand.tricks, 1):
        cells = _trick(len(hand.places), trick.leader, trick.cards, trick.winner, trick.points)
        table.add_row(str(number), *cells)
    if hand.unfinished:
        last = positions(replay, hand)[-1]
        table.add_row(str(last.trick), *_trick(len(hand.places), last.leader, last.cards, None, 0))
    table.add_section()
    table.add_row("points", *_points(hand))
    notes = ["> leads, * takes the trick"]
    if hand.offenders:
        seats = " and ".join(map(str, hand.offenders))
        notes.append(f"the hand ended by a fault of seat {seats}, which takes all points")
    if hand.stand_ins:
        notes.append("the stand-in played for " + ", ".join(_name(replay, hand, seat) for seat in hand.stand_ins))
    table.caption = Text("; ".join(notes), style="dim")
    table.caption_justify = "left"
    return table


@dataclass(frozen=True, slots=True)
class Position:
    """A moment of a hand."""

    hand: HandRecord
    said: str
    """What has just happened."""
    held: tuple[int, ...]
    """By seat: cards held, as masks."""
    points: tuple[int, ...]
    """By seat: points taken so far."""
    trick: int = 0
    """Number of the trick on the table, from 1; 0 before the first card."""
    leader: int = -1
    """Seat that led it."""
    cards: tuple[int, ...] = ()
    """Card indexes on the table, the leader's first."""
    winner: int | None = None
    """Seat that took it, once it is complete."""
    taken: int = 0
    """Points of the trick, once it is complete."""
    over: bool = False
    """Whether the hand has been scored."""

    def to_dict(self) -> dict[str, object]:
        """Plain data for ``--json``."""
        return {
            "board": self.hand.board,
            "hand": self.hand.number,
            "trick": self.trick,
            "held": [format_cards(cards_of(mask)) for mask in self.held],
            "leader": self.leader,
            "cards": format_cards(self.cards),
            "winner": self.winner,
            "points": self.taken,
        }


def positions(replay: Replay, hand: HandRecord) -> list[Position]:
    """Every position of a hand: dealt, after the pass, after each card, scored.

    Args:
        replay: one that holds what it claims (:func:`~arbiter.match.verify_replay`).
        hand: one of its hands.
    """
    state = new_hand(
        compile_rules(replay.rules), hand.dealt, dealer=hand.dealer, direction=hand.direction, kitty=hand.kitty
    )
    names = [f"seat {seat}, {_name(replay, hand, seat)}," for seat in range(len(hand.places))]
    last = Position(hand, f"{names[hand.dealer]} deals", tuple(state.hands), state.points)
    found = [last]
    if hand.passed is not None:
        state.exchange(hand.passed)
        passed = "; ".join(f"seat {seat} {format_cards(cards)}" for seat, cards in enumerate(hand.passed))
        last = Position(hand, f"passed to the {hand.direction}: {passed}", tuple(state.hands), state.points)
        found.append(last)
    for number, cards in enumerate([*(trick.cards for trick in hand.tricks), hand.unfinished], 1):
        leader = state.leader
        for at, card in enumerate(cards):
            said = f"{names[state.turn]} {'plays' if at else 'leads'} {CARDS[card]}"
            state.play(card)
            last = Position(hand, said, tuple(state.hands), state.points, number, leader, cards[: at + 1])
            if len(state.tricks) == number:
                taken = state.tricks[-1]
                points = f" with {taken.points:+d}" if taken.points else ""
                taker = "nobody" if taken.winner is None else names[taken.winner]
                said += f"; {taker} takes the trick{points}"
                last = replace(last, said=said, winner=taken.winner, taken=taken.points)
            found.append(last)
    said = "the hand is over"
    if hand.offenders:
        said += f", by a fault of {' and '.join(names[seat] for seat in hand.offenders)}"
    if hand.moon is not None:
        said += f": {names[hand.moon]} shot the moon"
    if hand.chosen_moon is not None:
        said += f" and chose the {hand.chosen_moon} count"
    return [*found, replace(last, said=said, points=hand.points, over=True)]


def trick_position(replay: Replay, hand: HandRecord, number: int) -> Position | None:
    """A whole trick, with what every seat held before it; None when the hand has no such trick."""
    found = positions(replay, hand)[:-1]
    before = [position for position in found if position.trick < number]
    during = [position for position in found if position.trick == number]
    return replace(during[-1], held=before[-1].held) if during else None


def position_table(replay: Replay, position: Position) -> Table:
    """A position as a table: what every seat holds, the trick on the table, and the points taken so far."""
    hand = position.hand
    trick = f"  trick {position.trick}" if position.trick else ""
    table = _table(replay, hand, _title(replay, hand) + trick)
    table.add_row("holds", *(_by_suit(cards_of(mask)) for mask in position.held), end_section=True)
    cells = _trick(len(hand.places), position.leader, position.cards, position.winner, position.taken)
    table.add_row("trick", *cells, end_section=True)
    table.add_row("points", *(_points(hand) if position.over else map(str, position.points)))
    if position.over:
        table.add_row("totals", *map(str, hand.totals))
    table.caption = Text(position.said)
    table.caption_justify = "left"
    return table


def _title(replay: Replay, hand: HandRecord) -> str:
    number = f", hand {hand.number}" if hand.number > 1 else ""
    return one_line(f"{replay.sitting}  board {hand.board}{number}  pass {hand.direction}")


def _table(replay: Replay, hand: HandRecord, title: str) -> Table:
    """A column per seat; names come from whoever wrote the replay, so they are no markup."""
    table = Table(title=Text(title, style="bold"), title_justify="left")
    table.add_column("", justify="right")
    for seat in range(len(hand.places)):
        dealer = " (dealer)" if seat == hand.dealer else ""
        table.add_column(Text(f"{seat} {_name(replay, hand, seat)}{dealer}"))
    return table


def _name(replay: Replay, hand: HandRecord, seat: int) -> str:
    return one_line(replay.bots[hand.places[seat]].name)


def _trick(seats: int, leader: int, cards: Sequence[int], winner: int | None, points: int) -> list[Text]:
    cells = [Text("") for _ in range(seats)]
    for at, card in enumerate(cards):
        seat = (leader + at) % seats
        shown = _cards([card])
        if seat == winner:
            shown.stylize("reverse")
            shown += Text("*" + (f" {points:+d}" if points else ""))
        cells[seat] = Text("  " if at else "> ") + shown
    return cells


def _points(hand: HandRecord) -> list[Text]:
    shot = [" moon" if seat == hand.moon else "" for seat in range(len(hand.places))]
    return [Text(f"{points}{moon}") for points, moon in zip(hand.points, shot, strict=True)]


def _by_suit(cards: list[Card]) -> Text:
    """A hand, a line per suit, high cards first."""
    lines = []
    for suit in Suit:
        ranks = " ".join(card.rank.letter for card in reversed(cards) if card.suit is suit)
        lines.append(Text(f"{suit.letter} {ranks or '-'}", style=SUIT_STYLES[suit]))
    return Text("\n").join(lines)


def _cards(indexes: Iterable[int]) -> Text:
    """Card names, coloured by suit."""
    return Text(" ").join(Text(str(CARDS[index]), style=SUIT_STYLES[CARDS[index].suit]) for index in indexes)
