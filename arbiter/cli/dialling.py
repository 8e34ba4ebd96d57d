"""How a user's commands dial a service: channel, token, and what a refusal means. Needs the base install alone."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, NoReturn, TypeVar

import grpc
import typer

from arbiter.cli.console import errors
from arbiter.errors import ArbiterError, InfrastructureError, UsageError

Request = TypeVar("Request")
Response = TypeVar("Response")

PATIENCE: Final = 30.0
"""Seconds that a call may take, but for those that stream."""

AWAY: Final = 120.0
"""Seconds for which a service that was reached and has gone away is waited for: one that restarts goes on."""

FIRST_PAUSE: Final = 0.25
TELLING_PAUSE: Final = 4 * FIRST_PAUSE
"""That at which people are told that something is waited for; those before it are too short to matter."""
LONGEST_PAUSE: Final = 8.0
"""Seconds between two calls to a service that is away: the first, and the most; each is twice the one before."""

LARGEST_ANSWER: Final = 64 * 1024 * 1024
"""Bytes; the crosstable of 1,000 bots that all met has 23 MB."""

_ADDRESS: Final = re.compile(r"unix:.+|(?:[^\s:/\[\]]+|\[[0-9A-Fa-f:.%\w]+\]):[0-9]{1,5}")

_MOST: Final = 4096
"""Bytes of a file that are looked at for a token, which has some fifty."""

_PASSING: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
"""How a call that follows something ends when it is to be made again."""

_OURS: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)

ServerAddress = Annotated[
    str | None,
    typer.Option("--server", envvar="ARBITER_SERVER", show_default=False, help="The service's HOST:PORT or unix:PATH."),
]
TOKEN: Final = "ARBITER_API_TOKEN"
"""Variable that holds a user's token. Not an option: every user of the machine could read it there."""

TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        envvar="ARBITER_API_TOKEN_FILE",
        show_default=False,
        help=f"File that holds the token; by default it is in {TOKEN}.",
    ),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        envvar="ARBITER_CA",
        show_default=False,
        help="Certificate to trust, where the service has made its own.",
    ),
]
Plain = Annotated[
    bool, typer.Option("--plain-text", envvar="ARBITER_PLAIN_TEXT", help="Call without TLS: the token can be read.")
]


@dataclass(frozen=True, slots=True)
class Server:
    """Where a service is and what it is shown."""

    address: str
    """``HOST:PORT`` or ``unix:PATH``."""
    token: str
    ca: Path | None = None
    """Certificates to trust instead of the system's, PEM."""
    plain: bool = False
    """Without TLS."""


def token_is_given(token_file: Path | None) -> bool:
    """Whether a user shows a token, and so means a service."""
    return token_file is not None or TOKEN in os.environ


def server_of(address: str | None, token_file: Path | None, ca: Path | None, plain: bool) -> Server:
    """What the options and the environment name.

    Raises:
        UsageError: an address or a token is missing, or has another form.
    """
    if address is None:
        raise UsageError("no service is named; give --server HOST:PORT or set ARBITER_SERVER")
    if not _ADDRESS.fullmatch(address):
        raise UsageError(
            f"--server {address!r}: write HOST:PORT, such as arbiter.example.org:7171, or unix:PATH, and nothing before"
        )
    return Server(address, _token(token_file), ca, plain)


def _token(file: Path | None) -> str:
    """The token in a file, or without one in the environment; raises `UsageError` when it can't be one."""
    if file is None:
        where, text = TOKEN, os.environ.get(TOKEN, "")
    else:
        where = str(file)
        try:
            with file.open("rb") as source:
                text = source.read(_MOST).decode(errors="replace")
        except OSError as error:
            raise UsageError(f"{file}: can't be read: {error.strerror}; name the file that holds the token") from error
    token = text.strip()
    if not token:
        raise UsageError(f"no token in {where}; put the one there that the service's host gave you, see --token-file")
    if not (token.isascii() and token.isprintable()):
        raise UsageError(f"the token in {where} holds characters that no token has; put there what the host gave you")
    return token


