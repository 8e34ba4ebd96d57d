"""Runs one tournament in the foreground: check, plan, play, show, and say how to go on after an interruption."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.text import Text

from arbiter.api.tournament.v1 import tournament_pb2 as pb
from arbiter.cli.console import errors, print_json, results_console
from arbiter.cli.local import LocalOptions, bots_of, cancelled_by_sigterm, check_bots, refuse_finished, run_tournament
from arbiter.cli.options import DATABASE_URL
from arbiter.cli.progress import ProgressView
from arbiter.cli.standings_text import standings_tables
from arbiter.errors import InfrastructureError, UsageError
from arbiter.packages import Versions
from arbiter.service.standings_messages import standings_message
from arbiter.store import Entrant, Store, StoreError, TournamentState, UnknownTournament
from arbiter.supervisor.redis import hide_passwords
from arbiter.tournament import (
    TournamentDetails,
    TournamentReport,
    TournamentSpec,
    enter,
    new_id,
    plan_tournament,
    report,
)

EXIT_INTERRUPTED = 130

GATE = ("gate", "--resume")
"""How a gate is gone on with."""


@dataclass(frozen=True, slots=True)
class EventOptions:
    """What the command line said."""

    data: Path
    redis_url: str | None
    workers: int | None
    unsafe_processes: bool
    json: bool

    def local(self, spec: TournamentSpec) -> LocalOptions:
        """The options of a run, with what the tournament says where the command line was silent."""
        return LocalOptions(self.data, self.redis_url, self.workers or spec.workers, self.unsafe_processes)


def database_in(data: Path) -> str | Path:
    """The URL in ``ARBITER_DATABASE_URL``, else the file in the data folder."""
    return os.environ.get(DATABASE_URL) or data / "arbiter.db"


def open_store(data: Path) -> Store:
    """The store in the database that counts for a data folder."""
    return Store.open(database_in(data))


def start_event(spec: TournamentSpec, options: EventOptions) -> None:
    """Check the entrants, write the plan and play it."""
    with open_store(options.data) as store, asyncio.Runner() as runner:
        local = options.local(spec)
        bots = bots_of(store, local.data)
        entrants = enter(spec.entrants, bots)
        runner.run(_checked(entrants, local, bots, [clock.start_up for clock in spec.clocks]))
        tournament_id = new_id(spec.name, {tournament.id for tournament in store.tournaments()})
        tournament, matches = plan_tournament(tournament_id, spec, entrants, datetime.now(UTC))

        def write_plan() -> None:
            store.create_tournament(tournament, entrants, matches, spec.seatings.sittings(spec.rules))

        _play(runner, store, tournament_id, local, options, write_plan)


def resume_event(prefix: str, options: EventOptions) -> None:
    """Go on with a tournament; a completed one is shown."""
    with open_store(options.data) as store, asyncio.Runner() as runner:
        tournament = store.find_tournament(prefix)
        if tournament.state is TournamentState.COMPLETED:
            show_report(report(store, tournament.id), options.json)
            return
        refuse_finished(store, tournament.id)
        spec = TournamentSpec.from_dict(tournament.spec)
        if spec.gate is not None:
            raise UsageError(f"{tournament.id} is a gate; go on with: {resume_command(tournament.id, options, GATE)}")
        _play(runner, store, tournament.id, options.local(spec), options)


def show_report(found: TournamentReport, json: bool, behind: TournamentDetails | None = None) -> None:
    """Print everything that the results say, and what stands behind them if that is given."""
    if json:
        print_json(found.to_dict() | ({} if behind is None else {"details": behind.to_list()}))
        return
    console = results_console()
    told = standings_message(found, pb.Tournament(id=found.tournament.id), crosstable=True, details=behind)
    for table in standings_tables(told):
        console.print(table)


def _play(
    runner: asyncio.Runner,
    store: Store,
    tournament_id: str,
    local: LocalOptions,
    options: EventOptions,
    begin: Callable[[], None] = lambda: None,
) -> None:
    # One event loop for the whole command: gRPC's objects of two loops in one process get into each other's way.
    try:
        state = runner.run(_until_end(store, tournament_id, local, begin))
    except (KeyboardInterrupt, asyncio.CancelledError):
        if exists(store, tournament_id):
            errors.print("\nInterrupted. Nothing that was recorded is lost; to go on:")
            command = resume_command(tournament_id, options)
            errors.print(f"  {command}", style="bold", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except InfrastructureError as error:
        if not exists(store, tournament_id):
            raise
        raise InfrastructureError(f"{error}; to go on: {resume_command(tournament_id, options)}") from error
    found = report(store, tournament_id)
    show_report(found, options.json)
    if state is TournamentState.FAILED:
        raise InfrastructureError(
            f"{found.tournament.failure}; when that is mended: {resume_command(tournament_id, options)}"
        )
    if not options.json:
        _show_next_steps(tournament_id, options)


async def _checked(entrants: list[Entrant], local: LocalOptions, bots: Versions, patience: list[float]) -> None:
    with cancelled_by_sigterm():
        await check_bots(entrants, local, bots, patience)


async def _until_end(
    store: Store, tournament_id: str, local: LocalOptions, begin: Callable[[], None]
) -> TournamentState:
    with cancelled_by_sigterm():
        return await run_tournament(store, tournament_id, local, ProgressView(errors), begin)


def exists(store: Store, tournament_id: str) -> bool:
    """Whether there is anything to go on with."""
    try:
        store.tournament(tournament_id)
    except (UnknownTournament, StoreError):
        return False
    return True


def resume_command(tournament_id: str, options: EventOptions, words: Sequence[str] = ("tournament", "resume")) -> str:
    """The command that goes on with a tournament, with the options that it needs; a password is not shown."""
    words = [program(), *words, tournament_id, *_data_option(options)]
    if options.redis_url:
        words += ["--redis", hide_passwords(options.redis_url)]
    if options.workers:
        words += ["--workers", str(options.workers)]
    if options.unsafe_processes:
        words.append("--unsafe-processes")
    return shlex.join(words)


def program() -> str:
    """How this program is called: by its name where the shell finds it by that, else by its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and Path(found).resolve() == called.resolve() else sys.argv[0]


def _show_next_steps(tournament_id: str, options: EventOptions) -> None:
    data = _data_option(options)
    console = results_console()
    console.print("\nTo look further:", style="bold")
    for words, what in (
        (["tournament", "standings", tournament_id, *data, "--json"], "the same, for programs"),
        (["replay", "show", f"{tournament_id}/0/0", "--board", "1", *data], "a hand, card by card"),
        (["tournament", "list", *data], "all tournaments"),
    ):
        command = shlex.join([program(), *words])
        console.print(Text(f"  {command} ").append(f"# {what}", style="dim"), soft_wrap=True)


def _data_option(options: EventOptions) -> list[str]:
    import platformdirs

    standard = Path(platformdirs.user_data_dir("hearts-arbiter")).absolute()
    return [] if options.data == standard else ["--data-dir", str(options.data)]
