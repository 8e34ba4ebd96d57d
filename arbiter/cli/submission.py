"""``arbiter bot submit`` and its like: a contestant's bots at a service. Needs the base install alone."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Annotated, BinaryIO, cast

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.cli.console import errors, one_line, output, print_json, results_console
from arbiter.cli.dialling import ApiToken, Authority, Plain, ServerAddress, server_of
from arbiter.cli.options import Json
from arbiter.cli.registry_client import RegistryClient
from arbiter.errors import UsageError
from arbiter.packages import pack


def submit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The bot's folder, with its bot.toml.")],
    message: Annotated[str, typer.Option("--message", "-m", help="What is new in this version.")] = "",
    commit: Annotated[str, typer.Option("--commit", help="Id of the commit that it was made from.")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is active or failed.")] = False,
    server: ServerAddress = None,
    token: ApiToken = None,
    ca: Authority = None,
    plain_text: Plain = False,
    json: Json = False,
) -> None:
    """Submit a bot as a new version. The same content with the same message again is the same version.

    A broken upload is taken up again where it broke. Exit status 1 when --wait saw it fail.
    """
    with tempfile.TemporaryFile() as file, RegistryClient(server_of(server, token, ca, plain_text)) as client:
        package = cast("BinaryIO", file)
        packed = pack(folder, package)
        request_id = hashlib.sha256(f"{packed.version_digest}\n{message}\n{commit}".encode()).hexdigest()[:40]
        bar = Progress(
            TextColumn("sending"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=errors, transient=True
        )
        with bar:
            task = bar.add_task("", total=None)
            version = client.submit(
                package,
                request_id=request_id,
                message=message,
                commit=commit,
                on_progress=lambda sent, size: bar.update(task, completed=sent, total=size),
            )
        if wait:
            version = _followed(client, version)
        failed = version.state == pb.VERSION_STATE_FAILED
        if json:
            print_json(version_to_dict(version))
        else:
            output.print(one_line(_said(version)), markup=False, highlight=False, soft_wrap=True)
            if failed:
                errors.print(f"its log: arbiter bot logs {_name(version)}", markup=False, highlight=False)
    if failed:
        raise typer.Exit(1)


def versions(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="Name of a bot; without it, of all.")] = "",
    server: ServerAddress = None,
    token: ApiToken = None,
    ca: Authority = None,
    plain_text: Plain = False,
    json: Json = False,
) -> None:
    """List the versions of a bot, or of all bots."""
    with RegistryClient(server_of(server, token, ca, plain_text)) as client:
        found = list(client.versions(bot))
    if json:
        print_json([version_to_dict(version) for version in found])
        return
    table = Table()
    for name in ("version", "owner", "state", "received", "message"):
        table.add_column(name)
    for version in found:
        received = version.create_time.ToDatetime().isoformat(" ", "seconds")
        said = f"{version.message}{': ' if version.message and version.failure else ''}{version.failure}"
        table.add_row(_name(version), version.owner, _state(version), received, one_line(said))
    results_console().print(table)


def logs(
    version: Annotated[str, typer.Argument(metavar="BOT@N", help="A version, such as mybot@3.")],
    server: ServerAddress = None,
    token: ApiToken = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Show what building a version and trying it out wrote. For its owner and the host."""
    bot, number = read_version(version)
    with RegistryClient(server_of(server, token, ca, plain_text)) as client:
        for line in client.log(bot, number).splitlines():
            output.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def retire(
    version: Annotated[str, typer.Argument(metavar="BOT@N", help="A version, such as mybot@3.")],
    server: ServerAddress = None,
    token: ApiToken = None,
    ca: Authority = None,
    plain_text: Plain = False,
) -> None:
    """Take a version back: it is not scheduled any more."""
    bot, number = read_version(version)
    with RegistryClient(server_of(server, token, ca, plain_text)) as client:
        errors.print(one_line(_said(client.retire(bot, number))), markup=False, highlight=False)


def read_version(text: str) -> tuple[str, int]:
    """Name and number of ``mybot@3``; raises `UsageError`."""
    bot, at, number = text.rpartition("@")
    if not at or not bot or not number.isdecimal() or len(number) > 9 or not int(number):
        raise UsageError(f"{text!r} names no version; write BOT@N, such as mybot@3")
    return bot, int(number)


def version_to_dict(version: pb.Version) -> dict[str, object]:
    """A version as plain data for ``--json``."""
    return {
        "bot": version.bot,
        "number": version.number,
        "owner": version.owner,
        "state": _state(version),
        "digest": version.digest,
        "size": version.size,
        "message": version.message,
        "commit": version.commit,
        "failure": version.failure,
        "received": version.create_time.ToDatetime().isoformat(timespec="seconds") + "Z",
    }


def _followed(client: RegistryClient, version: pb.Version) -> pb.Version:
    with errors.status("") as status:
        for seen in client.watch(version.bot, version.number):
            version = seen
            status.update(f"{_name(version)}: {_state(version)}")
    return version


def _said(version: pb.Version) -> str:
    return f"{_name(version)} is {_state(version)}" + (f": {version.failure}" if version.failure else "")


def _name(version: pb.Version) -> str:
    return f"{version.bot}@{version.number}"


def _state(version: pb.Version) -> str:
    return pb.VersionState.Name(version.state).removeprefix("VERSION_STATE_").lower()
