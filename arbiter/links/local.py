"""A bot in this process, through the same messages as any other: for trusted bots, tests and measurements."""

from __future__ import annotations

import traceback
from collections import deque

from arbiter.api.bot.v1 import bot_pb2
from arbiter.links.link import Ending, FaultCode, Link, LinkLost, greeting_of
from arbiter.sdk import BaseBot, Session


class LocalLink(Link):
    """Plays ``bot`` in this process; its thinking blocks the event loop."""

    def __init__(self, bot: BaseBot) -> None:
        self._session = Session(bot)
        self._answers: deque[bot_pb2.SitRequest] = deque()
        self._log: list[str] = []
        self._ending = "ended"

    async def open(self, patience: float) -> bot_pb2.Greeting:
        """See :meth:`Link.open`."""
        return greeting_of(self._session.greeting())

    async def send(self, batch: bot_pb2.SitResponse) -> None:
        """See :meth:`Link.send`."""
        try:
            self._answers.extend(self._session.handle(batch))
        except Exception as error:
            self._log.append(traceback.format_exc())
            self._ending = f"raised {type(error).__name__}"
            raise LinkLost(FaultCode.CRASH, f"{type(error).__name__}: {error}") from error
        self._log += [f"fault: {note}\n" for note in self._session.fault_notes]

    async def receive(self) -> bot_pb2.SitRequest:
        """See :meth:`Link.receive`."""
        if not self._answers:
            raise LinkLost(FaultCode.TIMEOUT, "left a request unanswered")
        return self._answers.popleft()

    async def close(self, grace: float) -> Ending:
        """See :meth:`Link.close`."""
        return Ending(self._ending, "".join(self._log).encode())
