"""``arbiter demo``: a whole tournament between the sample bots, on real parts, in about a minute."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Final

import typer

from arbiter.cli.options import DataDir, Json, RedisUrl, Unsafe, Workers, data_folder, need_server
from arbiter.errors import InfrastructureError

BOTS: Final = ("montecarlo", "careful", "moonshooter", "batch", "lowest", "uniform")
"""The sample bots that play, each a folder of the package ``sample_bots``."""

BOARDS: Final = 16
"""Boards per match: enough to tell the bots apart, few enough for a minute on two cores."""


def demo(
    boards: Annotated[int, typer.Option("--boards", min=1, max=10_000, help="Boards per match.")] = BOARDS,
    data_dir: DataDir = None,
    redis: RedisUrl = None,
    workers: Workers = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Play a round-robin between the sample bots and show everything that comes of it."""
    need_server()
    from arbiter.cli.event import EventOptions, start_event
    from arbiter.tournament import parse_spec

    folder = sample_bots_folder()
    spec = parse_spec(
        {"name": "demo", "match": {"boards": boards}, "entrants": [{"bot": name} for name in BOTS]}, folder
    )
    start_event(spec, EventOptions(data_folder(data_dir), redis, workers, unsafe_processes, json))


def sample_bots_folder() -> Path:
    """Where the sample bots are installed."""
    found = importlib.util.find_spec("sample_bots")
    if found is None or not found.submodule_search_locations:
        raise InfrastructureError("the package sample_bots is not installed; install hearts-arbiter whole")
    return Path(found.submodule_search_locations[0])
