"""``arbiter bot``: what a contestant does with a bot's folder. Needs the base install alone."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from arbiter.cage import CageSettings, Manifest, choose_cage, load_manifest
from arbiter.cli.console import errors, one_line, output, print_json
from arbiter.cli.options import Json, Unsafe
from arbiter.engine import rule_set
from arbiter.match import Trial, fault_line, try_out
from arbiter.packages import Builder, BuildResult, FileVersions

app = typer.Typer(help="Try a bot and submit it.", no_args_is_help=True, rich_markup_mode=None)

LOG_LINES = 20


@app.callback()
def _group() -> None:
    """Try a bot and submit it."""


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
    trial = asyncio.run(_try_out(folder, rules, boards, unsafe_processes, json))
    if json:
        print_json(
            {
                "bot": trial.manifest.name,
                "rules": rules,
                "hands": len(trial.record.hands),
                "ending": trial.ending,
                "faults": [
                    {"code": fault.code.value, "board": fault.board, "trick": fault.trick, "detail": fault.detail}
                    for fault in trial.faults
                ],
                "claims": trial.broken_claims,
                "log": trial.log,
            }
        )
    else:
        _show(trial)
    if not trial.ok:
        raise typer.Exit(1)


def _show(trial: Trial) -> None:
    record, faults, name = trial.record, trial.faults, trial.manifest.name
    hands = len(record.hands)
    if not faults:
        points = sum(hand.points[hand.places.index(0)] for hand in record.hands)
        output.print(f"[green]ok[/green] {name}: {hands} hands without a fault, {points / hands:.2f} points per hand")
    else:
        errors.print(f"{name}: {len(faults)} fault{'s' if len(faults) > 1 else ''} in {hands} hands", style="red")
        for fault in faults[:10]:
            errors.print(f"  {one_line(fault_line(fault))}", markup=False, highlight=False, soft_wrap=True)
        if len(faults) > 10:
            errors.print(f"  ... and {len(faults) - 10} more")
        if len(faults) > record.plan.fault_limit:
            errors.print(
                f"  that is more than {record.plan.fault_limit}: it was put out, and a stand-in played on for it"
            )
        errors.print(f"  its process: {trial.ending}", markup=False, highlight=False)
    for claim in trial.broken_claims:
        errors.print(f"{name}: {claim}", style="red", markup=False, highlight=False, soft_wrap=True)
    _show_log("its log", trial.log)


def _show_log(what: str, log: str) -> None:
    lines = log.splitlines()
    if lines:
        errors.print(f"{what}:", style="bold")
        for line in lines[-LOG_LINES:]:
            errors.print(f"  {one_line(line)}", markup=False, highlight=False, soft_wrap=True)


async def _try_out(folder: Path, rules: str, boards: int, unsafe_processes: bool, json: bool) -> Trial:
    """What submitting would do: a version of the folder, its build where it needs one, a sitting."""
    settings = CageSettings.from_environment()
    manifest = load_manifest(folder, settings.runtimes, built=False)
    game = rule_set(rules)
    cage = choose_cage(unsafe_processes, settings=settings)
    await cage.check()
    with tempfile.TemporaryDirectory(prefix="arbiter-", ignore_cleanup_errors=True) as run:
        if unsafe_processes:  # then a bot of root's is another user, who has to pass to the bot's folder
            Path(run).chmod(0o711)
        versions = FileVersions(Path(run) / "bots")
        builder = Builder(versions, Path(run) / "staging", settings, unsafe=unsafe_processes)
        with errors.status(f"building {manifest.name}"):  # shown on a terminal alone
            result = await builder.build(versions.put(folder).digest, settings.runtimes.named(manifest.runtime))
        if result.digest is None:
            _show_failed_build(manifest, result, json)
            raise typer.Exit(1)
        built = versions.open(result.digest)
        return await try_out(built, load_manifest(built, settings.runtimes), (rules, game), cage, boards)


def _show_failed_build(manifest: Manifest, result: BuildResult, json: bool) -> None:
    log = result.log.decode(errors="replace")
    if json:
        print_json({"bot": manifest.name, "build": result.end.value, "detail": result.detail, "log": log})
        return
    line = one_line(f"{manifest.name}: the build failed: {result.detail}")
    errors.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    _show_log("its log", log)
