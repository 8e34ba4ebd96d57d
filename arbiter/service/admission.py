"""Who is let in: every call of the public server comes through here before anything of it is read.

gRPC hands over a call with one message only when that message is there, so whoever opens calls and sends nothing would
take room that nobody counts. All calls are therefore taken as streams, which are the same on the wire, and this reads
and writes their messages itself, with an eye on the clock.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import Any, Final

import grpc

from arbiter.errors import UsageError
from arbiter.service.calls import Context, answer, calling
from arbiter.service.limits import CallLimits, Kind, Silent, Slots, address_of
from arbiter.service.messages import check_message
from arbiter.service.rates import Rates
from arbiter.service.recognition import Recognition
from arbiter.store import Accounts, Token

Handler = Any
"""A method handler with asynchronous functions; grpc's own type of it knows only the others."""

_END: Final = object()


class Admission(grpc.aio.ServerInterceptor):
    """Limits, authentication and time for every call.

    Args:
        accounts: whose tokens are good.
        open_services: full names of the services that need no token.
        limits: what is allowed.
        rates: counts calls within a time; None to count none.
    """

    def __init__(
        self, accounts: Accounts, open_services: frozenset[str], limits: CallLimits, rates: Rates | None
    ) -> None:
        self._open: Final = open_services
        self._limits: Final = limits
        self._rates: Final = rates
        self._slots: Final = Slots(limits.shares)
        self._recognition: Final = Recognition(accounts, limits, self._slots, rates)

    async def intercept_service(self, continuation, handler_call_details):  # type: ignore[no-untyped-def]
        """See grpc.aio.ServerInterceptor, whose typing leaves this out."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        is_open = handler_call_details.method.split("/")[1] in self._open

        async def admitted(_: object, context: Context) -> None:
            await answer(context, self._let_in_anybody(handler, context) if is_open else self._let_in(handler, context))

        return grpc.stream_stream_rpc_method_handler(
            admitted, handler.request_deserializer, handler.response_serializer
        )

    async def _let_in_anybody(self, handler: Handler, context: Context) -> None:
        address = address_of(context.peer())
        kind = Kind.ANONYMOUS_STREAM if _streams(handler) else Kind.ANONYMOUS_CALL
        self._slots.take_until_done(kind, address, context)
        if self._rates is not None:
            await self._rates.check("calls without a token", address, self._limits.per_address)
        async with _within(self._limits.anonymous_age, "streams without a token end after {} s; call again"):
            await self._serve(handler, context, None)

    async def _let_in(self, handler: Handler, context: Context) -> None:
        streams = _streams(handler)
        token = await self._recognition.let_in(context, Kind.STREAM if streams else Kind.CALL)
        async with self._recognition.while_good(context) if streams else nullcontext():
            with calling(token):
                await self._serve(handler, context, token)

    async def _serve(self, handler: Handler, context: Context, token: Token | None) -> None:
        """Read what is asked, have it answered, and write the answer."""
        request: object
        if handler.request_streaming:
            request = self._requests(context, token)
            serve = handler.stream_stream if handler.response_streaming else handler.stream_unary
        else:
            request = await self._read(context, token)
            if request is grpc.aio.EOF:
                raise UsageError("the call holds no message; send one")
            serve = handler.unary_stream if handler.response_streaming else handler.unary_unary
        if not handler.response_streaming:
            await self._write(context, await serve(request, context))
        elif inspect.iscoroutinefunction(serve):  # writes by itself
            await serve(request, context)
        else:
            async with aclosing(serve(request, context)) as answers:
                while (response := await self._next(answers)) is not _END:
                    await self._write(context, response)

    async def _requests(self, context: Context, token: Token | None) -> AsyncIterator[object]:
        """The caller's messages; of one with a token at a pace at which they come to an end."""
        loop = asyncio.get_running_loop()
        began, size = loop.time(), 0
        while (message := await self._read(context, token)) is not grpc.aio.EOF:
            size += message.ByteSize()
            lasted = loop.time() - began
            if token is not None and lasted > self._limits.slow_start and size < lasted * self._limits.slowest:
                raise Silent(
                    f"{size} bytes came in {lasted:.0f} s; at least {self._limits.slowest:g} a second must, so go on"
                    " later with the same request id: what arrived is kept"
                )
            yield message

    async def _read(self, context: Context, token: Token | None) -> Any:
        rest = "what arrived is kept, go on with the same request id" if token is not None else "call again"
        async with _within(self._limits.read_silence, f"nothing came for {{}} s; {rest}"):
            message = await context.read()
        if message is not grpc.aio.EOF:
            check_message(message)
        return message

    async def _write(self, context: Context, response: object) -> None:
        async with _within(self._limits.write_silence, "no message was taken for {} s; call again and read"):
            await context.write(response)

    async def _next(self, answers: AsyncIterator[object]) -> object:
        async with _within(self._limits.watch_silence, "nothing has changed for {} s; call again"):
            return await anext(answers, _END)


def _streams(handler: Handler) -> bool:
    return bool(handler.request_streaming or handler.response_streaming)


@asynccontextmanager
async def _within(seconds: float, said: str) -> AsyncIterator[None]:
    """End what takes longer.

    Raises:
        Silent: says so, with the seconds put into ``said``.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise Silent(said.format(f"{seconds:g}")) from error
