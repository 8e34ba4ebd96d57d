"""The arbiter's gRPC surface: authenticate, convert, call. What the calls mean is decided in
:mod:`arbiter.tournament`."""

from arbiter.service.server import WorkerServer
from arbiter.service.worker_tokens import WorkerTokens

__all__ = ["WorkerServer", "WorkerTokens"]
