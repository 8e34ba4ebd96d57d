"""What all public calls share: who calls, and how a refusal looks on the wire.

A refusal is a ``google.rpc.Status``: code, one line for people, and an ``ErrorInfo`` whose reason programs can rely on
(https://google.aip.dev/193).
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # has no stubs

from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.identity import Forbidden, Unauthenticated, require
from arbiter.registry.uploads import TooManyUploads, WrongOffset
from arbiter.service.limits import Exhausted, RateLimited, Silent, TooManyCalls
from arbiter.store import (
    EntryRefused,
    NameTaken,
    QuotaExceeded,
    Scope,
    Token,
    TransitionRefused,
    UnknownBuild,
    UnknownSitting,
    UnknownToken,
    UnknownTournament,
    UnknownVersion,
)
from arbiter.tournament.replays import NotReleased

log = logging.getLogger(__name__)

DOMAIN: Final = "hearts-arbiter"

MAX_MESSAGE: Final = 700
"""Letters of a refusal's message; what is longer is cut."""

Context = grpc.aio.ServicerContext[Any, Any]

_CODES: Final[tuple[tuple[type[ArbiterError], grpc.StatusCode, str], ...]] = (
    (Unauthenticated, grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
    (Forbidden, grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN"),
    (UnknownVersion, grpc.StatusCode.NOT_FOUND, "UNKNOWN_VERSION"),
    (UnknownBuild, grpc.StatusCode.NOT_FOUND, "UNKNOWN_BUILD"),
    (UnknownTournament, grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOURNAMENT"),
    (UnknownSitting, grpc.StatusCode.NOT_FOUND, "UNKNOWN_SITTING"),
    (UnknownToken, grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOKEN"),
    (NotReleased, grpc.StatusCode.FAILED_PRECONDITION, "NOT_RELEASED"),
    (EntryRefused, grpc.StatusCode.FAILED_PRECONDITION, "ENTRY_REFUSED"),
    (NameTaken, grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN"),
    (QuotaExceeded, grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED"),
    (TooManyUploads, grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_UPLOADS"),
    (RateLimited, grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED"),
    (TooManyCalls, grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS"),
    (Silent, grpc.StatusCode.DEADLINE_EXCEEDED, "SILENT"),
    (WrongOffset, grpc.StatusCode.FAILED_PRECONDITION, "WRONG_OFFSET"),
    (TransitionRefused, grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE"),
    (InfrastructureError, grpc.StatusCode.UNAVAILABLE, "INFRASTRUCTURE"),
    (ArbiterError, grpc.StatusCode.INVALID_ARGUMENT, "INVALID"),
)
"""The first that fits: kind of error, code, reason."""

_UNFORESEEN: Final = (grpc.StatusCode.INTERNAL, "INTERNAL")

REASONS: Final[Mapping[str, grpc.StatusCode]] = {
    reason: code for code, reason in (*((code, reason) for _, code, reason in _CODES), _UNFORESEEN)
}
"""All reasons that a refusal may have, with the code of each."""


_caller: Final = ContextVar[Token]("caller")


@dataclass(frozen=True, slots=True)
class _Refusal:
    code: grpc.StatusCode
    reason: str
    message: str
    retry_after: float | None = None


async def answer(context: Context, work: Coroutine[Any, Any, None]) -> None:
    """Answer a call, and turn whatever that raises into a refusal; of what nobody foresaw, callers learn nothing but
    that."""
    refusal = await _refusal_of(work)
    # Out of any handler of exceptions: gRPC keeps what aborting raises in a cycle with the call, and what was being
    # handled would be kept with it, messages of any size included, up to a collection of garbage that seldom comes.
    if refusal is not None:
        await _refuse(context, refusal)


async def _refusal_of(work: Coroutine[Any, Any, None]) -> _Refusal | None:
    """Do what is asked for; why it is refused, None where it is not."""
    try:
        await work
    except ArbiterError as error:
        code, reason = next((code, reason) for kind, code, reason in _CODES if isinstance(error, kind))
        # It travels twice, and percent-encoded, in what gRPC bounds to 8 KiB; what it quotes may have any length.
        message = str(error)
        message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]} ..."
        return _Refusal(code, reason, message, error.retry_after if isinstance(error, Exhausted) else None)
    except grpc.aio.AbortError:
        raise
    except DecodeError:
        return _Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID", "bytes that are no message of this call")
    except Exception:
        log.exception("a call failed")
        return _Refusal(*_UNFORESEEN, "an error of the service; its log says more")
    return None


def bearer(context: Context) -> str:
    """The token that a call shows, as text; empty when it shows none."""
    metadata = dict(context.invocation_metadata() or ())
    kind, _, text = str(metadata.get("authorization", "")).partition(" ")
    return text if kind == "Bearer" else ""


@contextmanager
def calling(token: Token) -> Iterator[None]:
    """Let `caller` know, while inside, whose call this is."""
    before = _caller.set(token)
    try:
        yield
    finally:
        _caller.reset(before)


def caller(scope: Scope) -> Token:
    """The token of the call that is being answered.

    Raises:
        Forbidden: it is not good for ``scope``.
        LookupError: nobody has looked at this call's token.
    """
    token = _caller.get()
    require(token, scope)
    return token


def calling_owner() -> str:
    """Whose the token of the call that is being answered is; raises `LookupError` when nobody has looked at it."""
    return _caller.get().owner


async def _refuse(context: Context, refusal: _Refusal) -> None:
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=refusal.reason, domain=DOMAIN)]
    if refusal.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromNanoseconds(int(refusal.retry_after * 1e9))
        details.append(retry)
    status = status_pb2.Status(code=refusal.code.value[0], message=refusal.message, details=map(_packed, details))
    await context.abort(refusal.code, refusal.message, (("grpc-status-details-bin", status.SerializeToString()),))


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed
