"""What a form of a bot makes of the arbiter's batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from arbiter.api.bot.v1 import bot_pb2 as pb

ANSWER_PAUSE = 0.02  # not final: what is final is written into compiled code, and tests set it
"""Seconds after which a bot that thinks long sends what it has answered so far, so that the other seats can go on."""


class Answering(Protocol):
    """Takes in the parts of a batch, in the order of :meth:`Session.handle`, and answers what is asked in them."""

    def trick_results(self, results: pb.TrickResults) -> None:
        """Tricks were completed."""

    def moons(self, requests: pb.MoonRequests) -> pb.SitRequest:
        """Choices about moons are due."""

    def hand_results(self, results: pb.HandResults) -> None:
        """Hands ended."""

    def deals(self, deals: pb.Deals) -> None:
        """Hands begin."""

    def passes(self, requests: pb.PassRequests) -> Iterator[pb.SitRequest]:
        """Cards to pass are due."""

    def received(self, received: pb.CardsReceived) -> None:
        """Cards came and went in the pass."""

    def plays(self, requests: pb.PlayRequests) -> Iterator[pb.SitRequest]:
        """Cards are due."""
