"""How much time a bot lost because the machine was taken away from its table from outside.

A bot's clock should run for the bot. When the worker is frozen, when a hypervisor takes the CPU, or when other work
on the machine keeps the bot or the worker waiting for one, that time is nobody's thinking. It is given back to the
clock as it is seen, and a bot whose time is up although much was lost voids its sitting, which is played again, in
place of taking a fault (https://github.com/HaliteChallenge/Halite/issues/119).

What the table does to itself is not given back: waiting counts only by the share that outside work has in what kept
the CPUs busy, and never while a bot's own processes had the CPU.
"""

from __future__ import annotations

from typing import Final

from arbiter.cage import Load
from arbiter.errors import InfrastructureError

PULSE: Final = 0.25
"""Seconds between two looks at the machine."""

VOID_SHARE: Final = 0.25
"""A time fault voids the sitting when at least this share of the time was lost."""


class Starved(InfrastructureError):
    """A bot's time was up while the machine was taken away; no bot is to blame, and nothing of the sitting stands."""

    def __init__(self, entrant: int, detail: str) -> None:
        super().__init__(detail)
        self.entrant = entrant
        """Index of the entrant whose time was up."""


def lost_seconds(load: Load, asleep: float) -> list[float]:
    """Seconds that each bot lost.

    Args:
        load: what ran since the last look.
        asleep: seconds for which the caller slept on purpose meanwhile.
    """
    table = load.own + sum(bot.cpu for bot in load.bots)
    outside = max(0.0, load.busy - table) + load.stolen
    # What may be the table's own is not called outside work.
    share = outside / (outside + table) if outside and not any(bot.hidden for bot in load.bots) else 0.0
    # Neither asleep on purpose, nor computing, nor waiting for a CPU: stopped, or blocked by the machine.
    stopped = max(0.0, load.elapsed - asleep - load.own - load.queued)
    stolen = load.elapsed * load.stolen / (load.busy + load.stolen) if load.stolen else 0.0
    worker = stopped + share * load.queued
    losses = []
    for bot in load.bots:
        waited = share * min(bot.waited, max(0.0, load.elapsed - bot.cpu))
        losses.append(min(load.elapsed, stolen + max(worker, waited)))
    return losses
