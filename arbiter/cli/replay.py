"""``arbiter replay``: look at hands that were played, check them, and take them along.

What is in a file needs the base install alone; sittings of this machine's tournaments need the server's part.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from arbiter.cli.console import one_line, output, print_json, results_console
from arbiter.cli.options import DataDir, Json, data_folder, need_server
from arbiter.errors import UsageError

if TYPE_CHECKING:
    from arbiter.match import Replay

app = typer.Typer(help="Look at hands that were played, and check them.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Look at hands that were played, and check them."""


Sitting = Annotated[
    str, typer.Argument(metavar="SITTING", help="TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0.", show_default=False)
]
SittingOrFile = Annotated[
    str,
    typer.Argument(
        metavar="SITTING|FILE",
        help="TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0, or a file with a replay in either form.",
        show_default=False,
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there, not to standard output.")
]


@app.command()
def show(
    source: SittingOrFile,
    board: Annotated[int | None, typer.Option("--board", min=1, help="This board alone.")] = None,
    hand: Annotated[int | None, typer.Option("--hand", min=1, help="This hand of a game's boards alone.")] = None,
    trick: Annotated[
        int | None, typer.Option("--trick", min=1, help="This trick alone, with what every seat held before it.")
    ] = None,
    step: Annotated[
        bool,
        typer.Option(
            "--step", "-s", help="Step through it, a card, trick, hand or board at a time; the others say from where."
        ),
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show the hands of a sitting, card by card. A match's replays are shown after its last sitting."""
    from arbiter.cli.hands import hand_table, position_table, trick_position
    from arbiter.match import hand_to_dict

    replay = _found(source, data_dir).replay
    _verify(source, replay)
    hands = [found for found in replay.hands if board in (None, found.board) and hand in (None, found.number)]
    if not hands:
        raise UsageError(_no_such_hand(replay, board, hand))
    if step:
        _step(replay, replay.hands.index(hands[0]), trick, json)
        return
    console = results_console()
    if trick is None:
        if json:
            print_json([hand_to_dict(found) for found in hands])
            return
        for found in hands:
            console.print(hand_table(replay, found))
        return
    tricks = [position for found in hands if (position := trick_position(replay, found, trick)) is not None]
    if not tricks:
        most = max(len(found.tricks) + bool(found.unfinished) for found in hands)
        raise UsageError(f"sitting {replay.sitting} has no trick {trick} there; the longest hand has {most}")
    if json:
        print_json([position.to_dict() for position in tricks])
        return
    for position in tricks:
        console.print(position_table(replay, position))


@app.command()
def verify(
    source: SittingOrFile,
    deal_seed: Annotated[
        str | None,
        typer.Option(
            "--deal-seed",
            metavar="HEX",
            help="The deal set's seed, with which the deals of a file are checked too; a sitting's is known.",
        ),
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(
            "--commitment",
            metavar="HEX",
            help="What was published before the first card: checks the deal seed of a file; a sitting's is known.",
        ),
    ] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Play a sitting again by the rules and compare every deal, card, trick and score.

    Exit status 0 when all holds, 1 when a step does not follow: it is named.
    """
    from arbiter.deals import commitment

    given = _deal_seed(deal_seed)
    if published is not None and given is None:
        raise UsageError("--commitment checks a deal seed; give it with --deal-seed")
    found = _found(source, data_dir)
    seed = found.deal_seed if given is None else given
    _verify(source, found.replay, seed, found.commitment if published is None else published.lower())
    hands, boards = len(found.replay.hands), found.replay.boards
    if json:
        print_json(
            {
                "sitting": found.replay.sitting,
                "boards": boards,
                "hands": hands,
                "deals_checked": seed is not None,
                "commitment": None if seed is None else commitment(seed),
            }
        )
        return
    dealt = "no deal seed was given, so the deals are taken as they stand"
    if seed is not None:
        dealt = f"the deals are those of the deal seed with commitment {commitment(seed)}"
    typer.echo(one_line(f"ok {found.replay.sitting}: boards: {boards}, hands: {hands}; {dealt}"))


@app.command()
def export(
    sitting: Sitting,
    text: Annotated[bool, typer.Option("--text", help="As text notation for people, not as JSON Lines.")] = False,
    output: Output = None,
    data_dir: DataDir = None,
) -> None:
    """Write a sitting's replay: JSON Lines, or text notation. A match's replays can be had after its last sitting."""
    from arbiter.match import write_replay
    from arbiter.match.notation import write_notation

    replay = _of_store(sitting, data_dir).replay
    _put(write_notation(replay).encode() if text else write_replay(replay), output)


@app.command("import")
def import_replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A replay in either form.", show_default=False)],
    output: Output = None,
) -> None:
    """Read a replay in either form, check it, and write it in the other one."""
    from arbiter.match import write_replay
    from arbiter.match.notation import write_notation

    replay, is_text = _read(file)
    _verify(str(file), replay)
    _put(write_replay(replay) if is_text else write_notation(replay).encode(), output)


def deals(
    tournament: Annotated[str, typer.Argument(metavar="ID", help="The tournament's id, or how it begins.")],
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show each match's commitment, and its deal seed once its last sitting is recorded.

    The tournament's own seed, from which all others follow, is shown when it is completed.
    """
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.tournament.replays import published_deals

    with open_store(data_folder(data_dir)) as store:
        published = published_deals(store, store.find_tournament(tournament).id)
    if json:
        print_json(published.to_dict())
        return
    later = Text("after its last sitting", style="dim")
    table = Table(title=f"Deals of {published.tournament}", title_style="bold", title_justify="left")
    for heading in ("match", "boards"):
        table.add_column(heading, justify="right")
    for heading in ("commitment", "deal seed"):
        table.add_column(heading, overflow="fold")
    for deal_set in published.deal_sets:
        seed = later if deal_set.deal_seed is None else Text(deal_set.deal_seed.hex())
        table.add_row(str(deal_set.match), str(deal_set.boards), deal_set.commitment, seed)
    shown = "published when it is completed" if published.seed is None else published.seed.hex()
    table.caption = f"tournament seed: {shown}"
    table.caption_justify = "left"
    results_console().print(table)


@dataclass(frozen=True, slots=True)
class _Found:
    """A replay, and what the store knows of its deal set."""

    replay: Replay
    deal_seed: bytes | None = field(default=None, repr=False)
    commitment: str | None = None


def _found(source: str, data_dir: Path | None) -> _Found:
    """The replay in a file of this name, else of the sitting with this address."""
    path = Path(source)
    if path.is_file():
        return _Found(_read(path)[0])
    if source.count("/") != 2 or path.suffix:
        raise UsageError(
            f"{source}: no file, and no sitting either; write TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0"
        )
    return _of_store(source, data_dir)


def _of_store(sitting: str, data_dir: Path | None) -> _Found:
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.tournament.replays import released_deal_set, released_replay

    with open_store(data_folder(data_dir)) as store:
        key = store.find_sitting(sitting)
        replay, match = released_replay(store, key), released_deal_set(store, key)
    return _Found(replay, match.deal_seed, match.commitment)


def _read(path: Path) -> tuple[Replay, bool]:
    """The replay in a file, and whether it is text notation; a mark of the byte order is skipped.

    Raises:
        UsageError: the file can't be read.
        ReplayError: it holds no replay.
    """
    from arbiter.match import ReplayError, read_replay
    from arbiter.match.notation import is_notation, read_notation

    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}") from error
    try:
        if not is_notation(data.decode(errors="replace")):
            return read_replay(data), False
        return read_notation(data.decode()), True
    except UnicodeDecodeError as error:
        raise ReplayError(f"{path}: line {data.count(10, 0, error.start) + 1}: not UTF-8") from error
    except ReplayError as error:
        raise ReplayError(f"{path}: {error}") from error


def _verify(source: str, replay: Replay, deal_seed: bytes | None = None, published: str | None = None) -> None:
    """Return when a replay holds what it claims; an error says which step does not follow, and in what."""
    from arbiter.match import ReplayError, verify_replay

    try:
        verify_replay(replay, deal_seed, published)
    except ReplayError as error:
        raise ReplayError(f"{source}: {error}") from error


def _step(replay: Replay, at: int, trick: int | None, json: bool) -> None:
    """Step through a replay from its hand with this index."""
    if json or not (sys.stdin.isatty() and output.is_terminal):
        raise UsageError("--step needs a terminal and goes without --json; --board, --hand and --trick show parts")
    from arbiter.cli.stepping import Walk, walk_through

    walk_through(Walk(replay, at, trick or 0), output)


def _no_such_hand(replay: Replay, board: int | None, hand: int | None) -> str:
    of_board = [found.number for found in replay.hands if board in (None, found.board)]
    if not of_board:
        return f"sitting {replay.sitting} has no board {board}; it has boards 1 to {replay.boards}"
    where = "it" if board is None else f"board {board}"
    return f"sitting {replay.sitting} has no hand {hand} there; {where} has hands 1 to {max(of_board)}"


def _put(data: bytes, path: Path | None) -> None:
    if path is None:
        typer.echo(data, nl=False)
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror}; choose another file with --output") from error


def _deal_seed(digits: str | None) -> bytes | None:
    from arbiter.deals.deal import SEED_BYTES

    if digits is None:
        return None
    try:
        seed = bytes.fromhex(digits)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise UsageError(f"--deal-seed: is {digits!r}; write {2 * SEED_BYTES} hexadecimal digits")
    return seed
