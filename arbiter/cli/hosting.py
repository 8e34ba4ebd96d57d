"""``arbiter service``: tournaments at a service, for hosts and for who follows them. Needs the base install alone."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import grpc
import typer
from rich.table import Table

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.api.tournament.v1 import tournament_pb2_grpc
from arbiter.cli.console import Following, errors, one_line, output, print_json, results_console
from arbiter.cli.dialling import Authority, Client, Plain, ServerAddress, TokenFile, about, server_of
from arbiter.cli.options import Json
from arbiter.cli.standings_text import standings_dict, standings_tables
from arbiter.cli.submission import read_version
from arbiter.errors import UsageError

app = typer.Typer(
    help="Hold and follow tournaments at a service (see arbiter up).", no_args_is_help=True, rich_markup_mode=None
)

TournamentId = Annotated[str, typer.Argument(metavar="ID", help="The tournament's id.")]
SittingId = Annotated[str, typer.Argument(metavar="SITTING", help="TOURNAMENT/MATCH/SITTING, such as cup-1a2b/3/0.")]


class TournamentClient:
    """Calls of one user; close it by leaving its ``with`` statement. Raises as `Client` does."""

    def __init__(self, server: str | None, token_file: Path | None, ca: Path | None, plain_text: bool) -> None:
        self._client = Client(server_of(server, token_file, ca, plain_text))
        self.stub = tournament_pb2_grpc.TournamentServiceStub(self._client.channel)
        self.call = self._client.call
        self.follow = self._client.follow
        self.fail = self._client.fail
        self.metadata = self._client.metadata

    def __enter__(self) -> TournamentClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


@app.callback()
def _group() -> None:
    """Hold and follow tournaments at a service (see arbiter up)."""


@app.command()
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help='A tournament file whose bots are versions: "mybot@3".')],
    request_id: Annotated[
        str, typer.Option("--request-id", show_default=False, help="To make another tournament from the same file.")
    ] = "",
    start: Annotated[bool, typer.Option("--start", help="And let it be played.")] = False,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Make a tournament between submitted versions. The same file again is the same tournament. For the host."""
    try:
        definition = file.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{file}: can't be read: {error.strerror}; name a tournament file (TOML)") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8 text; a tournament file is TOML") from error
    chosen = request_id or hashlib.sha256(definition.encode()).hexdigest()[:40]
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.CreateTournamentRequest(definition=definition, request_id=chosen)
        with about(file):
            made = client.call(client.stub.CreateTournament, request).tournament
        if start and made.state == pb.TOURNAMENT_STATE_SCHEDULED:
            made = client.call(client.stub.StartTournament, pb.StartTournamentRequest(tournament=made.id)).tournament
    output.print(made.id, markup=False, highlight=False)
    errors.print(_said(made), markup=False, highlight=False)


