"""``arbiter up``, ``serve``, ``coordinator`` and ``worker``: a service on one machine, or its parts on many."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arbiter.cli.console import errors
from arbiter.cli.dialling import Authority
from arbiter.cli.options import DataDir, Listen, RedisUrl, Unsafe, data_folder, need_server
from arbiter.errors import UsageError

if TYPE_CHECKING:
    import grpc

DEFAULT_LISTEN = "127.0.0.1:7171"
DEFAULT_WORKER_LISTEN = "127.0.0.1:7172"
TOKEN = "ARBITER_WORKER_TOKEN"
"""Variable that holds a worker's token. Not an option: every user of the machine could read it there."""

Address = Annotated[
    str,
    typer.Option("--address", envvar="ARBITER_PUBLIC_ADDRESS", help="HOST:PORT or unix:PATH where callers dial."),
]
Certificate = Annotated[
    Path | None,
    typer.Option("--tls-cert", envvar="ARBITER_TLS_CERT", help="Certificate chain, PEM.", show_default=False),
]
PrivateKey = Annotated[
    Path | None, typer.Option("--tls-key", envvar="ARBITER_TLS_KEY", help="Its private key, PEM.", show_default=False)
]
SelfSigned = Annotated[
    list[str] | None,
    typer.Option(
        "--self-signed",
        metavar="HOST",
        show_default=False,
        help="For a trial: make a certificate for this host name or address; may be given several times.",
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain-text",
        envvar="ARBITER_PLAIN_TEXT",
        help="Allow calls without TLS from or to other machines: tokens can be read.",
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rules", help="A rule set in which new versions are tried out; by default black_lady."),
]
Limits = Annotated[
    Path | None,
    typer.Option(
        "--limits",
        envvar="ARBITER_LIMITS",
        show_default=False,
        help="A TOML file with what contestants and callers may have, where that is not the default.",
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--workers",
        envvar="ARBITER_WORKERS",
        min=0,
        max=1024,
        show_default=False,
        help="Worker processes, one sitting each; by default one for each two processors.",
    ),
]
Queue = Annotated[
    str,
    typer.Option("--queue", envvar="ARBITER_QUEUE", help="What the queues are called, where services share a Redis."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        envvar="ARBITER_METRICS",
        show_default=False,
        help="HOST:PORT for /metrics, /healthz and /readyz; the workers of this command have the ports that follow.",
    ),
]
Drain = Annotated[
    float,
    typer.Option(
        "--drain",
        envvar="ARBITER_DRAIN_SECONDS",
        min=0.0,
        help="Seconds that a worker may go on with its sitting when it is asked to stop; then it gives it back.",
    ),
]


def up(
    listen: Address = DEFAULT_LISTEN,
    tls_certificate: Certificate = None,
    tls_key: PrivateKey = None,
    self_signed: SelfSigned = None,
    plain: Plain = False,
    rules: Rules = None,
    limits: Limits = None,
    workers: Processes = None,
    worker_listen: Listen = None,
    drain: Drain = 60.0,
    redis_url: RedisUrl = None,
    metrics: Metrics = None,
    queue: Queue = "hearts",
    unsafe_processes: Unsafe = False,
    data_dir: DataDir = None,
) -> None:
    """Run a whole service on this machine until Ctrl-C or SIGTERM: API, coordinator, workers, and Redis."""
    need_server()
    from arbiter.cli.running import opened_store, run_service
    from arbiter.cli.service import ServiceOptions, everything
    from arbiter.service.host_limits import HostLimits

    allowed = HostLimits.from_file(limits)
    data = data_folder(data_dir)
    with opened_store(data) as store:
        public, for_workers = _credentials(data, (listen, worker_listen), tls_certificate, tls_key, self_signed, plain)
        options = ServiceOptions(
            data=data,
            redis_url=redis_url,
            queue=queue,
            unsafe_processes=unsafe_processes,
            listen=listen,
            credentials=public,
            limits=allowed,
            rules=tuple(rules or ("black_lady",)),
            worker_listen=worker_listen,
            worker_credentials=for_workers,
            metrics=_address(metrics),
            workers=_processes(workers),
            drain_seconds=drain,
        )
        run_service(everything(store, options))


def serve(
    listen: Address = DEFAULT_LISTEN,
    tls_certificate: Certificate = None,
    tls_key: PrivateKey = None,
    self_signed: SelfSigned = None,
    plain: Plain = False,
    rules: Rules = None,
    limits: Limits = None,
    worker_listen: Listen = DEFAULT_WORKER_LISTEN,
    redis_url: RedisUrl = None,
    metrics: Metrics = None,
    unsafe_processes: Unsafe = False,
    data_dir: DataDir = None,
) -> None:
    """Serve callers and workers until Ctrl-C or SIGTERM; a coordinator and workers run elsewhere."""
    need_server()
    from arbiter.cli.running import opened_store, run_service
    from arbiter.cli.service import ServiceOptions, api_alone
    from arbiter.service.host_limits import HostLimits

    allowed = HostLimits.from_file(limits)
    data = data_folder(data_dir)
    with opened_store(data) as store:
        public, for_workers = _credentials(data, (listen, worker_listen), tls_certificate, tls_key, self_signed, plain)
        options = ServiceOptions(
            data=data,
            redis_url=redis_url,
            unsafe_processes=unsafe_processes,
            listen=listen,
            credentials=public,
            limits=allowed,
            rules=tuple(rules or ("black_lady",)),
            worker_listen=worker_listen,
            worker_credentials=for_workers,
            metrics=_address(metrics),
        )
        run_service(api_alone(store, options))


def coordinator(
    redis_url: RedisUrl = None, queue: Queue = "hearts", metrics: Metrics = None, data_dir: DataDir = None
) -> None:
    """Keep work flowing until Ctrl-C or SIGTERM: send sittings to workers, and again what was lost."""
    need_server()
    from arbiter.cli.running import opened_store, run_service
    from arbiter.cli.service import ServiceOptions, coordination

    if redis_url is None:
        raise UsageError("a coordinator needs the Redis of its workers; set ARBITER_REDIS_URL or give --redis URL")
    data = data_folder(data_dir)
    with opened_store(data) as store:
        options = ServiceOptions(data=data, redis_url=redis_url, queue=queue, metrics=_address(metrics))
        run_service(coordination(store, options))


def worker(
    address: Annotated[
        str | None,
        typer.Option(
            "--arbiter",
            envvar="ARBITER_WORKER_ADDRESS",
            show_default=False,
            help="The arbiter's HOST:PORT or unix:PATH for workers.",
        ),
    ] = None,
    redis_url: RedisUrl = None,
    metrics: Metrics = None,
    queue: Queue = "hearts",
    workers: Processes = None,
    drain: Drain = 60.0,
    authority: Authority = None,
    plain: Plain = False,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            envvar="ARBITER_STATE_DIR",
            show_default=False,
            help="Where copies of bots and unreported results are; by default the user's folder for states.",
        ),
    ] = None,
    unsafe_processes: Unsafe = False,
) -> None:
    """Play sittings of a service until Ctrl-C or SIGTERM. The token, of scope worker, is in ARBITER_WORKER_TOKEN."""
    need_server()
    from arbiter.cli.running import run_service
    from arbiter.cli.service import workers as worker_service
    from arbiter.cli.worker_processes import Workplace
    from arbiter.supervisor.rundir import RunDirectory

    where = _needed(address, "where the arbiter serves workers; set ARBITER_WORKER_ADDRESS or give --arbiter HOST:PORT")
    redis = _needed(redis_url, "the service's Redis; set ARBITER_REDIS_URL or give --redis URL")
    made_with = "arbiter token create NAME --scope worker"
    token = _needed(os.environ.get(TOKEN), f"a token; set {TOKEN} to one that the host made with: {made_with}")
    state = _state_folder(state_dir)
    with RunDirectory() as run:
        if unsafe_processes:
            run.chmod(0o711)  # without a cage, bots of a service of root are other users
        place = Workplace(
            redis,
            where,
            token,
            run,
            cache=state / "bots",
            spool=state / "spool",
            drain_seconds=drain,
            queue=queue,
            hidden=(state,),
            unsafe_processes=unsafe_processes,
            authority=authority,
            plain_text=plain,
            metrics=_address(metrics),
        )
        # Random digits: machines may have the same name, and a worker that comes back is another one.
        name = f"{socket.gethostname()}-{secrets.token_hex(2)}"
        run_service(worker_service(_processes(workers), place, name))


