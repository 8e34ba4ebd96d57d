"""``arbiter sitting``: how the bots of a sitting fared."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from arbiter.cli.console import one_line, output, print_json
from arbiter.cli.options import DataDir, Json, data_folder, need_server
from arbiter.errors import UsageError

if TYPE_CHECKING:
    from arbiter.store import Fault
    from arbiter.tournament.replays import BotReport

app = typer.Typer(help="Look at how the bots of a sitting fared.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Look at how the bots of a sitting fared."""


@app.command()
def logs(
    sitting: Annotated[str, typer.Argument(metavar="SITTING", help="TOURNAMENT/MATCH/SITTING, such as demo-1a2b/3/0.")],
    entrant: Annotated[str | None, typer.Option("--entrant", metavar="NAME", help="This bot alone.")] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Show each bot's ending, faults and log. A match's logs are shown after its last sitting."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.tournament.replays import released_logs

    with open_store(data_folder(data_dir)) as store:
        key = store.find_sitting(sitting)
        reports = released_logs(store, key)
    chosen = [report for report in reports if entrant in (None, report.name)]
    if not chosen:
        names = ", ".join(report.name for report in reports)
        raise UsageError(f"sitting {key} has no bot {entrant!r}; it has {names}")
    if json:
        print_json({"sitting": str(key), "bots": [asdict(report) for report in chosen]})
        return
    for report in chosen:
        _show(report)


def _show(report: BotReport) -> None:
    ending = "its process's ending was not reported" if report.ending is None else report.ending
    _line(f"{report.name}: {ending}", "bold")
    for fault in report.faults:
        _line(f"  {_where(fault)}: {fault.detail}", "red")
    for line in report.log.splitlines():
        _line(f"  {line}")


def _where(fault: Fault) -> str:
    """``ILLEGAL_PLAY at board 1, hand 1, seat 2, trick 3``, as far as the fault has a place."""
    places = {"board": fault.board, "hand": fault.hand, "seat": fault.seat, "trick": fault.trick}
    place = ", ".join(f"{name} {number}" for name, number in places.items() if number is not None)
    return f"{fault.code} at {place}" if place else fault.code


def _line(text: str, style: str | None = None) -> None:
    output.print(one_line(text), style=style, markup=False, highlight=False, soft_wrap=True)
