"""Which queue a sitting goes through, by what it needs of a worker; shared by those who send and those who play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations
from typing import Final

from arbiter.errors import UsageError

TASK: Final = "hearts.play_sitting"
"""Name of the workers' task. Its arguments: a sitting's id, and when it was sent, in seconds since 1970."""

SERVICE: Final = "hearts"
"""What the queues of a service are called unless the host says otherwise."""

CPU_CLASSES: Final = (1, 2, 4, 8)
"""How many processors a sitting may ask for."""

MAX_RUNTIMES: Final = 6
"""Special runtimes that one worker may offer: it listens to a queue for each set of them."""


class Priority(IntEnum):
    """Who is served first; the least number."""

    GATE = 0
    """Somebody's pipeline waits."""
    TOURNAMENT = 3
    LADDER = 6
    """It never ends, so it takes what is left."""


PRIORITY_STEPS: Final = [int(step) for step in Priority]
"""What Redis keeps apart; senders and workers have to agree on it."""


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """What a sitting needs of a worker."""

    cpus: int = 1
    """One of `CPU_CLASSES`."""
    runtimes: tuple[str, ...] = ()
    """Runtimes that not every machine has, sorted."""

    def queue(self, service: str) -> str:
        """The queue's name, such as ``hearts.cpus1+node``."""
        return "+".join((f"{service}.cpus{self.cpus}", *self.runtimes))


def present_key(service: str, worker: str) -> str:
    """Where a worker says in Redis that it is there."""
    return f"{service}.present.{worker}"


def route_for(cpus: int, runtimes: Iterable[str]) -> Route:
    """The route of a sitting with bots of these special runtimes, each named as often as one likes."""
    return Route(cpus, tuple(sorted(set(runtimes))))


def routes_of(cpus: int, runtimes: Sequence[str]) -> list[Route]:
    """The routes that a worker serves: any that needs no more than it offers, the most demanding first.

    Raises:
        UsageError: it offers more special runtimes than are possible, or no processor.
    """
    if len(runtimes) > MAX_RUNTIMES:
        raise UsageError(
            f"{len(runtimes)} special runtimes ({', '.join(runtimes)}) are more than the {MAX_RUNTIMES} that one "
            "worker may offer; choose some with ARBITER_WORKER_RUNTIMES"
        )
    if cpus < 1:
        raise UsageError(f"a worker offers at least 1 processor, not {cpus}; set ARBITER_WORKER_CPUS")
    offered = sorted(runtimes)
    sets = [chosen for size in range(len(offered), -1, -1) for chosen in combinations(offered, size)]
    return [Route(each, chosen) for each in reversed(CPU_CLASSES) if each <= cpus for chosen in sets]
