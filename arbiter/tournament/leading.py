"""A process's part in leading: takes the lead when nobody has it, keeps it, and knows when to stop."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from arbiter.store import Leadership, LeadershipLost, Store, StoreUnavailable

log = logging.getLogger(__name__)

LEAD: Final = timedelta(seconds=5)
"""How long the lead lasts unless it is renewed: when the leader is gone, another takes over after this."""


def process_name() -> str:
    """A name that no other process has had or will have, and that tells people where to look."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"


def matter_of(tournament: str) -> str:
    """What there is one leader of for each tournament."""
    return f"tournament/{tournament}"


class Lead:
    """The lead in one matter, as one process has it, or does not. Methods may be called from several threads.

    Leave its ``with`` statement to resign, so that another process can take over at once.

    Args:
        store: where it is kept.
        matter: what there is one leader of, such as ``tournament/cup-1a2b``.
        holder: this process's name. A process that takes over another's name takes its lead at once, so nobody else may
            have the name at the same time.
        duration: how long the lead lasts unless it is renewed.
        now: the time, and
        steady: seconds of a clock that nobody sets, injected for tests.
    """

    def __init__(
        self,
        store: Store,
        matter: str,
        holder: str,
        duration: timedelta = LEAD,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store: Final = store
        self._matter: Final = matter
        self._holder: Final = holder
        self.duration: Final = duration
        self._now: Final = now
        self._steady: Final = steady
        self._led: Leadership | None = None
        self._until = 0.0
        self.leader = ""
        """Who leads, as far as this process has heard."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        led = self._led
        if led is not None:
            self._led = None
            with contextlib.suppress(StoreUnavailable):  # then it expires
                self._store.resign(led, self._now())

    @property
    def held(self) -> bool:
        """Whether this process leads as far as it knows. It may have been stopped meanwhile: see `good`."""
        return self._led is not None

    @property
    def good(self) -> bool:
        """Whether nobody else can lead now, by this machine's clock: what is not written into the database, and so not
        refused there, is to be done only while this holds."""
        return self._led is not None and self._steady() < self._until

    @property
    def store(self) -> Store:
        """The store, in which everything that is written now is refused once another process leads.

        Raises:
            LeadershipLost: this process does not lead.
        """
        led = self._led
        if led is None:
            raise LeadershipLost(f"{self._holder} does not lead {self._matter}; {self.leader or 'nobody'} does")
        return self._store.led_by(led)

    def take(self) -> bool:
        """Lead if nobody else does; returns whether this process leads now."""
        asked = self._steady()
        found = self._store.lead(self._matter, self._holder, self._now(), self.duration)
        self.leader = found.holder
        if found.holder != self._holder:
            return False
        self._until, self._led = asked + self.duration.total_seconds(), found
        log.info("%s leads %s in term %d", found.holder, found.matter, found.term)
        return True

    def keep(self) -> bool:
        """Go on leading; returns whether this process does still. To be called several times in each duration."""
        led, asked = self._led, self._steady()
        if led is None:
            return False
        kept = self._store.keep_lead(led, self._now(), self.duration)
        if kept is None:
            self.lose()
            return False
        self._until = asked + self.duration.total_seconds()
        return True

    def lose(self) -> None:
        """Another process leads."""
        if self._led is not None:
            log.warning("%s leads %s no more", self._holder, self._matter)
        self._led = None
