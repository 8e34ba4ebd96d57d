"""Who may call as a worker."""

from __future__ import annotations

import hmac
import secrets
from contextlib import aclosing, suppress
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.identity import Unauthenticated, require
from arbiter.service.calls import Context, bearer
from arbiter.service.limits import CallLimits, Exhausted, Slots, address_of
from arbiter.service.lookups import Lookups
from arbiter.service.rates import Rates
from arbiter.store import Accounts, Scope


class WorkerTokens:
    """Tokens of scope ``worker`` that the host made, and one for the workers that this process starts itself.

    Args:
        accounts: the tokens that the host made.
    """

    def __init__(self, accounts: Accounts) -> None:
        self.accounts: Final = accounts
        """The tokens that the host made."""
        self.own: Final = secrets.token_urlsafe(32)
        """The token for workers that this process starts; kept nowhere, and good for as long as the process lives."""

    def is_own(self, text: str) -> bool:
        """Whether it is that token."""
        return hmac.compare_digest(text.encode(), self.own.encode())


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls of ``service`` that do not show a worker's token; health and reflection are open.

    Args:
        service: its full name.
        tokens: who may call.
        limits: how many bad tokens an address may show.
        rates: counts these; None to count none.
    """

    def __init__(self, service: str, tokens: WorkerTokens, limits: CallLimits, rates: Rates | None) -> None:
        self._prefix: Final = f"/{service}/"
        self._tokens: Final = tokens
        self._lookups: Final = Lookups(tokens.accounts, limits, Slots(limits.shares), rates)

    async def intercept_service(self, continuation, handler_call_details):  # type: ignore[no-untyped-def]
        """See grpc.aio.ServerInterceptor, whose typing leaves this out."""
        handler = await continuation(handler_call_details)
        if handler is None or not handler_call_details.method.startswith(self._prefix):
            return handler

        async def admitted(_: object, context: Context) -> None:
            refusal = await self._refusal(context)
            if refusal is not None:
                await context.abort(*refusal)
            await _serve(handler, context)

        # As a stream, which is the same on the wire: of who is not let in nothing is read, and reports are large.
        return grpc.stream_stream_rpc_method_handler(
            admitted, handler.request_deserializer, handler.response_serializer
        )

    async def _refusal(self, context: Context) -> tuple[grpc.StatusCode, str] | None:
        """Code and reason with which a call is not let in; None when it is."""
        text = bearer(context)
        if self._tokens.is_own(text):
            return None
        try:
            require(await self._lookups.look_up(text, address_of(context.peer())), Scope.WORKER)
        except Unauthenticated:
            message = "the worker's token is missing or no longer good: set ARBITER_WORKER_TOKEN"
            return grpc.StatusCode.UNAUTHENTICATED, message
        except Exhausted as error:
            return grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)
        except InfrastructureError as error:
            return grpc.StatusCode.UNAVAILABLE, str(error)
        except ArbiterError as error:
            return grpc.StatusCode.PERMISSION_DENIED, str(error)
        return None


async def _serve(handler: Any, context: Context) -> None:  # grpc's type of a handler knows no asynchronous functions
    """Read what is asked, have it answered, and write the answer."""
    request: Any = grpc.aio.EOF
    with suppress(DecodeError):
        request = await context.read()
    if request is grpc.aio.EOF:
        await context.abort(grpc.StatusCode.INTERNAL, "the call holds no message of its kind")
    if handler.response_streaming:
        async with aclosing(handler.unary_stream(request, context)) as responses:
            async for response in responses:
                await context.write(response)
    else:
        await context.write(await handler.unary_unary(request, context))
