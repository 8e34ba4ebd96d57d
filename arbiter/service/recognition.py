"""Whose call it is: tokens are looked up within what their holders, and those without a good one, may ask for."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.identity import Unauthenticated, authenticate
from arbiter.service.calls import Context, bearer
from arbiter.service.limits import CallLimits, Kind, Slots, address_of
from arbiter.service.rates import Rates
from arbiter.store import Accounts, Token

KNOWN: Final = 4096
"""Tokens that are remembered as good."""

KNOWN_FOR: Final = 3600.0
"""Seconds from its last call for which one is: it is looked up even when others at the same address fail all the
time."""


@dataclass(frozen=True, slots=True)
class _Known:
    token_id: str
    until: float
    """By the monotonic clock."""


class Recognition:
    """Knows callers by their tokens. To be used on one event loop alone.

    Args:
        accounts: whose tokens are good.
        limits: what is allowed.
        slots: counts calls at once.
        rates: counts calls within a time; None to count none.
    """

    def __init__(self, accounts: Accounts, limits: CallLimits, slots: Slots, rates: Rates | None) -> None:
        self._accounts: Final = accounts
        self._limits: Final = limits
        self._slots: Final = slots
        self._rates: Final = rates
        self._known: Final = OrderedDict[bytes, _Known]()

    async def let_in(self, context: Context, kind: Kind) -> Token:
        """The token of a call, for which there is room among calls of its kind.

        Nothing is looked up for free: whose token was good a short while ago has to have room for the call first, and
        of others an address has only so many looked up.

        Raises:
            Unauthenticated: it has none that is good.
            TooManyCalls, RateLimited: there is no room.
        """
        text, address = bearer(context), address_of(context.peer())
        mark = hashlib.sha256(text.encode()).digest()
        known = self._known.get(mark)
        if known is None or known.until <= time.monotonic():
            token = await self._meet(text, address)
            await self._make_room(token.id, kind, context)
        else:
            await self._make_room(known.token_id, kind, context)
            try:
                token = await self._authenticate(text)
            except Unauthenticated:
                self._known.pop(mark, None)
                await self._check_failures(address, count=True)
                raise
        self._known[mark] = _Known(token.id, time.monotonic() + KNOWN_FOR)
        self._known.move_to_end(mark)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return token

    @asynccontextmanager
    async def while_good(self, context: Context) -> AsyncIterator[None]:
        """End the block soon after the call's token is no longer good.

        Raises:
            Unauthenticated: it was revoked, or has expired.
        """
        text, refusals = bearer(context), list[Unauthenticated]()
        loop = asyncio.get_running_loop()

        async def look() -> None:
            while not refusals:
                await asyncio.sleep(self._limits.token_checks)
                try:
                    await self._authenticate(text)
                except Unauthenticated as error:
                    refusals.append(error)
                    limit.reschedule(loop.time())
                except InfrastructureError:
                    continue  # which says nothing of the token

        looking: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(None) as limit:
                looking = asyncio.create_task(look())
                try:
                    yield
                finally:
                    looking.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            raise refusals[0] from None

    async def _authenticate(self, text: str) -> Token:
        return await asyncio.to_thread(authenticate, self._accounts, text, datetime.now(UTC))

    async def _meet(self, text: str, address: str) -> Token:
        """The same of somebody new, for no longer than an address may fail: a look into the database is what guessing
        costs us."""
        give_back = self._slots.take(Kind.UNKNOWN, address)
        try:
            await self._check_failures(address, count=False)
            try:
                return await self._authenticate(text)
            except Unauthenticated:
                await self._check_failures(address, count=True)
                raise
        finally:
            give_back()

    async def _make_room(self, token_id: str, kind: Kind, context: Context) -> None:
        if self._rates is not None:
            await self._rates.check("calls", token_id, self._limits.per_token)
        self._slots.take_until_done(kind, token_id, context)

    async def _check_failures(self, address: str, *, count: bool) -> None:
        if self._rates is not None:
            await self._rates.check("calls without a valid token", address, self._limits.failures, count=count)
