"""Options that several commands share: each from its flag, else from its ``ARBITER_...`` variable, else by default."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Final

import typer

from arbiter.errors import InfrastructureError, UsageError

DATABASE_URL: Final = "ARBITER_DATABASE_URL"
"""Variable that names a database in place of the file in the data folder. Not an option: it may hold a password, which
every user of the machine could read on the command line."""

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="ARBITER_DATA_DIR",
        show_default=False,
        help="Where the database and the bots' fixed versions are; by default the user's data folder.",
    ),
]
RedisUrl = Annotated[
    str | None,
    typer.Option(
        "--redis",
        envvar="ARBITER_REDIS_URL",
        show_default=False,
        help="URL of a Redis to use, such as redis://host:6379/0; without it one is started for this run alone.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        envvar="ARBITER_LISTEN",
        show_default=False,
        help="HOST:PORT or unix:PATH where workers on other machines dial.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        envvar="ARBITER_WORKERS",
        min=1,
        max=1024,
        show_default=False,
        help="Worker processes, one sitting each; by default what the tournament says.",
    ),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe-processes",
        envvar="ARBITER_UNSAFE_PROCESSES",
        help="Run bots as plain processes, without a cage. Only for bots of your own.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def data_folder(given: Path | None) -> Path:
    """The data folder, made when missing.

    Raises:
        UsageError: it can't be made.
    """
    if given is None:
        need_server()
        import platformdirs

        given = Path(platformdirs.user_data_dir("hearts-arbiter"))
    try:
        given.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"{given}: can't be made: {error.strerror}; choose another folder with --data-dir") from error
    folder = given.absolute()
    if ":" in str(folder):  # which parts the folders that are hidden from bots, for workers
        raise UsageError(f"{folder}: there is a colon in its path; choose another folder with --data-dir")
    return folder


def need_server() -> None:
    """Say what to install when only the contestant's part is there.

    Raises:
        InfrastructureError: the server's packages are missing.
    """
    missing = _missing()
    if missing:
        raise InfrastructureError(
            f"{missing[0]} is missing: hosting needs the extra 'server'; in a checkout: pip install '.[server]'"
        )


def server_is_installed() -> bool:
    """Whether more than the contestant's part is there."""
    return not _missing()


def _missing() -> list[str]:
    packages = ("sqlalchemy", "celery", "pydantic", "platformdirs")
    return [name for name in packages if not importlib.util.find_spec(name)]
