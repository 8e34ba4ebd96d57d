"""A small HTTP server beside the work: ``/metrics``, ``/healthz`` and ``/readyz``.

``/healthz`` answers for as long as the process lives. ``/readyz`` answers 200 when the process can do its work, and 503
with one line for each thing that is amiss.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from arbiter.errors import InfrastructureError, UsageError
from arbiter.telemetry.metrics import REGISTRY

Check = Callable[[], str | None]
"""What is amiss, in one line, or None. Called in threads of the server; must answer within a second or two."""

_TEXT: Final = "text/plain; charset=utf-8"


def read_listen(listen: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``; raises `UsageError`."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise UsageError(f"can't serve metrics at {listen!r}: write HOST:PORT, such as 127.0.0.1:9171")
    return host, int(port)


class Endpoint:
    """Serves at ``HOST:PORT`` while it is entered, in threads of its own that end with the process.

    Args:
        listen: the address; port 0 for any free one.
        checks: by name, what must be well for the process to be ready.
        registry: whose metrics are shown.

    Raises:
        UsageError: it is no address.
        InfrastructureError: on entry, when the address can't be had.
    """

    def __init__(self, listen: str, checks: Mapping[str, Check], registry: CollectorRegistry = REGISTRY) -> None:
        host, port = read_listen(listen)
        self._place: Final = (host.strip("[]"), port)
        self._handler: Final = _handler(dict(checks), registry)
        self._server: ThreadingHTTPServer | None = None
        self.address = listen
        """Where it serves, once entered."""

    def __enter__(self) -> Endpoint:
        try:
            self._server = ThreadingHTTPServer(self._place, self._handler)
        except OSError as error:
            raise InfrastructureError(
                f"can't serve metrics at {self.address}: {error.strerror}; choose another address with --metrics"
            ) from error
        self._server.daemon_threads = True
        self.address = f"{self._place[0]}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


def _handler(checks: Mapping[str, Check], registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET."""

        timeout = 10  # seconds that a caller may take with its request

        def do_GET(self) -> None:
            """See http.server."""
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry))
                case "/healthz":
                    self._answer(HTTPStatus.OK, _TEXT, b"alive\n")
                case "/readyz":
                    amiss = [f"{name}: {said}\n" for name, check in checks.items() if (said := check()) is not None]
                    status = HTTPStatus.SERVICE_UNAVAILABLE if amiss else HTTPStatus.OK
                    self._answer(status, _TEXT, "".join(amiss).encode() or b"ready\n")
                case _:
                    self._answer(HTTPStatus.NOT_FOUND, _TEXT, b"there are /metrics, /healthz and /readyz\n")

        def log_message(self, *arguments: Any) -> None:
            """Say nothing of each call."""

        def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
