"""Who may call as a worker."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import grpc

from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.identity import Unauthenticated, authenticate, require
from arbiter.store import Accounts, Scope


class WorkerTokens:
    """Tokens of scope ``worker`` that the host made, and one for the workers that this process starts itself.

    Args:
        accounts: the tokens that the host made.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts: Final = accounts
        self.own: Final = secrets.token_urlsafe(32)
        """The token for workers that this process starts; kept nowhere, and good for as long as the process lives."""

    def check(self, text: str) -> None:
        """Return when a worker that shows this token may come in.

        Raises:
            Unauthenticated, Forbidden: it may not.
        """
        if not hmac.compare_digest(text.encode(), self.own.encode()):
            require(authenticate(self._accounts, text, datetime.now(UTC)), Scope.WORKER)


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls of ``service`` that do not show a worker's token; health and reflection are open."""

    def __init__(self, service: str, tokens: WorkerTokens) -> None:
        self._prefix: Final = f"/{service}/"
        self._tokens: Final = tokens

    async def intercept_service(self, continuation, handler_call_details):  # type: ignore[no-untyped-def]
        """See grpc.aio.ServerInterceptor, whose typing leaves this out."""
        if handler_call_details.method.startswith(self._prefix):
            metadata = dict(handler_call_details.invocation_metadata or ())
            kind, _, text = str(metadata.get("authorization", "")).partition(" ")
            try:
                await asyncio.to_thread(self._tokens.check, text if kind == "Bearer" else "")
            except ArbiterError as error:
                # As a stream, which is the same on the wire: of it nothing is read, and reports are large.
                return grpc.stream_stream_rpc_method_handler(_refusing(error))
        return await continuation(handler_call_details)


def _refusing(error: ArbiterError) -> Callable[[object, grpc.aio.ServicerContext[Any, Any]], Awaitable[None]]:
    """A handler that answers a call of any kind with why it was not let in."""
    code, detail = grpc.StatusCode.PERMISSION_DENIED, str(error)
    if isinstance(error, InfrastructureError):
        code = grpc.StatusCode.UNAVAILABLE
    elif isinstance(error, Unauthenticated):
        code = grpc.StatusCode.UNAUTHENTICATED
        detail = "the worker's token is missing or no longer good: set ARBITER_WORKER_TOKEN"

    async def refuse(requests: object, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await context.abort(code, detail)

    return refuse