@app.command()
def enter(
    tournament: TournamentId,
    version: Annotated[
        str, typer.Argument(metavar="BOT[@N]", help="The bot; without a number its newest active version.")
    ],
    side: Annotated[str, typer.Option("--side", help="The side it plays for, where the rule set has teams.")] = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Enter a bot of one's own into a draft, or change which version of it is entered."""
    name, at, wanted = version.partition("@")
    bot, number = (name, 0) if not at or wanted == "latest" else read_version(version)
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.EnterTournamentRequest(tournament=tournament, bot=bot, number=number, side=side)
        answer = client.call(client.stub.EnterTournament, request)
    errors.print(one_line(f"{answer.entered} is entered; {_said(answer.tournament)}"), markup=False, highlight=False)


@app.command()
def withdraw(
    tournament: TournamentId,
    bot: Annotated[str, typer.Argument(metavar="BOT", help="Name of the bot.")],
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Take an entry back, while the tournament is a draft."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.WithdrawFromTournamentRequest(tournament=tournament, bot=bot)
        left = client.call(client.stub.WithdrawFromTournament, request).tournament
    errors.print(f"{bot} is not entered any more; {_said(left)}", markup=False, highlight=False)


@app.command()
def schedule(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Close a draft: nobody enters or leaves any more. For the host."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.ScheduleTournamentRequest(tournament=tournament)
        closed = client.call(client.stub.ScheduleTournament, request).tournament
    errors.print(f"{_said(closed)}, with {', '.join(closed.entrants)}", markup=False, highlight=False)
    _show_left_out(closed)


@app.command()
def start(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Let a tournament be played, a draft after closing it, or go on after a failure. For the host."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.StartTournamentRequest(tournament=tournament)
        started = client.call(client.stub.StartTournament, request).tournament
    errors.print(_said(started), markup=False, highlight=False)
    _show_left_out(started)


@app.command()
def pause(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Stop a running tournament within a second; what is being played is played again later. For the host."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.PauseTournamentRequest(tournament=tournament)
        errors.print(_said(client.call(client.stub.PauseTournament, request).tournament), markup=False, highlight=False)


@app.command()
def resume(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Go on with a paused tournament. For the host."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.ResumeTournamentRequest(tournament=tournament)
        errors.print(
            _said(client.call(client.stub.ResumeTournament, request).tournament), markup=False, highlight=False
        )


@app.command()
def cancel(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """End a tournament for good; what was recorded stays. For the host."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        request = pb.CancelTournamentRequest(tournament=tournament)
        errors.print(
            _said(client.call(client.stub.CancelTournament, request).tournament), markup=False, highlight=False
        )


@app.command("list")
def list_(
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    json: Json = False,
) -> None:
    """List tournaments, newest first."""
    listed: list[pb.Tournament] = []
    with TournamentClient(server, token_file, ca, plain_text) as client:
        page = ""
        while True:
            found = client.call(client.stub.ListTournaments, pb.ListTournamentsRequest(page_token=page))
            listed += found.tournaments
            page = found.next_page_token
            if not page:
                break
    if json:
        print_json([_to_dict(each) for each in listed])
        return
    if not listed:
        errors.print("no tournaments yet; the host makes one with: arbiter service create FILE")
        return
    table = Table()
    for name in ("id", "state", "rules", "entrants", "sittings", "hands"):
        table.add_column(name)
    for each in listed:
        sittings = f"{each.sittings_recorded}/{each.sittings}"
        table.add_row(each.id, _state(each), each.rules, str(len(each.entrants)), sittings, f"{each.hands:,}")
    results_console().print(table)


@app.command()
def watch(
    tournament: TournamentId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Follow a tournament to its end. Exit status 1 unless it is completed."""
    last = pb.Tournament()
    with TournamentClient(server, token_file, ca, plain_text) as client, Following() as following:
        request = pb.WatchTournamentRequest(tournament=tournament)
        for response in client.follow(client.stub.WatchTournament, request):
            last = response.tournament
            played = f"{last.sittings_recorded} of {last.sittings} sittings, {last.hands:,} hands"
            tenth = 10 * last.sittings_recorded // max(1, last.sittings)
            following.show(f"{_said(last)}: {played}", (last.state, tenth))
    errors.print(_said(last), markup=False, highlight=False)
    if last.state != pb.TOURNAMENT_STATE_COMPLETED:
        raise typer.Exit(1)


@app.command()
def standings(
    tournament: TournamentId,
    with_details: Annotated[
        bool, typer.Option("--details", help="Moons, thinking time, points by seat and by pass direction as well.")
    ] = False,
    json: Json = False,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Show standings, crosstable and faults as they are now: of complete matches alone."""
    request = pb.GetStandingsRequest(tournament=tournament, crosstable=True, details=with_details)
    with TournamentClient(server, token_file, ca, plain_text) as client:
        found = client.call(client.stub.GetStandings, request)
    if json:
        print_json(standings_dict(found))
        return
    console = results_console()
    for table in standings_tables(found):
        console.print(table)


@app.command()
def export(
    tournament: TournamentId,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", show_default=False, help="By default ID.tar.gz in this folder.")
    ] = None,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Write all that may be known of a tournament to an archive: plan, standings, replays and seeds of what is over."""
    with TournamentClient(server, token_file, ca, plain_text) as client, Following() as following:
        whole = client.call(client.stub.GetTournament, pb.GetTournamentRequest(tournament=tournament)).tournament.id
        target = file or Path(f"{whole}.tar.gz")
        with writing(target) as sink:
            try:
                request = pb.ExportTournamentRequest(tournament=whole)
                for part in client.stub.ExportTournament(request, metadata=client.metadata):
                    sink.write(part.chunk)
                    following.show(f"{target}: {sink.tell() >> 20} MiB", None)
            except grpc.RpcError as error:
                client.fail(error)
    output.print(str(target), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def writing(target: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name when it is whole, and not at all after an exception."""
    new = target.with_name(f".{target.name}.part")
    try:
        with new.open("wb") as sink:
            yield sink
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


@app.command()
def replay(
    sitting: SittingId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Write the replay of a sitting to standard output, as JSON Lines for arbiter replay show."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        try:
            request = pb.GetReplayRequest(sitting=sitting)
            for part in client.stub.GetReplay(request, metadata=client.metadata):
                sys.stdout.buffer.write(part.chunk)
        except grpc.RpcError as error:
            client.fail(error)
    sys.stdout.flush()


@app.command()
def logs(
    sitting: SittingId,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Show what one's own bots wrote in a sitting, and how they ended; the host sees those of all."""
    with TournamentClient(server, token_file, ca, plain_text) as client:
        found = client.call(client.stub.GetSittingLogs, pb.GetSittingLogsRequest(sitting=sitting))
    for log in found.logs:
        output.print(one_line(f"{log.entrant}: {log.ending}"), style="bold", markup=False, highlight=False)
        for line in (*log.faults, *log.log.splitlines()):
            output.print(one_line(f"  {line}"), markup=False, highlight=False, soft_wrap=True)


def _to_dict(tournament: pb.Tournament) -> dict[str, object]:
    return {
        "id": tournament.id,
        "name": tournament.name,
        "state": _state(tournament),
        "failure": tournament.failure,
        "rules": tournament.rules,
        "entrants": list(tournament.entrants),
        "left_out": [{"name": each.name, "reason": each.reason} for each in tournament.left_out],
        "sittings": tournament.sittings,
        "recorded": tournament.sittings_recorded,
        "hands": tournament.hands,
        "created": tournament.create_time.ToDatetime().isoformat(timespec="seconds") + "Z",
    }


def _show_left_out(tournament: pb.Tournament) -> None:
    for each in tournament.left_out:
        errors.print(one_line(f"left out: {each.name}: {each.reason}"), markup=False, highlight=False, soft_wrap=True)


def _said(tournament: pb.Tournament) -> str:
    return f"{tournament.id} is {_state(tournament)}" + (f": {tournament.failure}" if tournament.failure else "")


def _state(tournament: pb.Tournament) -> str:
    return pb.TournamentState.Name(tournament.state).removeprefix("TOURNAMENT_STATE_").lower()
