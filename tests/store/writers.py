"""Processes of their own that write to a store: run with ``python -m tests.store.writers JOB PATH ...``.

Each prints a line when it is ready and waits for one before it goes on, so that the test decides what happens when.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from hashlib import sha256

from arbiter.store import Lease, SittingKey, SittingResult, Store, database, recording
from arbiter.store.database import Database
from tests.patience import PATIENCE
from tests.store.support import START, TERM, after, result

BIG = 6_000_000
"""Bytes of replay that do not compress: more than SQLite keeps in memory before it writes to the log."""


def big_result(key: SittingKey) -> SittingResult:
    replay = random.Random(1).randbytes(BIG)
    return replace(result(key), replay=replay, digest=sha256(replay).hexdigest())


def say(text: str) -> None:
    print(text, flush=True)


def race(path: str, worker: str) -> None:
    """Ask for every planned sitting, print those that were got, and record them."""
    with Store.open(path) as store:
        keys = store.planned("demo-1a2b")
        say("ready")
        sys.stdin.readline()
        for key in keys:
            lease = store.lease(key, worker, START, TERM)
            if isinstance(lease, Lease):
                say(f"{key} {store.record(key, lease.attempt, result(key, worker), START)}")


def stop_in_the_middle(path: str) -> None:
    """Write a whole result without committing it, and wait to be killed."""
    database = Database(path)
    key = SittingKey("demo-1a2b", 0, 0)
    with database.write() as session:
        reported = big_result(key)
        say(recording.record(session, key, 1, reported, reported.replay, after(1)))
        sys.stdin.readline()


def stop_after(path: str) -> None:
    """Record a result, and wait to be killed."""
    key = SittingKey("demo-1a2b", 0, 0)
    with Store.open(path) as store:
        say(store.record(key, 1, big_result(key), after(1)))
        sys.stdin.readline()


if __name__ == "__main__":
    database.BUSY_TIMEOUT_SECONDS = PATIENCE
    match sys.argv[1:]:
        case ["race", path, worker]:
            race(path, worker)
        case ["stop-in-the-middle", path]:
            stop_in_the_middle(path)
        case ["stop-after", path]:
            stop_after(path)
