"""``arbiter bot submit`` and its like: bots at a service, or without one in a data folder of this machine.

At a service the base install is enough.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from arbiter.api.registry.v1 import registry_pb2 as pb
from arbiter.cli.console import Following, errors, one_line, output, print_json, results_console
from arbiter.cli.dialling import Authority, Plain, Server, ServerAddress, TokenFile, about, server_of, token_is_given
from arbiter.cli.options import DataDir, Json, Unsafe, data_folder, server_is_installed
from arbiter.cli.registry_client import RegistryClient
from arbiter.errors import UsageError
from arbiter.packages import PackageLimits, Packed, pack, unpacked_files

if TYPE_CHECKING:
    from arbiter.cli.local_bots import LocalBots


def submit(
    bot: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The bot's folder, with its bot.toml, or an archive of it (tar.gz, zip)."),
    ],
    message: Annotated[str, typer.Option("--message", "-m", help="What is new in this version.")] = "",
    commit: Annotated[str, typer.Option("--commit", help="Id of the commit that it was made from.")] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is active or failed.")] = False,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="Without a service: rule set to try it out in; by default black_lady."),
    ] = None,
    unsafe_processes: Unsafe = False,
    json: Json = False,
) -> None:
    """Submit a bot as a new version. The same content with the same message again is the same version.

    Without --server it is kept in the data folder of this machine, where it is built and tried out at once.

    A broken upload is taken up again where it broke. Exit status 1 when it failed or was retired, with --wait unless it
    became active.
    """
    place = _place(server, token_file, ca, plain_text, data_dir, rules or (), unsafe_processes)
    with place as client:
        version = _sent(client, bot, message, commit)
        if wait or not isinstance(client, RegistryClient):  # here nobody else would do it
            version = _followed(client, version)
            _check_tried(version, rules or ())
        failed = version.state == pb.VERSION_STATE_FAILED
        retired = version.state == pb.VERSION_STATE_RETIRED
        if json:
            print_json(version_to_dict(version))
        else:
            output.print(one_line(_said(version)), markup=False, highlight=False, soft_wrap=True)
            if failed:
                errors.print(f"its log: arbiter bot logs {_name(version)}", markup=False, highlight=False)
            if retired:
                errors.print("to submit the same content anew, give another --message", markup=False, highlight=False)
    if failed or retired:
        raise typer.Exit(1)


def _packed(bot: Path, package: BinaryIO) -> Packed:
    """Pack a bot's folder, or what an archive of one holds: the same content is the same version either way."""
    if not bot.is_file():
        return pack(bot, package)
    with (
        about(bot),
        bot.open("rb") as archive,
        tempfile.TemporaryDirectory(prefix="arbiter-") as staging,
        unpacked_files(archive, Path(staging), PackageLimits()) as (folder, _),
    ):
        return pack(folder, package)


def submit_active(server: Server, folder: Path) -> str:
    """Submit a folder to a service and wait until it is active; returns the version's name.

    Raises:
        UsageError: the same content was submitted before and is retired.
        typer.Exit: it failed, which is said; exit status 1.
    """
    with RegistryClient(server) as client:
        version = _followed(client, _sent(client, folder, "", ""))
    if version.state == pb.VERSION_STATE_RETIRED:
        raise UsageError(
            f"{_said(version)}; to submit the same content anew, give another message: arbiter bot submit --message"
        )
    errors.print(one_line(_said(version)), markup=False, highlight=False, soft_wrap=True)
    if version.state == pb.VERSION_STATE_FAILED:
        errors.print(f"its log: arbiter bot logs {_name(version)}", markup=False, highlight=False)
        raise typer.Exit(1)
    return _name(version)


def list_bots(
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List all bots with their newest versions."""
    with _place(server, token_file, ca, plain_text, data_dir) as client:
        found = list(client.bots())
    if json:
        print_json(
            [{"bot": bot.name, "owner": bot.owner, "latest": bot.latest, "active": bot.active or None} for bot in found]
        )
        return
    if not found:
        errors.print("no bots yet; submit one with: arbiter bot submit DIR")
        return
    table = Table()
    for name in ("bot", "owner", "newest", "newest active"):
        table.add_column(name)
    for bot in found:
        table.add_row(
            bot.name, bot.owner, f"{bot.name}@{bot.latest}", f"{bot.name}@{bot.active}" if bot.active else "–"
        )
    results_console().print(table)


def versions(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="Name of a bot; without it, of all.")] = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List the versions of a bot, or of all bots."""
    with _place(server, token_file, ca, plain_text, data_dir) as client:
        found = list(client.versions(bot))
    if json:
        print_json([version_to_dict(version) for version in found])
        return
    if not found:
        errors.print(one_line(f"no versions of {bot!r}" if bot else "no versions yet"), markup=False, highlight=False)
        return
    table = Table()
    for name in ("version", "owner", "state", "received", "message"):
        table.add_column(name)
    for version in found:
        received = version.create_time.ToDatetime().isoformat(" ", "seconds")
        said = f"{version.message}{': ' if version.message and version.failure else ''}{version.failure}"
        table.add_row(_name(version), version.owner, _state(version), received, one_line(said))
    results_console().print(table)


def builds(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="Name of a bot; without it, of all.")] = "",
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List the builds of a bot's versions, or of all. Many runtimes build nothing."""
    with _place(server, token_file, ca, plain_text, data_dir) as client:
        found = [build_to_dict(build) for build in client.builds(bot)]
    if json:
        print_json(found)
        return
    if not found:
        errors.print("no builds; versions of many runtimes, such as python, need none")
        return
    table = Table()
    for name in ("version", "build", "state", "began", "seconds", "bytes", "said"):
        table.add_column(name)
    for row in found:
        shown = ("version", "build", "state", "began", "seconds", "size")
        table.add_row(*("–" if row[name] is None else str(row[name]) for name in shown), one_line(str(row["detail"])))
    results_console().print(table)


