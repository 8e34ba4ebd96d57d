"""Lets a test call from several addresses: what dials the relay arrives at the service from another one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def calling_from(source: str, target: str) -> Iterator[str]:
    """An address that leads to ``target`` (``HOST:PORT``), where calls through it come from ``source``."""
    host, _, port = target.rpartition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def begin(work: Callable[..., None], *arguments: socket.socket) -> None:
        threads.append(threading.Thread(target=work, args=arguments))
        threads[-1].start()

    def pump(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                connections.append(near)
                far = socket.create_connection((host, int(port)), source_address=(source, 0))
                connections.append(far)
                begin(pump, near, far)
                begin(pump, far, near)

    begin(accept)
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # Whoever accepts ends first, so that no connection comes any more; none is closed that is still read from.
        listener.shutdown(socket.SHUT_RDWR)
        threads[0].join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for each in (listener, *connections):
            each.close()
