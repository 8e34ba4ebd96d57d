"""``arbiter ladder``: the continuous ladder, on this machine or, with ``--server``, at a service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import RenderableType

from arbiter.api.ladder.v1 import ladder_pb2 as pb
from arbiter.api.ladder.v1 import ladder_pb2_grpc
from arbiter.cli.console import errors, output, print_json, results_console
from arbiter.cli.dialling import Authority, Client, Plain, ServerAddress, TokenFile, server_of
from arbiter.cli.ladder_text import (
    history_chart,
    history_dict,
    leaderboard_dict,
    leaderboard_table,
    printed,
    upcoming_dict,
    upcoming_table,
)
from arbiter.cli.options import DataDir, Json, RedisUrl, Unsafe, Workers, data_folder, need_server
from arbiter.cli.submission import submit_active

RULES: Final = "black_lady"
BOARDS: Final = 16

app = typer.Typer(
    help="Enter bots into a ladder that is played on and on, and see where they stand.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Bot = Annotated[str, typer.Argument(metavar="BOT", help="A version: NAME@N, or NAME for the one entered last.")]
NewBot = Annotated[
    str,
    typer.Argument(
        metavar="BOT", help="A bot's folder, or a version, NAME@N or NAME; on this machine also a sample bot."
    ),
]
Ladder = Annotated[
    str, typer.Option("--ladder", metavar="ID", show_default=False, help="Id of the ladder; by default the newest.")
]


@app.callback()
def _group() -> None:
    """Enter bots into a ladder that is played on and on, and see where they stand."""


@app.command()
def enter(
    bot: NewBot,
    ladder: Ladder = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Enter a version; it takes the place of an earlier version of the same bot.

    A folder becomes the bot's next version first: it is built and tried out. Exit status 1 when that fails.
    """
    if server:
        if Path(bot).is_dir():
            bot = submit_active(server_of(server, token_file, ca, plain_text), Path(bot))
        with _LadderClient(server, token_file, ca, plain_text) as client:
            request = pb.EnterLadderRequest(version=bot, ladder=ladder)
            entered = client.call(client.stub.EnterLadder, request)
    else:
        need_server()
        from arbiter.cli.ladder_run import enter_here

        entered = enter_here(data_folder(data_dir), bot, ladder, unsafe_processes)
    if json:
        print_json(leaderboard_dict(pb.GetLeaderboardResponse(ladder=entered.ladder, entries=[entered.entry])))
    else:
        output.print(f"{entered.entry.name} plays on ladder {entered.ladder}", markup=False, highlight=False)


@app.command()
def leave(
    bot: Bot,
    ladder: Ladder = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
) -> None:
    """Take a version off the ladder; its results and its rating stay."""
    if server:
        with _LadderClient(server, token_file, ca, plain_text) as client:
            left = client.call(client.stub.LeaveLadder, pb.LeaveLadderRequest(version=bot, ladder=ladder)).ladder
    else:
        need_server()
        from arbiter.cli.ladder_run import leave_here

        left = leave_here(data_folder(data_dir), bot, ladder)
    errors.print(f"{bot} has left ladder {left}", markup=False, highlight=False)


@app.command()
def show(
    ladder: Ladder = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show the leaderboard."""
    if server:
        with _LadderClient(server, token_file, ca, plain_text) as client:
            found = client.call(client.stub.GetLeaderboard, pb.GetLeaderboardRequest(ladder=ladder))
    else:
        need_server()
        from arbiter.cli.ladder_run import leaderboard_here

        found = leaderboard_here(data_folder(data_dir), ladder)
    _print(leaderboard_dict(found), leaderboard_table(found), json)


@app.command()
def history(
    bot: Bot,
    ladder: Ladder = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Draw what a version's rating was after each of its matches."""
    if server:
        with _LadderClient(server, token_file, ca, plain_text) as client:
            request = pb.GetHistoryRequest(version=bot, ladder=ladder)
            found = client.call(client.stub.GetHistory, request)
    else:
        need_server()
        from arbiter.cli.ladder_run import history_here

        found = history_here(data_folder(data_dir), bot, ladder)
    _print(history_dict(found), printed(history_chart(found)), json)


@app.command("next")
def next_(
    bot: Annotated[str, typer.Argument(metavar="[BOT]", help="A version; without it all matches are listed.")] = "",
    ladder: Ladder = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List the matches that are played now and next."""
    if server:
        with _LadderClient(server, token_file, ca, plain_text) as client:
            request = pb.ListUpcomingRequest(version=bot, ladder=ladder)
            found = client.call(client.stub.ListUpcoming, request)
    else:
        need_server()
        from arbiter.cli.ladder_run import upcoming_here

        found = upcoming_here(data_folder(data_dir), bot, ladder)
    if not found.matches and not json:
        errors.print(
            f"nothing is planned or expected: {bot or 'everybody'} has left the ladder, it is over, or there are too"
            " few bots of different owners for a table",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        return
    _print(upcoming_dict(found), upcoming_table(found), json)


@app.command()
def run(
    ladder: Ladder = "",
    matches: Annotated[
        int | None,
        typer.Option("--matches", min=1, show_default=False, help="Stop after so many more matches; else on Ctrl-C."),
    ] = None,
    rules: Annotated[str, typer.Option("--rules", help="Named rule set of a ladder that is made now.")] = RULES,
    boards: Annotated[
        int, typer.Option("--boards", min=1, max=100_000, help="Boards per match of a ladder that is made now.")
    ] = BOARDS,
    data_dir: DataDir = None,
    redis: RedisUrl = None,
    workers: Workers = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Play this machine's ladder, made when there is none, until Ctrl-C; the same command goes on."""
    need_server()
    from arbiter.cli.event import EventOptions
    from arbiter.cli.ladder_run import run_here

    options = EventOptions(data_folder(data_dir), redis, workers, unsafe_processes, json)
    found = run_here(options, ladder, rules, boards, matches)
    _print(leaderboard_dict(found), leaderboard_table(found), json)


class _LadderClient:
    """Calls of one user; close it by leaving its ``with`` statement. Raises as `Client` does."""

    def __init__(self, server: str | None, token_file: Path | None, ca: Path | None, plain_text: bool) -> None:
        self._client = Client(server_of(server, token_file, ca, plain_text))
        self.stub = ladder_pb2_grpc.LadderServiceStub(self._client.channel)
        self.call = self._client.call

    def __enter__(self) -> _LadderClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def _print(data: Mapping[str, object], table: RenderableType, json: bool) -> None:
    if json:
        print_json(data)
    else:
        results_console().print(table)
