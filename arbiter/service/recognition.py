"""Whose call it is: tokens are looked up within what their holders, and those without a good one, may ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from arbiter.errors import InfrastructureError
from arbiter.identity import Unauthenticated
from arbiter.service.calls import Context, bearer
from arbiter.service.limits import CallLimits, Kind, Slots, address_of
from arbiter.service.lookups import Lookups
from arbiter.service.rates import Rates
from arbiter.store import Accounts, Token


class Recognition:
    """Knows callers by their tokens. To be used on one event loop alone.

    Args:
        accounts: whose tokens are good.
        limits: what is allowed.
        slots: counts calls at once.
        rates: counts calls within a time; None to count none.
    """

    def __init__(self, accounts: Accounts, limits: CallLimits, slots: Slots, rates: Rates | None) -> None:
        self._limits: Final = limits
        self._slots: Final = slots
        self._rates: Final = rates
        self._lookups: Final = Lookups(accounts, limits, slots, rates)

    async def let_in(self, context: Context, kind: Kind) -> Token:
        """The token of a call, for which there is room among calls of its kind.

        Nothing is looked up for free: whose token was good a short while ago has to have room for the call first, and
        of others an address has only so many looked up.

        Raises:
            Unauthenticated: it has none that is good.
            TooManyCalls, RateLimited: there is no room.
        """
        text = bearer(context)
        known = self._lookups.known(text)
        if known is not None:
            await self._make_room(known, kind, context)
        token = await self._lookups.look_up(text, address_of(context.peer()))
        if known is None:
            await self._make_room(token.id, kind, context)
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
                    await self._lookups.look_again(text)
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

    async def _make_room(self, token_id: str, kind: Kind, context: Context) -> None:
        if self._rates is not None:
            await self._rates.check("calls", token_id, self._limits.per_token)
        self._slots.take_until_done(kind, token_id, context)