def _address(metrics: str | None) -> str | None:
    """Where metrics are served, seen to be an address before anything is started."""
    from arbiter.telemetry import Endpoint

    return Endpoint(metrics, {}).address if metrics else None


def _needed(given: str | None, what: str) -> str:
    if not given:
        raise UsageError(f"a worker needs {what}")
    return given


def _processes(given: int | None) -> int:
    return max(1, (os.cpu_count() or 1) // 2) if given is None else given


def _state_folder(given: Path | None) -> Path:
    import platformdirs

    folder = (given or Path(platformdirs.user_state_dir("hearts-arbiter"))).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"{folder}: can't be made: {error.strerror}; choose another with --state-dir") from error
    if ":" in str(folder):  # which parts the folders that are hidden from bots
        raise UsageError(f"{folder}: there is a colon in its path; choose another folder with --state-dir")
    return folder


def _credentials(
    data: Path,
    addresses: tuple[str, str | None],
    certificate: Path | None,
    key: Path | None,
    hosts: list[str] | None,
    plain: bool,
) -> tuple[grpc.ServerCredentials | None, grpc.ServerCredentials | None]:
    """For TLS where callers dial, and where workers do. A certificate is for both, unix sockets apart."""
    from arbiter.service import tls

    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key go together; give both")
    if hosts and certificate is None:
        certificate, key = tls.self_signed(data / "tls", hosts)
        errors.print(
            f"callers need this certificate: --ca {certificate}", markup=False, highlight=False, soft_wrap=True
        )
    held = None if certificate is None or key is None else tls.load_credentials(certificate, key)
    for listen in addresses:
        if held is None and not plain and listen is not None and not tls.is_loopback(listen):
            raise UsageError(
                f"{listen}: other machines may dial it, and without TLS everybody between can read the tokens; give"
                " --tls-cert and --tls-key, --self-signed HOST for a trial, or --plain-text"
            )
    private = addresses[1] is None or addresses[1].startswith("unix:")
    return held, None if private else held
