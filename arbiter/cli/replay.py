"""``arbiter replay``: look at hands that were played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from arbiter.cli.console import print_json, results_console
from arbiter.cli.options import DataDir, Json, data_folder, need_server
from arbiter.engine import CARDS, Suit, cards_of
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
    """A hand as a table: one row per seat; its cards, its pass, then trick by trick the card it played."""
    title = f"{replay.sitting}  board {hand.board}" + (f", hand {hand.number}" if hand.number > 1 else "")
    table = Table(title=f"{title}  pass {hand.direction}, dealer seat {hand.dealer}", title_justify="left")
    table.add_column("seat")
    table.add_column("dealt")
    if hand.passed is not None:
        table.add_column("passes")
    for number in range(1, len(hand.tricks) + 1):
        table.add_column(str(number), justify="center", no_wrap=True)
    table.add_column("points", justify="right")
    for seat, place in enumerate(hand.places):
        cells = [Text(f"{seat} {replay.bots[place].name}"), _cards(card.index for card in cards_of(hand.dealt[seat]))]
        if hand.passed is not None:
            cells.append(_cards(hand.passed[seat]))
        for trick in hand.tricks:
            card = trick.cards[(seat - trick.leader) % len(hand.places)]
            shown = _cards([card])
            if seat == trick.leader:
                shown = Text(">") + shown
            if seat == trick.winner:
                shown.stylize("reverse")
            cells.append(shown)
        moon = " moon" if seat == hand.moon else ""
        cells.append(Text(f"{hand.points[seat]}{moon}"))
        table.add_row(*cells)
    stand_ins = ", ".join(replay.bots[hand.places[seat]].name for seat in hand.stand_ins)
    table.caption = "> leads, reversed takes the trick" + (
        f"; the stand-in played for {stand_ins}" if stand_ins else ""
    )
    table.caption_justify = "left"
    return table


def _cards(indexes: Iterable[int]) -> Text:
    """Card names, coloured by suit."""
    text = Text()
    for number, index in enumerate(indexes):
        if number:
            text.append(" ")
        text.append(str(CARDS[index]), style=SUIT_STYLES[CARDS[index].suit])
    return text
