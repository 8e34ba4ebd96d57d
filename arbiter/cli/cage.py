"""``arbiter cage``: what this machine protects from. Needs the base install alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated

import typer
from rich.table import Table

from arbiter.cage import BubblewrapCage, CageSettings, Finding, Level, Limits
from arbiter.cli.console import print_json, results_console
from arbiter.cli.options import Json
from arbiter.errors import InfrastructureError

app = typer.Typer(help="See what keeps bots from harming this machine.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """See what keeps bots from harming this machine."""


@app.command()
def check(
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            show_default=False,
            help="What to require; by default ARBITER_CAGE_LEVEL, else basic, which is what workers require, too.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Try each protection on this machine, in a cage as a bot's, and say which hold.

    Exit status 0 when all that are required hold, 4 when one does not or no cage can be built.
    """
    settings = CageSettings.from_environment()
    if level is not None:
        settings = replace(settings, level=level)
    findings = asyncio.run(BubblewrapCage(settings=settings).survey())
    lacking = [finding for finding in findings if finding.required(settings.level) and not finding.holds]
    if json:
        print_json(
            {
                "level": settings.level.value,
                "protections": [
                    {
                        "name": finding.protection.value,
                        "holds": finding.holds,
                        "required": finding.required(settings.level),
                        "seen": finding.seen,
                    }
                    for finding in findings
                ],
            }
        )
    else:
        results_console().print(_table(findings, settings.level, settings.limits))
    if lacking:
        names = ", ".join(finding.protection for finding in lacking)
        raise InfrastructureError(
            f"the level {settings.level.value!r} requires what does not hold here: {names}; workers refuse to start; "
            "see docs/security.md for what each needs"
        )


def _table(findings: tuple[Finding, ...], level: Level, limits: Limits) -> Table:
    table = Table(title=f"What bots are kept from (required: {level.value})", title_style="bold", title_justify="left")
    table.add_column("protection", style="bold", no_wrap=True)
    table.add_column("holds")
    table.add_column("required")
    table.add_column("what was seen")
    for finding in findings:
        required = finding.required(level)
        colour = "green" if finding.holds else "red" if required else "yellow"
        holds = f"[{colour}]{'yes' if finding.holds else 'no'}[/{colour}]"
        table.add_row(finding.protection.value, holds, "yes" if required else "no", finding.seen)
    table.caption = (
        f"each bot may use: {limits.memory >> 20} MiB of memory, {limits.processes} processes and threads, "
        f"processors: {limits.cpus:g}"
    )
    table.caption_justify = "left"
    return table
