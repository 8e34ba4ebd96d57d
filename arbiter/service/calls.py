"""What all public calls share: who calls, and how a refusal looks on the wire.

A refusal is a ``google.rpc.Status``: code, one line for people, and an ``ErrorInfo`` whose reason programs can rely on
(https://google.aip.dev/193).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # has no stubs

from arbiter.errors import ArbiterError, InfrastructureError
from arbiter.identity import Forbidden, Unauthenticated, authenticate, require
from arbiter.registry.uploads import TooManyUploads, WrongOffset
from arbiter.store import (
    Accounts,
    NameTaken,
    QuotaExceeded,
    Scope,
    Token,
    TransitionRefused,
    UnknownSitting,
    UnknownToken,
    UnknownTournament,
    UnknownVersion,
)

log = logging.getLogger(__name__)

DOMAIN: Final = "hearts-arbiter"

Context = grpc.aio.ServicerContext[Any, Any]

_CODES: Final[tuple[tuple[type[ArbiterError], grpc.StatusCode, str], ...]] = (
    (Unauthenticated, grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
    (Forbidden, grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN"),
    (UnknownVersion, grpc.StatusCode.NOT_FOUND, "UNKNOWN_VERSION"),
    (UnknownTournament, grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOURNAMENT"),
    (UnknownSitting, grpc.StatusCode.NOT_FOUND, "UNKNOWN_SITTING"),
    (UnknownToken, grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOKEN"),
    (NameTaken, grpc.StatusCode.ALREADY_EXISTS, "NAME_TAKEN"),
    (QuotaExceeded, grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED"),
    (TooManyUploads, grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_UPLOADS"),
    (WrongOffset, grpc.StatusCode.FAILED_PRECONDITION, "WRONG_OFFSET"),
    (TransitionRefused, grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE"),
    (InfrastructureError, grpc.StatusCode.UNAVAILABLE, "INFRASTRUCTURE"),
    (ArbiterError, grpc.StatusCode.INVALID_ARGUMENT, "INVALID"),
)
"""The first that fits: kind of error, code, reason."""


@asynccontextmanager
async def answering(context: Context) -> AsyncIterator[None]:
    """Turn whatever the block raises into a refusal; of what nobody foresaw, callers learn nothing but that."""
    try:
        yield
    except ArbiterError as error:
        code, reason = next((code, reason) for kind, code, reason in _CODES if isinstance(error, kind))
        await _refuse(context, code, reason, str(error))
    except (grpc.aio.AbortError, asyncio.CancelledError):
        raise
    except DecodeError:
        await _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "INVALID", "bytes that are no message of this call")
    except Exception:
        log.exception("a call failed")
        await _refuse(context, grpc.StatusCode.INTERNAL, "INTERNAL", "an error of the service; its log says more")


async def caller(context: Context, accounts: Accounts, scope: Scope) -> Token:
    """The token that a call shows, good for ``scope``.

    Raises:
        Unauthenticated, Forbidden: there is none, or it is not.
    """
    metadata = dict(context.invocation_metadata() or ())
    kind, _, text = str(metadata.get("authorization", "")).partition(" ")
    token = await asyncio.to_thread(authenticate, accounts, text if kind == "Bearer" else "", datetime.now(UTC))
    require(token, scope)
    return token


async def _refuse(context: Context, code: grpc.StatusCode, reason: str, message: str) -> None:
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN))
    status = status_pb2.Status(code=code.value[0], message=message, details=[detail])
    await context.abort(code, message, (("grpc-status-details-bin", status.SerializeToString()),))
