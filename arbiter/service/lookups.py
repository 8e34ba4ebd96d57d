"""Looks tokens up, for each address only so many that are no good: a look into the database is what guessing costs
us."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from arbiter.identity import Unauthenticated, authenticate
from arbiter.service.limits import CallLimits, Kind, Slots
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


class Lookups:
    """Looks tokens up within what an address may ask for. To be used on one event loop alone.

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

    def known(self, text: str) -> str | None:
        """The id of a token that was good a short while ago; None of any other."""
        known = self._known.get(_mark(text))
        return known.token_id if known is not None and known.until > time.monotonic() else None

    async def look_up(self, text: str, address: str) -> Token:
        """The token that a caller at an address shows.

        Raises:
            Unauthenticated: it is no good.
            TooManyCalls, RateLimited: it is not known, and the address has had as many looked up as it may.
        """
        if self.known(text) is None:
            token = await self._meet(text, address)
        else:
            try:
                token = await self.look_again(text)
            except Unauthenticated:
                self._known.pop(_mark(text), None)
                await self._check_failures(address, count=True)
                raise
        mark = _mark(text)
        self._known[mark] = _Known(token.id, time.monotonic() + KNOWN_FOR)
        self._known.move_to_end(mark)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return token

    async def look_again(self, text: str) -> Token:
        """The token of a call that was let in; raises `Unauthenticated` when it is no good any more."""
        return await asyncio.to_thread(authenticate, self._accounts, text, datetime.now(UTC))

    async def _meet(self, text: str, address: str) -> Token:
        """The same of somebody new, for no longer than an address may fail."""
        give_back = self._slots.take(Kind.UNKNOWN, address)
        try:
            await self._check_failures(address, count=False)
            try:
                return await self.look_again(text)
            except Unauthenticated:
                await self._check_failures(address, count=True)
                raise
        finally:
            give_back()

    async def _check_failures(self, address: str, *, count: bool) -> None:
        if self._rates is not None:
            await self._rates.check("calls without a valid token", address, self._limits.failures, count=count)


def _mark(text: str) -> bytes:
    """What of a token is kept in memory."""
    return hashlib.sha256(text.encode()).digest()
