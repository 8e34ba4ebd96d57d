"""The interface of all links, and the names of what can go wrong with a bot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from arbiter.api.bot.v1 import bot_pb2
from arbiter.errors import ArbiterError


class FaultCode(StrEnum):
    """How a bot can fail. What fails outside all bots is an infrastructure error and never one of these."""

    ILLEGAL_PLAY = "ILLEGAL_PLAY"
    """It played a card that the rules refuse."""
    ILLEGAL_PASS = "ILLEGAL_PASS"
    """It passed cards that the rules refuse."""
    TIMEOUT = "TIMEOUT"
    """Its clock ran out, or it was silent for longer than the hard stop."""
    CRASH = "CRASH"
    """Its process ended."""
    DISCONNECT = "DISCONNECT"
    """It closed its stream while its process went on."""
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    """It sent something that the protocol does not allow."""
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    """It was ended for using more memory than allowed."""


ENDING_FAULTS: Final = frozenset(
    {FaultCode.TIMEOUT, FaultCode.CRASH, FaultCode.DISCONNECT, FaultCode.OUT_OF_MEMORY},
)
"""Faults after which a bot can't play on. A protocol error is one where it leaves nothing to read from the bot."""


class LinkLost(ArbiterError):
    """The bot can't be reached any more; says which fault that is and what was seen."""

    def __init__(self, code: FaultCode, detail: str, said: str = "") -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        """What was seen; it may become public."""
        self.said = said
        """What the bot wrote last, for its owner and the host alone; empty when nothing."""


def greeting_of(message: bot_pb2.SitRequest) -> bot_pb2.Greeting:
    """The greeting in a bot's first message.

    Raises:
        LinkLost: it holds none, or one that leaves no table to play at.
    """
    if not message.HasField("greeting"):
        raise LinkLost(FaultCode.PROTOCOL_ERROR, "the first message holds no greeting")
    if not message.greeting.max_open_tables:
        raise LinkLost(FaultCode.PROTOCOL_ERROR, "the greeting says max_open_tables = 0; at least 1 is needed")
    return message.greeting


@dataclass(frozen=True, slots=True)
class Ending:
    """What a bot left behind."""

    ending: str
    """How it ended, such as ``exit status 0``."""
    log: bytes
    """Its standard output and error, cut in the middle when long."""


class Link(ABC):
    """A bot at the other end. All methods belong to one event loop; one task at a time sends or receives."""

    @property
    def pid(self) -> int | None:
        """Process id of the outermost process that is the bot's own; None while there is none."""
        return None

    @property
    def cpu_seconds(self) -> float | None:
        """CPU time that its control group counted since its start; None where there is none."""
        return None

    @abstractmethod
    async def open(self, patience: float) -> bot_pb2.Greeting:
        """Start the bot and wait for its greeting, ``patience`` seconds at the most.

        Raises:
            LinkLost: it ended, kept silent or did not greet.
            InfrastructureError: it could not be started, and that is not its fault.
        """

    @abstractmethod
    async def send(self, batch: bot_pb2.SitResponse) -> None:
        """Send a batch.

        Raises:
            LinkLost: the bot is gone.
        """

    @abstractmethod
    async def receive(self) -> bot_pb2.SitRequest:
        """Wait for the bot's next message.

        Raises:
            LinkLost: the bot is gone.
        """

    @abstractmethod
    async def close(self, grace: float) -> Ending:
        """Let the bot end by itself within ``grace`` seconds, then end it; nothing of it is left afterwards.

        May be called again and gives the same ending.
        """
