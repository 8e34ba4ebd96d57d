"""Ports that a test tells somebody to listen at."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port of 127.0.0.1 that the system gives nobody else meanwhile, though whoever is told of it can listen there.

    It is bound and not listened at; with ``SO_REUSEADDR``, which servers set, others may bind to it by its number alone
    (socket(7)). Whoever dials it while nobody listens is refused.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