class Client:
    """One user's calls; close it by leaving its ``with`` statement.

    Every call raises `UsageError` for what the service refuses and `InfrastructureError` when it can't be had.
    """

    def __init__(self, server: Server) -> None:
        self._address: Final = server.address
        self.metadata: Final = (("authorization", f"Bearer {server.token}"),)
        """What every call carries."""
        self._stream: grpc.RpcContext | None = None
        options = [
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.max_reconnect_backoff_ms", int(LONGEST_PAUSE * 1000)),
            ("grpc.max_receive_message_length", LARGEST_ANSWER),
        ]
        self._plain: Final = server.plain or (server.ca is None and _is_this_machine(server.address))
        if self._plain:
            self.channel = grpc.insecure_channel(server.address, options)
            return
        try:
            roots = None if server.ca is None else server.ca.read_bytes()
        except OSError as error:
            cause = f"{server.ca}: can't be read: {error.strerror}"
            raise UsageError(f"{cause}; name the service's certificate") from error
        self.channel = grpc.secure_channel(server.address, grpc.ssl_channel_credentials(roots), options)

    def close(self) -> None:
        """Hang up."""
        self.channel.close()

    def call(self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request) -> Response:
        """The answer to a call that does not stream."""
        try:
            return method(request, metadata=self.metadata, timeout=PATIENCE)
        except grpc.RpcError as error:
            self.fail(error)

    def follow(
        self,
        method: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        *,
        reached: bool = False,
        stop: threading.Event | None = None,
    ) -> Iterator[Response]:
        """The answers to a call that tells what changes, each once, up to the end that the service means or to
        :meth:`end_following` with the same ``stop``; one such call at a time.

        A service ends such calls when nothing changes for long, when a connection is old, and when it ends itself; then
        this calls again, with pauses that grow, for as long as `AWAY`. A service that has not been reached yet is not
        waited for; ``reached`` says that it has been.
        """
        last: Response | None = None
        since: float | None = None
        pause, stop = FIRST_PAUSE, stop or threading.Event()
        while not stop.is_set():
            self._stream = stream = method(request, metadata=self.metadata)
            if stop.is_set():
                stream.cancel()
            try:
                for response in stream:
                    reached, since, pause = True, None, FIRST_PAUSE
                    if response != last:
                        last = response
                        yield response
                return
            except grpc.RpcError as error:
                if stop.is_set():
                    return
                if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:  # which it answered
                    reached, since = True, None
                now = time.monotonic()
                since = since or now
                if not reached or error.code() not in _PASSING or now - since > AWAY:
                    self.fail(error)
                if pause == TELLING_PAUSE:
                    said = f"{self._address} is away; waiting for it"
                    errors.print(said, markup=False, highlight=False, soft_wrap=True)
            stop.wait(random.uniform(pause / 2, pause))  # not all who follow at the same moment
            pause = min(2 * pause, LONGEST_PAUSE)

    def end_following(self, stop: threading.Event) -> None:
        """Let :meth:`follow` come to its end, from another thread."""
        stop.set()
        if self._stream is not None:
            self._stream.cancel()

    def fail(self, error: grpc.RpcError) -> NoReturn:
        """Raise what an error of a call means."""
        raise _translated(self._address, self._plain, error) from error


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Say which file a refusal is about, for a service does not know what its callers call theirs."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error


def _is_this_machine(address: str) -> bool:
    """Where nobody can listen in, a service speaks plain text unless it was told otherwise."""
    return address.startswith("unix:") or address.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")


def _translated(address: str, plain: bool, error: grpc.RpcError) -> ArbiterError:
    code, details = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNAVAILABLE and "CERTIFICATE_VERIFY_FAILED" in details:
        return UsageError(f"the certificate of {address} is not trusted; give the service's own with --ca FILE")
    if code is grpc.StatusCode.UNAVAILABLE:
        hint = "; it was called in plain text, so give --ca FILE if it has a certificate of its own" if plain else ""
        return InfrastructureError(f"{address} can't be reached: {details}{hint}")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return InfrastructureError(f"{address} did not answer within {PATIENCE:g} s")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "Concurrent RPC limit" in details:
        return InfrastructureError(f"{address} answers as many calls as it can; try again")
    if code in _OURS:
        return InfrastructureError(f"{address}: {details}")
    return UsageError(details)
