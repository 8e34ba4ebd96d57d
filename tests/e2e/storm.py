"""Kills, stops, empties and freezes parts of a service at random while tournaments are played.

``make storm`` is the long form, ``test_storm.py`` a short one.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from redis.exceptions import RedisError

from arbiter.cage.orphans import end_orphans
from arbiter.store import Store
from tests.e2e.parts import BOTS, VISIBILITY, Books, Service, Size, ThisMachine, check_books, service
from tests.e2e.support import bots_of, until
from tests.postgres import find_programs

FREEZE: Final = 12.0
"""Seconds for which a worker is frozen: longer than its lease, and than Redis waits for it."""

WAIT: Final = 5.0
"""Seconds that a worker has to begin to play, when one is to be killed that does."""

assert VISIBILITY < FREEZE


class Storm:
    """Does one thing after another to a service, drawn by a seed, until it has done so many."""

    def __init__(self, service: Service, kills: int, seed: int, pause: float, tell: Callable[[str], None]) -> None:
        self.done: Final = Counter[str]()
        self._service: Final = service
        self._kills: Final = kills
        self._random: Final = random.Random(seed)
        self._pause: Final = pause
        self._tell: Final = tell
        self._frozen: Final[dict[int, float]] = {}
        self._ways: Final[dict[str, tuple[int, Callable[[], bool]]]] = {
            "a worker and its bots": (30, self._kill_worker),
            "a supervisor of workers": (8, lambda: self._restart(f"worker-{self._random.randint(1, 2)}")),
            "a coordinator": (16, lambda: self._restart(f"coordinator-{self._random.randint(1, 2)}")),
            "the API": (12, lambda: self._restart("serve")),
            "Redis": (10, self._kill_redis),
            "all that is in Redis": (10, self._flush),
            "PostgreSQL": (8, self._kill_postgres),
            "a worker frozen": (10, self._freeze),
        }

    def once(self) -> None:
        """Do the next thing, if there is one left to do, after a pause."""
        time.sleep(self._random.uniform(0.0, 2 * self._pause))
        self.thaw(time.monotonic())
        for part in self._service.parts.values():
            part.check()
        if self.done.total() >= self._kills:
            return
        # At the end what was not done yet, so that no way is left out.
        missing = [way for way in self._ways if not self.done[way]]
        ways = missing if self._kills - self.done.total() <= len(missing) else list(self._ways)
        (way,) = self._random.choices(ways, [self._ways[way][0] for way in ways])
        if self._ways[way][1]():
            self.done[way] += 1
            self._tell(f"{self.done.total()} of {self._kills}: {way}")

    def thaw(self, now: float) -> None:
        """Let those go on that were frozen until now."""
        for pid in [pid for pid, end in self._frozen.items() if end <= now]:
            del self._frozen[pid]
            _signal(pid, signal.SIGCONT)

    def _playing(self) -> list[int]:
        """Workers that play a sitting, waited for a while: to kill one that does not would show little."""
        end = time.monotonic() + WAIT
        while True:
            workers = [pid for pid in self._service.place.workers() if pid not in self._frozen]
            playing = [pid for pid in workers if len(bots_of(pid)) >= 12]  # a cage is three processes
            if playing or time.monotonic() > end:
                return playing
            time.sleep(0.1)

    def _kill_worker(self) -> bool:
        if not (workers := self._playing()):
            return False
        worker = self._random.choice(workers)
        # It must not see its bots die first: that would be their fault.
        _signal(worker, signal.SIGSTOP)
        for bot in bots_of(worker):
            _signal(bot, signal.SIGKILL)
        _signal(worker, signal.SIGKILL)
        return True

    def _restart(self, name: str) -> bool:
        part = self._service.parts[name]
        part.end(signal.SIGKILL)
        time.sleep(self._random.uniform(0.0, self._pause))
        part.start()
        return True

    def _kill_redis(self) -> bool:
        self._service.redis.end()
        time.sleep(self._random.uniform(0.0, self._pause))
        self._service.redis.start()
        return True

    def _flush(self) -> bool:
        try:
            self._service.redis.flush()
        except RedisError:  # it is just starting
            return False
        return True

    def _kill_postgres(self) -> bool:
        self._service.postgres.end(signal.SIGQUIT)
        time.sleep(self._random.uniform(0.0, self._pause))
        self._service.postgres.start()
        return True

    def _freeze(self) -> bool:
        if self._frozen or not (workers := self._playing()):
            return False
        worker = self._random.choice(workers)
        _signal(worker, signal.SIGSTOP)
        self._frozen[worker] = time.monotonic() + FREEZE
        return True


@dataclass(frozen=True)
class Outcome:
    """What came of a storm."""

    books: Books
    done: dict[str, int]
    seconds: float
    calm_seconds: float
    """What a tournament took that nothing disturbed."""


def weather(
    size: Size,
    kills: int,
    seed: int,
    programs: Path,
    pause: float = 0.5,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Play one tournament undisturbed and then some under a storm, and see that nothing is lost, nothing is recorded
    twice, nothing is left behind, and all standings are the same to the last digit."""
    with service(BOTS[: size.bots], ThisMachine(), programs) as found:
        cup = found.place.data / "cup.toml"
        cup.write_text(size.cup())
        begun = time.monotonic()
        (calm,) = found.play(cup)
        calm_seconds = time.monotonic() - begun
        tell(f"undisturbed: {calm_seconds:.0f} s")
        storm = Storm(found, kills, seed, pause, tell)
        begun = time.monotonic()
        ids: list[str] = []
        while storm.done.total() < kills:
            ids += found.play(cup, storm.once, size.tournaments)
        seconds = time.monotonic() - begun
        storm.thaw(float("inf"))
        found.end()
        with Store.open(found.database) as store:
            books = check_books(store, size, calm, ids)

        def nothing_left() -> bool:
            end_orphans()  # as the next service does
            return not found.place.processes()

        until(nothing_left, "nothing outlives the service", found.place.described)
        assert found.place.run_folders() == []
    return Outcome(books, dict(storm.done), seconds, calm_seconds)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser(description="kill, stop, empty and freeze parts of a service while it plays")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between two kills")
    chosen = parser.parse_args()
    programs = find_programs()
    if programs is None:
        sys.exit("error: PostgreSQL is not installed; apt install postgresql")
    tell = partial(print, file=sys.stderr)
    outcome = weather(Size(), chosen.kills, chosen.seed, programs, chosen.pause, tell)
    books = outcome.books
    print(f"{books.sittings} sittings in {books.attempts} attempts, {outcome.seconds:.0f} s;")
    print(f"one tournament undisturbed, before: {outcome.calm_seconds:.0f} s.")
    print("Standings equal to the last digit, nothing recorded twice, nothing left. Done:")
    for way, count in sorted(outcome.done.items()):
        print(f"{count:5} {way}")


if __name__ == "__main__":
    main()
