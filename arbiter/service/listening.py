"""Addresses to listen at, and what is wrong with one before gRPC finds out."""

from __future__ import annotations

import socket

import grpc

from arbiter.errors import InfrastructureError, UsageError


def add_port(server: grpc.aio.Server, listen: str, credentials: grpc.ServerCredentials | None) -> str:
    """Let a server listen; returns the address that it has got.

    Args:
        server: not started yet.
        listen: ``unix:PATH`` or ``HOST:PORT``, port 0 for any free one.
        credentials: for TLS; None for plain text.

    Raises:
        UsageError: it is no address.
        InfrastructureError: it can't be had.
    """
    if not listen.startswith("unix:"):
        _check_free(listen)
    try:
        port = server.add_insecure_port(listen) if credentials is None else server.add_secure_port(listen, credentials)
    except RuntimeError as error:
        raise _cannot_listen(listen, "it is taken or not this machine's") from error
    return listen if listen.startswith("unix:") else f"{listen.rpartition(':')[0]}:{port}"


def _check_free(listen: str) -> None:
    """Find out what is wrong with an address before gRPC does, which writes lines of its own about it to stderr."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"can't listen at {listen!r}: write HOST:PORT, such as 127.0.0.1:7070")
    try:
        places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _cannot_listen(listen, f"{host} is no known host ({error.strerror})") from error
    causes = []
    for family, kind, protocol, _, address in places:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                causes.append(str(error.strerror))
            else:
                return
    raise _cannot_listen(listen, causes[-1])


def _cannot_listen(listen: str, cause: str) -> InfrastructureError:
    return InfrastructureError(f"can't listen at {listen}: {cause}; choose another address with --listen")
