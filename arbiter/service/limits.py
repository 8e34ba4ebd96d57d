"""How much one caller may have of the service at once, so that nobody shuts the others out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv6Address, ip_address, ip_network
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote

import grpc

from arbiter.errors import UsageError


class Exhausted(UsageError):
    """The caller has had as much as it may have for now.

    Args:
        message: one line.
        retry_after: seconds after which it may try again.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after: Final = retry_after


class TooManyCalls(Exhausted):
    """As many calls are under way as may be at once."""


class RateLimited(Exhausted):
    """As many calls were made within a time as may be."""


class Silent(UsageError):
    """Nothing came for too long, or too little."""


class Kind(StrEnum):
    """What a call takes room for; each kind has room of its own."""

    ANONYMOUS_CALL = "calls without a token"
    ANONYMOUS_STREAM = "streams without a token"
    UNKNOWN = "calls whose token is being looked up"
    CALL = "calls"
    STREAM = "streams"


@dataclass(frozen=True, slots=True)
class Share:
    """How many calls of a kind there may be at once."""

    total: int
    """Of all callers."""
    each: int
    """Of one caller: a token, or an address where there is none."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many calls there may be within a time: so many at once, and then one whenever its share of it has passed."""

    calls: int
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.calls > MOST_CALLS * self.seconds:
            raise UsageError(f"calls: are {self.calls} within {self.seconds:g} s; {MOST_CALLS} a second are the most")


MOST_CALLS: Final = 100_000
"""Calls a second of the largest rate that can be counted."""

LEAST_MESSAGE: Final = 320 * 1024
"""Bytes of the smallest bound of messages: a chunk of an upload has to get through."""

_SHARES: Final = MappingProxyType(
    {
        Kind.ANONYMOUS_CALL: Share(128, 16),
        Kind.ANONYMOUS_STREAM: Share(64, 8),
        Kind.UNKNOWN: Share(256, 64),
        Kind.CALL: Share(256, 32),
        Kind.STREAM: Share(512, 16),
    }
)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What the public server allows. Times are in seconds."""

    shares: Mapping[Kind, Share] = field(default_factory=lambda: _SHARES)
    """Calls at once."""
    message_bytes: int = 1024 * 1024
    """Largest message that is taken; packages come in chunks."""
    per_token: Rate = Rate(600)
    """Calls that show one token."""
    per_address: Rate = Rate(600)
    """Calls from one address that need no token."""
    failures: Rate = Rate(30)
    """Calls from one address with a token that is no good."""
    read_silence: float = 30.0
    """Longest wait for a caller's next message."""
    write_silence: float = 30.0
    """Longest wait for a caller to take a message."""
    watch_silence: float = 900.0
    """Longest time in which a stream to a caller has nothing to tell."""
    anonymous_age: float = 900.0
    """Longest life of a stream without a token."""
    slowest: float = 4096.0
    """Bytes per second that an upload must bring on the average..."""
    slow_start: float = 60.0
    """...once it has lasted so long."""
    token_checks: float = 5.0
    """Between two looks at the token of a stream: it ends when that is revoked or expires."""
    connection_age: float = 3600.0
    """Longest life of a connection..."""
    connection_grace: float = 300.0
    """...beside the time that its calls have then to finish."""

    def __post_init__(self) -> None:
        if not LEAST_MESSAGE <= self.message_bytes < 1 << 31:
            raise UsageError(f"message_bytes: is {self.message_bytes}; write {LEAST_MESSAGE} to {(1 << 31) - 1}")


class Slots:
    """Counts the calls under way. To be used on one event loop alone."""

    def __init__(self, shares: Mapping[Kind, Share]) -> None:
        self._shares: Final = shares
        self._total: Final = Counter[Kind]()
        self._each: Final = Counter[tuple[Kind, str]]()

    def take(self, kind: Kind, subject: str) -> Callable[[], None]:
        """Count one more call; returns what ends it.

        Raises:
            TooManyCalls: there are as many as may be, of this subject or in all.
        """
        share, mine = self._shares[kind], (kind, subject)
        if self._each[mine] >= share.each:
            raise TooManyCalls(f"{share.each} {kind.value} of yours are under way, which is all that is allowed", 1.0)
        if self._total[kind] >= share.total:
            raise TooManyCalls(f"{share.total} {kind.value} are under way, which is all that is answered at once", 1.0)
        self._total[kind] += 1
        self._each[mine] += 1

        def give_back() -> None:
            self._total[kind] -= 1
            self._each[mine] -= 1
            if not self._each[mine]:
                del self._each[mine]

        return give_back

    def take_until_done(self, kind: Kind, subject: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """The same until gRPC is through with the call, which may be later than its handler."""
        give_back = self.take(kind, subject)

        def done(_: object) -> None:
            give_back()

        context.add_done_callback(done)  # type: ignore[arg-type]  # the stubs' type of it is a class that nothing derives


def address_of(peer: str) -> str:
    """Who a call counts for when it shows no token, from how gRPC names its other end.

    An IPv4 address, the first 64 bits of an IPv6 address, for anybody has as many of those as they like, or ``unix``.
    """
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    host = unquote(rest).rpartition(":")[0].strip("[]")
    address = ip_address(host.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
