"""``arbiter serve``: the service that contestants submit bots to."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arbiter.cli.console import errors
from arbiter.cli.options import DataDir, Listen, RedisUrl, Unsafe, Workers, data_folder, need_server
from arbiter.errors import UsageError

if TYPE_CHECKING:
    import grpc

    from arbiter.cli.local import LocalOptions
    from arbiter.store import Store

DEFAULT_LISTEN = "127.0.0.1:7171"


def serve(
    listen: Annotated[
        str,
        typer.Option("--address", envvar="ARBITER_PUBLIC_ADDRESS", help="HOST:PORT or unix:PATH where callers dial."),
    ] = DEFAULT_LISTEN,
    tls_certificate: Annotated[
        Path | None, typer.Option("--tls-cert", help="Certificate chain, PEM.", show_default=False)
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its private key, PEM.", show_default=False)] = None,
    self_signed: Annotated[
        list[str] | None,
        typer.Option(
            "--self-signed",
            metavar="HOST",
            show_default=False,
            help="For a trial: make a certificate for this host name or address; may be given several times.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain-text", help="Allow calls without TLS from other machines: tokens can be read.")
    ] = False,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", help="A rule set in which new versions are tried out; by default black_lady."),
    ] = None,
    workers: Workers = None,
    redis_url: RedisUrl = None,
    worker_listen: Listen = None,
    unsafe_processes: Unsafe = False,
    data_dir: DataDir = None,
) -> None:
    """Serve the public API until Ctrl-C or SIGTERM: take submissions, try them out, play tournaments."""
    need_server()
    from arbiter.cli.event import open_store
    from arbiter.cli.local import LocalOptions

    data = data_folder(data_dir)
    with open_store(data) as store:
        credentials = _credentials(data, listen, tls_certificate, tls_key, self_signed, plain)
        options = LocalOptions(data, redis_url, worker_listen, workers or 0, unsafe_processes)
        asyncio.run(_serve(store, listen, credentials, tuple(rules or ("black_lady",)), options))


def _credentials(
    data: Path, listen: str, certificate: Path | None, key: Path | None, hosts: list[str] | None, plain: bool
) -> grpc.ServerCredentials | None:
    from arbiter.service import tls

    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key go together; give both")
    if certificate is not None and key is not None:
        return tls.load_credentials(certificate, key)
    if hosts:
        made, private = tls.self_signed(data / "tls", hosts)
        errors.print(f"callers need this certificate: --ca {made}", markup=False, highlight=False, soft_wrap=True)
        return tls.load_credentials(made, private)
    if not plain and not tls.is_loopback(listen):
        raise UsageError(
            f"{listen}: other machines may dial it, and without TLS everybody between can read the tokens; give"
            " --tls-cert and --tls-key, --self-signed HOST for a trial, or --plain-text"
        )
    return None


async def _serve(
    store: Store, listen: str, credentials: grpc.ServerCredentials | None, rules: tuple[str, ...], options: LocalOptions
) -> None:
    from arbiter.cli.service import public_service

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with public_service(store, listen, credentials, rules, options) as service:
        errors.print(f"serving at {service.address}", markup=False, highlight=False)
        jobs = [asyncio.ensure_future(job()) for job in service.jobs]
        waiting = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({*jobs, waiting}, return_when=asyncio.FIRST_COMPLETED)
            for job in jobs:
                if job.done():
                    job.result()
        finally:
            for task in (*jobs, waiting):
                task.cancel()
            await asyncio.gather(*jobs, waiting, return_exceptions=True)
