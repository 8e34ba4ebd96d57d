"""``arbiter tournament``: run, resume, list, standings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from arbiter.cli.console import errors, print_json, results_console
from arbiter.cli.options import DataDir, Json, RedisUrl, Unsafe, Workers, data_folder, need_server

app = typer.Typer(help="Run tournaments and read their results.", no_args_is_help=True, rich_markup_mode=None)

TournamentId = Annotated[str, typer.Argument(metavar="ID", help="The tournament's id, or how it begins.")]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tournament file, see docs/tournament-file.md.")],
    data_dir: DataDir = None,
    redis: RedisUrl = None,
    workers: Workers = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Play the tournament that FILE describes, on this machine."""
    need_server()
    from arbiter.cli.event import EventOptions, start_event
    from arbiter.tournament import load_spec

    options = EventOptions(data_folder(data_dir), redis, workers, unsafe_processes, json)
    start_event(load_spec(file), options)


@app.command()
def resume(
    tournament: TournamentId,
    data_dir: DataDir = None,
    redis: RedisUrl = None,
    workers: Workers = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Go on with a tournament that was interrupted."""
    need_server()
    from arbiter.cli.event import EventOptions, resume_event

    resume_event(tournament, EventOptions(data_folder(data_dir), redis, workers, unsafe_processes, json))


@app.command("list")
def list_tournaments(data_dir: DataDir = None, json: Json = False) -> None:
    """List all tournaments, newest first."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.cli.local import is_run

    data = data_folder(data_dir)
    with open_store(data) as store:
        rows = [
            {
                "id": tournament.id,
                "state": tournament.state.value,
                "active": is_run(store, data, tournament.id),
                "created_at": tournament.created_at.isoformat(),
                "sittings": (progress := store.progress(tournament.id)).total,
                "recorded": progress.recorded,
                "hands": progress.hands,
                "failure": tournament.failure,
            }
            for tournament in store.tournaments()
        ]
    if json:
        print_json(rows)
        return
    if not rows:
        errors.print("no tournaments yet; try: arbiter demo")
        return
    table = Table()
    for heading in ("id", "state", "made", "sittings", "hands"):
        table.add_column(heading, justify="right" if heading in ("sittings", "hands") else "left")
    for row in rows:
        made = datetime.fromisoformat(str(row["created_at"])).astimezone(UTC)
        table.add_row(
            str(row["id"]),
            # The owner of a run that was killed could not say so.
            "interrupted" if row["state"] == "running" and not row["active"] else str(row["state"]),
            f"{made:%Y-%m-%d %H:%M} UTC",
            f"{row['recorded']}/{row['sittings']}",
            f"{row['hands']:,}",
        )
    results_console().print(table)


@app.command()
def standings(
    tournament: TournamentId,
    with_details: Annotated[
        bool, typer.Option("--details", help="Moons, thinking time, points by seat and by pass direction as well.")
    ] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show a tournament's standings, crosstable and faults as they are now."""
    need_server()
    from arbiter.cli.event import open_store, show_report
    from arbiter.tournament import details, report

    with open_store(data_folder(data_dir)) as store:
        tournament_id = store.find_tournament(tournament).id
        found = report(store, tournament_id)
        behind = details(store, tournament_id) if with_details else None
    show_report(found, json, behind)


@app.command()
def workers(tournament: TournamentId, data_dir: DataDir = None, json: Json = False) -> None:
    """Show what became of each worker's sittings, which workers stand out, and reports that can't be right.

    Exit status 1 when there is any such worker or report.
    """
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.cli.tables import alarms_table, workers_table
    from arbiter.tournament import worker_reports

    with open_store(data_folder(data_dir)) as store:
        tournament_id = store.find_tournament(tournament).id
        found = worker_reports(store.attempt_facts(tournament_id))
        alarms = store.alarms(tournament_id)
    if json:
        shown = [
            {
                "sitting": str(alarm.key),
                "attempt": alarm.attempt,
                "reason": alarm.reason,
                "raised_at": alarm.raised_at.isoformat(),
            }
            for alarm in alarms
        ]
        print_json({"workers": [worker.to_dict() for worker in found], "alarms": shown})
    else:
        console = results_console()
        console.print(workers_table(found))
        if alarms:
            console.print(alarms_table(alarms))
    if alarms or any(worker.outlying for worker in found):
        raise typer.Exit(1)
