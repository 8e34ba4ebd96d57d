"""How many calls within a time: counted in Redis, so that all processes of a service count together.

The generic cell rate algorithm (ITU-T I.371, "leaky bucket as a meter"): of each subject one number is kept, the moment
at which everything it has had is paid for. A call costs one script run in Redis, whatever the limit, and a refusal
knows to the microsecond when there is room again. Keys go by themselves.

Without Redis nothing is counted: these limits keep the service pleasant, while those on calls at once and the quotas,
which keep it alive, are counted elsewhere.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from arbiter.service.limits import Rate, RateLimited

log = logging.getLogger(__name__)

PAUSE: Final = 1.0
"""Seconds for which a Redis that does not answer is not asked again."""

_PREFIX: Final = "arbiter.rate."

# KEYS: the subject. ARGV: microseconds that a call costs; those that may be owed; whether to count this call.
# Returns the microseconds until a call may come, 0 for now.
_SCRIPT: Final = """
local cost, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local paid = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now)) + cost
if paid - now > most then
    return paid - now - most
end
if ARGV[3] == '1' then
    redis.call('SET', KEYS[1], string.format('%.0f', paid), 'PX', math.ceil((paid - now) / 1000))
end
return 0
"""


class Rates:
    """Counts calls in a Redis.

    Args:
        client: with short time limits, for every call waits for it. It is the caller's to close.
    """

    def __init__(self, client: Redis) -> None:
        self._script: Final = client.register_script(_SCRIPT)
        self._away = False
        self._ask_again = 0.0

    async def check(self, what: str, subject: str, rate: Rate, *, count: bool = True) -> None:
        """Return when ``subject`` may make a call, and count it, unless it is only asked for.

        Args:
            what: names the limit, in keys and messages.
            subject: whose call it is.

        Raises:
            RateLimited: it has made as many as it may.
        """
        if time.monotonic() < self._ask_again:
            return
        cost = round(rate.seconds / rate.calls * 1e6)
        keys, arguments = [f"{_PREFIX}{what}.{subject}"], [cost, cost * rate.calls, int(count)]
        try:
            wait = int(await self._script(keys, arguments))
        except (RedisError, OSError) as error:
            self._ask_again = time.monotonic() + PAUSE
            if not self._away:
                self._away = True
                log.warning("Redis does not answer, so calls are not counted: %s", error)
            return
        if self._away:
            self._away = False
            log.warning("Redis answers again, and calls are counted")
        if wait > 0:
            raise RateLimited(
                f"{rate.calls} {what} within {rate.seconds:g} s are allowed; try again in {wait / 1e6:.1f} s",
                wait / 1e6,
            )
