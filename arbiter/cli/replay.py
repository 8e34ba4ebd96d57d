"""``arbiter replay``: look at hands that were played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from arbiter.cli.console import print_json, results_console
from arbiter.cli.options import DataDir, Json, data_folder, need_server
from arbiter.engine import CARDS, Card, Suit, cards_of
from arbiter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arbiter.match import HandRecord, Replay

app = typer.Typer(help="Look at hands that were played.", no_args_is_help=True, rich_markup_mode=None)

SUIT_STYLES = {Suit.CLUBS: "green", Suit.DIAMONDS: "yellow", Suit.HEARTS: "red", Suit.SPADES: "bold"}


@app.callback()
def _group() -> None:
    """Look at hands that were played."""


@app.command()
def show(
    sitting: Annotated[str, typer.Argument(metavar="SITTING", help="TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0.")],
    board: Annotated[int | None, typer.Option("--board", min=1, help="This board alone.")] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show the hands of a sitting, card by card. A match's replays are shown after its last sitting."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.match import hand_to_dict
    from arbiter.store import SittingKey
    from arbiter.tournament import released_replay

    prefix, _, rest = sitting.partition("/")
    with open_store(data_folder(data_dir)) as store:
        key = SittingKey.parse(f"{store.find_tournament(prefix).id}/{rest}")
        replay = released_replay(store, key)
    hands = [hand for hand in replay.hands if board in (None, hand.board)]
    if not hands:
        raise UsageError(f"sitting {key} has no board {board}; it has boards 1 to {replay.boards}")
    if json:
        print_json([hand_to_dict(hand) for hand in hands])
        return
    console = results_console()
    for hand in hands:
        console.print(_hand_table(replay, hand))


def _hand_table(replay: Replay, hand: HandRecord) -> Table:
    """A hand as a table: a column per seat with the cards dealt and passed, then a row per trick."""
    title = f"{replay.sitting}  board {hand.board}" + (f", hand {hand.number}" if hand.number > 1 else "")
    table = Table(title=f"{title}  pass {hand.direction}", title_style="bold", title_justify="left")
    table.add_column("", justify="right")
    for seat, place in enumerate(hand.places):
        dealer = " (dealer)" if seat == hand.dealer else ""
        table.add_column(f"{seat} {replay.bots[place].name}{dealer}")
    table.add_row("dealt", *(_by_suit(cards_of(mask)) for mask in hand.dealt), end_section=hand.passed is None)
    if hand.passed is not None:
        table.add_row("passes", *(_cards(cards) for cards in hand.passed), end_section=True)
    for number, trick in enumerate(hand.tricks, 1):
        cells: list[Text] = []
        for seat in range(len(hand.places)):
            shown = _cards([trick.cards[(seat - trick.leader) % len(hand.places)]])
            if seat == trick.winner:
                shown.stylize("reverse")
                shown += Text("*" + (f" {trick.points:+d}" if trick.points else ""))
            cells.append(Text("> " if seat == trick.leader else "  ") + shown)
        table.add_row(str(number), *cells, end_section=number == len(hand.tricks))
    moon = [" moon" if seat == hand.moon else "" for seat in range(len(hand.places))]
    table.add_row("points", *(Text(f"{points}{shot}") for points, shot in zip(hand.points, moon, strict=True)))
    notes = ["> leads, * takes the trick"]
    if hand.offender is not None:
        notes.append(f"seat {hand.offender} revoked, which ended the hand")
    if hand.stand_ins:
        notes.append(
            "the stand-in played for " + ", ".join(replay.bots[hand.places[seat]].name for seat in hand.stand_ins)
        )
    table.caption = "; ".join(notes)
    table.caption_justify = "left"
    return table


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