def logs(
    version: Annotated[str, typer.Argument(metavar="BOT@N", help="A version, such as mybot@3.")],
    build: Annotated[
        int | None, typer.Option("--build", min=1, show_default=False, help="What this build wrote, and nothing else.")
    ] = None,
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
) -> None:
    """Show what building a version and trying it out wrote. For its owner and the host."""
    bot, number = read_version(version)
    with _place(server, token_file, ca, plain_text, data_dir) as client:
        written = client.log(bot, number) if build is None else client.build_log(bot, number, build)
        for line in written.splitlines():
            output.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def retire(
    version: Annotated[str, typer.Argument(metavar="BOT@N", help="A version, such as mybot@3.")],
    server: ServerAddress = None,
    token_file: TokenFile = None,
    ca: Authority = None,
    plain_text: Plain = False,
    data_dir: DataDir = None,
) -> None:
    """Take a version back: it is not scheduled any more."""
    bot, number = read_version(version)
    with _place(server, token_file, ca, plain_text, data_dir) as client:
        errors.print(one_line(_said(client.retire(bot, number))), markup=False, highlight=False)


def _place(
    server: str | None,
    token_file: Path | None,
    ca: Path | None,
    plain_text: bool,
    data_dir: Path | None,
    rules: Sequence[str] = (),
    unsafe_processes: bool = False,
) -> RegistryClient | LocalBots:
    """Where the bots are: at the service that is named, else in the data folder.

    Raises:
        UsageError: no service is named, and this is no machine that keeps bots; or rule sets are named for a service.
    """
    if server is not None or token_is_given(token_file) or not server_is_installed():
        if rules:
            raise UsageError("--rules: a service says itself in which rule sets it tries versions out; leave it out")
        return RegistryClient(server_of(server, token_file, ca, plain_text))
    from arbiter.cli.local import LocalOptions, is_served
    from arbiter.cli.local_bots import LocalBots

    data = data_folder(data_dir)
    if rules and is_served(data):
        raise UsageError(
            f"--rules: the service of {data} tries versions out, in the rule sets that it was started with; leave it"
            " out, or name them to arbiter up"
        )
    return LocalBots(LocalOptions(data, None, 0, unsafe_processes), rules)


def read_version(text: str) -> tuple[str, int]:
    """Name and number of ``mybot@3``; raises `UsageError`."""
    bot, at, number = text.rpartition("@")
    if not at or not bot or not number.isdecimal() or len(number) > 9 or not int(number):
        raise UsageError(f"{text!r} names no version; write BOT@N, such as mybot@3")
    return bot, int(number)


def build_to_dict(build: pb.Build) -> dict[str, object]:
    """A build as plain data for ``--json``."""
    began, ended = build.start_time.ToDatetime(), build.end_time.ToDatetime()
    return {
        "version": f"{build.bot}@{build.version}",
        "build": build.number,
        "state": pb.BuildState.Name(build.state).removeprefix("BUILD_STATE_").lower(),
        "detail": build.detail,
        "digest": build.digest,
        "size": build.size,
        "began": began.isoformat(timespec="seconds") + "Z",
        "seconds": round((ended - began).total_seconds(), 1) if build.HasField("end_time") else None,
    }


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
        "tried": list(version.tried),
        "received": version.create_time.ToDatetime().isoformat(timespec="seconds") + "Z",
    }


def _sent(client: RegistryClient | LocalBots, bot: Path, message: str, commit: str) -> pb.Version:
    """The folder or archive as a version, as soon as it has been received."""
    bar = Progress(
        *(TextColumn("sending"), BarColumn(), DownloadColumn(), TransferSpeedColumn()),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with tempfile.TemporaryFile() as file:
        package = cast("BinaryIO", file)
        packed = _packed(bot, package)
        request_id = hashlib.sha256(f"{packed.version_digest}\n{message}\n{commit}".encode()).hexdigest()[:40]
        with bar, about(bot):
            task = bar.add_task("", total=None)
            return client.submit(
                package,
                request_id=request_id,
                message=message,
                commit=commit,
                on_progress=lambda sent, size: bar.update(task, completed=sent, total=size),
            )


def _followed(client: RegistryClient | LocalBots, version: pb.Version) -> pb.Version:
    with Following() as following:
        for seen in client.watch(version.bot, version.number):
            version = seen
            if not _at_rest(version):  # the end is said on standard output
                following.show(f"{_name(version)} is {_state(version)}", version.state)
    return version


def _check_tried(version: pb.Version, rules: Sequence[str]) -> None:
    """Refuse to pass over the rule sets asked for, where the version was active before, or a service that was started
    meanwhile tried it out; raises `UsageError`."""
    lacking = [name for name in rules if name not in version.tried]
    if version.state == pb.VERSION_STATE_ACTIVE and lacking:
        tried = ", ".join(version.tried) or "none on record"
        raise UsageError(
            f"--rules: {_name(version)} is active, tried out in {tried} and not in {', '.join(lacking)}; to have the"
            " same content tried out anew, give another --message"
        )


def _at_rest(version: pb.Version) -> bool:
    return version.state in (pb.VERSION_STATE_ACTIVE, pb.VERSION_STATE_FAILED, pb.VERSION_STATE_RETIRED)


def _said(version: pb.Version) -> str:
    return f"{_name(version)} is {_state(version)}" + (f": {version.failure}" if version.failure else "")


def _name(version: pb.Version) -> str:
    return f"{version.bot}@{version.number}"


def _state(version: pb.Version) -> str:
    return pb.VersionState.Name(version.state).removeprefix("VERSION_STATE_").lower()
