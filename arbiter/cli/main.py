"""Entry point: assembles the commands, and turns the project's errors into one line and an exit status."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Annotated, NoReturn

import typer

from arbiter import __version__
from arbiter.cli import (
    bot,
    cage,
    database,
    demo,
    gate,
    hosting,
    ladder,
    replay,
    rules,
    serve,
    sitting,
    status,
    submission,
    token,
    tournament,
)
from arbiter.cli.console import ConsoleHandler, errors, one_line
from arbiter.engine import COMPILED
from arbiter.errors import ArbiterError, InfrastructureError

EXIT_INTERRUPTED = 130

app = typer.Typer(
    help="Host, watch and enter competitions of bots that play Hearts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("gate")(gate.gate)
for service in (serve.up, serve.serve, serve.coordinator, serve.worker, status.status, status.top):
    app.command()(service)
app.add_typer(tournament.app, name="tournament")
app.add_typer(replay.app, name="replay")
app.add_typer(bot.app, name="bot")
app.add_typer(cage.app, name="cage")
app.add_typer(rules.app, name="rules")
app.add_typer(sitting.app, name="sitting")
app.add_typer(hosting.app, name="service")
app.add_typer(token.app, name="token")
app.add_typer(ladder.app, name="ladder")
app.add_typer(database.app, name="db")
tournament.app.command("deals")(replay.deals)
bot.app.command("list")(submission.list_bots)
for command in (submission.submit, submission.versions, submission.builds, submission.logs, submission.retire):
    bot.app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"arbiter {__version__}, hot path {'compiled' if COMPILED else 'interpreted'}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What every command takes."""


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 failed, 2 usage, 3 no verdict, 4 infrastructure, 130 interrupted."""
    logging.basicConfig(level=logging.WARNING, handlers=[ConsoleHandler()])
    try:
        app()
    except ArbiterError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a folder without rights: the machine's, wherever it shows
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", InfrastructureError.exit_code)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(EXIT_INTERRUPTED)


def _fail(message: str, status: int) -> NoReturn:
    """Print one line and exit."""
    errors.print(f"error: {one_line(message)}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(status)
