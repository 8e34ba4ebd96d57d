"""``arbiter gate``: is this bot better than that one? A verdict with stated error rates, for continuous integration."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from arbiter.api.gate.v1 import gate_pb2 as pb
from arbiter.cli.dialling import Authority, Plain, ServerAddress, TokenFile, server_of
from arbiter.cli.gate_at_service import follow_gate, gate_at_service
from arbiter.cli.gate_outputs import Outputs
from arbiter.cli.options import DataDir, Json, RedisUrl, Unsafe, Workers, data_folder, need_server
from arbiter.errors import UsageError

OPPONENTS: Final = ("careful", "batch", "moonshooter")
"""The packaged sample bots that sit at the table when no opponents are named: the strongest of those that are quick."""

BLOCK_BOARDS: Final = 24
"""Boards of a block per group of opponents: at four seats every cyclic order meets every pass direction once."""

MAX_BOARDS: Final = 1200
"""Boards after which there is no verdict."""

MOST_WORKERS: Final = 8
"""Workers where none are asked for, at the most; below that one per core."""


def gate(
    candidate: Annotated[
        str | None,
        typer.Argument(metavar="[BOT]", help="The bot that has to pass: its folder, or NAME@N.", show_default=False),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="BOT",
            show_default=False,
            help="What it is compared with: a folder, a sample bot, NAME@N, or NAME@latest. At a service a version.",
        ),
    ] = None,
    opponents: Annotated[
        list[str] | None,
        typer.Option(
            "--opponents",
            metavar="BOT|FILE",
            show_default=False,
            help="Who else sits at the table, once for each: a folder, a sample bot, NAME@N, NAME@latest, "
            f"ladder-top:N, or a TOML file with a list 'opponents'. By default {', '.join(OPPONENTS)}; at a service "
            "ladder-top:3.",
        ),
    ] = None,
    rules: Annotated[str, typer.Option("--rules", help="Named rule set.")] = "black_lady",
    board_format: Annotated[
        Literal["hands", "game"], typer.Option("--format", help="Whether a board is one hand or a whole game.")
    ] = "hands",
    seatings: Annotated[
        str, typer.Option("--seatings", help="Arrangements per board: rotations, all, or a number of drawn ones.")
    ] = "rotations",
    mode: Annotated[
        Literal["superiority", "noninferiority"],
        typer.Option("--mode", help="Pass what is better, or what is not worse."),
    ] = "superiority",
    test: Annotated[
        Literal["sprt", "betting"],
        typer.Option("--test", help="Likelihood ratio (quick), or betting (holds for any distribution)."),
    ] = "sprt",
    unit: Annotated[
        Literal["board", "block"],
        typer.Option("--unit", help="What is one observation: a board, or a block for bots that learn in a sitting."),
    ] = "board",
    alpha: Annotated[float, typer.Option("--alpha", help="How often a bot may pass that should not.")] = 0.05,
    beta: Annotated[float, typer.Option("--beta", help="How often one may fail that should not.")] = 0.05,
    delta0: Annotated[
        float | None,
        typer.Option(
            "--delta0",
            show_default=False,
            help="Improvement in points per hand that must not pass. By default 0, or -0.5 for what is not worse.",
        ),
    ] = None,
    delta1: Annotated[
        float | None,
        typer.Option(
            "--delta1",
            show_default=False,
            help="Improvement in points per hand that has to pass. By default 0.5, or 0 for what is not worse.",
        ),
    ] = None,
    max_boards: Annotated[
        int | None,
        typer.Option(
            "--max-boards",
            min=1,
            max=1_000_000,
            show_default=False,
            help=f"Boards after which there is no verdict; by default {MAX_BOARDS}. With --resume up to more of them.",
        ),
    ] = None,
    block_boards: Annotated[
        int, typer.Option("--block-boards", min=1, max=100_000, help="Boards between two looks, per set of opponents.")
    ] = BLOCK_BOARDS,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", min=1, show_default=False, help="No verdict after this time."),
    ] = None,
    deal_seed: Annotated[
        str | None, typer.Option("--deal-seed", metavar="HEX", show_default=False, help="64 digits; by default random.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            metavar="ID",
            show_default=False,
            help="Go on with a gate that was stopped, or follow one at a service again.",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", show_default=False, help="Write JUnit XML there.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            show_default=False,
            help="Write Markdown there; it is appended to $GITHUB_STEP_SUMMARY where that is set.",
        ),
    ] = None,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="At a service: don't take back a version sent for this gate that did not pass."),
    ] = False,
    data_dir: DataDir = None,
    redis: RedisUrl = None,
    workers: Workers = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Find out whether BOT is better than another one, both playing the same boards in the same seats.

    Exit status 0 better (or not worse), 1 not, 2 usage, 3 no verdict, 4 infrastructure. A fault of BOT fails the gate.
    """
    outputs = Outputs(junit, markdown, time_limit)
    if resume is not None and (candidate is not None or against is not None):
        raise UsageError(f"--resume {resume}: the gate knows its bots; leave BOT and --against out")
    if resume is None and (candidate is None or against is None):
        raise UsageError("a gate needs a bot and what it is compared with: arbiter gate BOT --against BOT")
    if server:
        service = server_of(server, token_file, ca, plain_text)
        if resume is not None:
            raise typer.Exit(follow_gate(service, resume, outputs, json=json))
        if deal_seed is not None:
            raise UsageError("--deal-seed: a service draws its own, which nobody knows beforehand; leave it out")
        order = pb.CreateGateRequest(
            baseline=at_a_service(against or ""),
            opponents=[at_a_service(name) for name in opponents_named(opponents or [])],
            rules=rules,
            format=board_format,
            seatings=seatings,
            block_boards=block_boards,
            max_boards=max_boards or MAX_BOARDS,
            terms=pb.GateTerms(
                mode=pb.GateMode.Value(f"GATE_MODE_{mode.upper()}"),
                form=pb.GateForm.Value(f"GATE_FORM_{test.upper()}"),
                unit=pb.GateUnit.Value(f"GATE_UNIT_{unit.upper()}"),
                alpha=alpha,
                beta=beta,
                delta0=delta0,
                delta1=delta1,
            ),
        )
        raise typer.Exit(gate_at_service(service, candidate or "", order, outputs, keep=keep, json=json))
    need_server()
    from arbiter.cli.event import EventOptions, open_store
    from arbiter.cli.gate_bots import named_bots
    from arbiter.cli.gate_run import resume_gate, start_gate
    from arbiter.cli.local import bots_of
    from arbiter.tournament.gate_request import GateRequest
    from arbiter.tournament.gate_terms import Form, Mode, Unit

    options = EventOptions(data_folder(data_dir), redis, workers, unsafe_processes, json)
    if resume is not None:
        raise typer.Exit(resume_gate(resume, max_boards, options, outputs))
    with open_store(options.data) as store:
        bots = named_bots(
            store,
            bots_of(store, options.data),
            [candidate or "", against or "", *opponents_named(opponents or list(OPPONENTS))],
            rules,
            board_format,
        )
    request = GateRequest(
        candidate=bots[0],
        baseline=bots[1],
        opponents=tuple(bots[2:]),
        rules={"name": rules},
        match={
            "format": board_format,
            "boards": block_boards,
            "seatings": int(seatings) if seatings.isdecimal() and len(seatings) < 10 else seatings,
        },
        mode=Mode(mode),
        form=Form(test),
        unit=Unit(unit),
        alpha=alpha,
        beta=beta,
        delta0=delta0,
        delta1=delta1,
        workers=workers or min(MOST_WORKERS, os.cpu_count() or 1),
        deal_seed=deal_seed,
    )
    raise typer.Exit(start_gate(request, max_boards or MAX_BOARDS, options, outputs))


def at_a_service(named: str) -> str:
    """What a name means to a service; raises `UsageError` for a folder, which it does not have."""
    if os.sep in named or Path(named, "bot.toml").is_file():
        raise UsageError(f"{named}: is a folder; a service knows submitted versions, such as mybot@latest or mybot@3")
    return named


def opponents_named(given: list[str]) -> list[str]:
    """The names of opponents, those listed in files in place of the files'; paths in a file count from it.

    Raises:
        UsageError: a file can't be read or is not a list of opponents.
    """
    names: list[str] = []
    for name in given:
        path = Path(name)
        if path.is_file():
            names += [str(path.parent / each) if (path.parent / each).is_dir() else each for each in _listed(path)]
        else:
            names.append(name)
    return names


def _listed(path: Path) -> list[str]:
    right = 'right is a line such as opponents = ["careful", "../mine"]'
    try:
        data: dict[str, object] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: can't be read as TOML: {error}; {right}") from error
    listed = data.pop("opponents", None)
    if data or not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
        raise UsageError(f"{path}: has to hold a list 'opponents' and nothing else; {right}")
    return listed
