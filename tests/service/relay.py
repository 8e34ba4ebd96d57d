"""Lets a test call from several addresses: what dials the relay arrives at the service from another one."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def calling_from(source: str, target: str) -> Iterator[str]:
    """An address that leads to ``target`` (``HOST:PORT``), where calls through it come from ``source``."""
    host, _, port = target.rpartition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = [listener]

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
                far = socket.create_connection((host, int(port)), source_address=(source, 0))
                connections.extend((near, far))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
