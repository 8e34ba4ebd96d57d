"""``arbiter bot``: what a contestant does with a bot's folder. Needs the base install alone."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from arbiter.cage import CageSettings, Launch, LoadMeter, Manifest, choose_cage, load_manifest, take_snapshot
from arbiter.cli.console import errors, one_line, output, print_json
from arbiter.cli.options import Json, Unsafe
from arbiter.engine import rule_set
from arbiter.links import BotHost, LocalLink, ProcessLink
from arbiter.match import MatchFormat, SeatedBot, SittingPlan, SittingRecord, StandInBot, play_sitting

app = typer.Typer(help="Try a bot.", no_args_is_help=True, rich_markup_mode=None)

LOG_LINES = 20


@app.callback()
def _group() -> None:
    """Try a bot."""


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The bot's folder, with its bot.toml.")],
    rules: Annotated[str, typer.Option("--rules", help="Rule set to play.")] = "black_lady",
    boards: Annotated[int, typer.Option("--boards", min=1, max=10_000, help="Boards to play.")] = 16,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Start the bot as a tournament would, play a sitting against simple opponents, and say what went wrong.

    Exit status 0 when the bot committed no fault, 1 when it did.
    """
    manifest = load_manifest(folder)
    record = asyncio.run(_try_out(folder, manifest, rules, boards, unsafe_processes))
    faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
    log = record.endings[0].log.decode(errors="replace")
    if json:
        print_json(
            {
                "bot": manifest.name,
                "rules": rules,
                "hands": len(record.hands),
                "ending": record.endings[0].ending,
                "faults": [
                    {"code": fault.code.value, "board": fault.board, "trick": fault.trick, "detail": fault.detail}
                    for fault in faults
                ],
                "log": log,
            }
        )
    else:
        _show(manifest, record, log)
    if faults:
        raise typer.Exit(1)


def _show(manifest: Manifest, record: SittingRecord, log: str) -> None:
    faults = [*record.faults, *(fault for hand in record.hands for fault in hand.faults)]
    hands = len(record.hands)
    if not faults:
        points = sum(hand.points[hand.places.index(0)] for hand in record.hands)
        output.print(
            f"[green]ok[/green] {manifest.name}: {hands} hands without a fault, {points / hands:.2f} points per hand"
        )
    else:
        errors.print(
            f"{manifest.name}: {len(faults)} fault{'s' if len(faults) > 1 else ''} in {hands} hands", style="red"
        )
        for fault in faults[:10]:
            where = (
                f"board {fault.board}" + (f", trick {fault.trick}" if fault.trick else "") if fault.board else "sitting"
            )
            line = one_line(f"{fault.code} at {where}: {fault.detail}")
            errors.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
        if len(faults) > 10:
            errors.print(f"  ... and {len(faults) - 10} more")
        if len(faults) > record.plan.fault_limit:
            errors.print(
                f"  that is more than {record.plan.fault_limit}: it was put out, and a stand-in played on for it"
            )
        errors.print(f"  its process: {record.endings[0].ending}", markup=False, highlight=False)
    lines = log.splitlines()
    if lines:
        errors.print("its log:", style="bold")
        for line in lines[-LOG_LINES:]:
            errors.print(f"  {one_line(line)}", markup=False, highlight=False, soft_wrap=True)


async def _try_out(
    folder: Path, manifest: Manifest, rules_name: str, boards: int, unsafe_processes: bool
) -> SittingRecord:
    """One sitting of the bot, in place 0, against stand-ins in this process."""
    cage = choose_cage(unsafe_processes, settings=CageSettings.from_environment())
    await cage.check()
    rules = rule_set(rules_name)
    with tempfile.TemporaryDirectory(prefix="arbiter-", ignore_cleanup_errors=True) as run:
        snapshot = take_snapshot(folder, Path(run) / "bots")
        sockets = Path(run) / "sockets"
        sockets.mkdir(mode=0o700)
        if unsafe_processes:  # then a bot of root's is another user, who has to pass to the bot's folder and socket
            for part in (Path(run), sockets):
                part.chmod(0o711)
        host = BotHost(sockets)
        connection = host.add("seat0")
        launch = Launch(snapshot.path, manifest, connection.socket, {"ARBITER_TOKEN": connection.token})
        names = [manifest.name, *(f"stand-in-{number}" for number in range(1, rules.players))]
        plan = SittingPlan(
            sitting="check",
            rules=rules,
            format=MatchFormat.HANDS,
            boards=boards,
            deal_seed=secrets.token_bytes(32),
            seating=0,
            bots=tuple(SeatedBot(index, name, "", os.urandom(16)) for index, name in enumerate(names)),
        )
        links = [ProcessLink(cage, launch, connection), *(LocalLink(StandInBot()) for _ in names[1:])]
        async with host:
            return await play_sitting(plan, links, read_load=LoadMeter().read)
