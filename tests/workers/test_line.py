"""How long a worker pauses between two tries."""

from __future__ import annotations

from itertools import pairwise

from workers.line import Backoff


def test_pauses_grow_up_to_a_longest_one() -> None:
    """Workers asked again at once, all the time: official-stockfish/fishtest#2003."""
    backoff = Backoff(10.0)
    pauses = [backoff.draw() for _ in range(20)]
    assert not backoff.first
    assert pauses[0] <= 0.15
    assert all(5.0 <= pause <= 15.0 for pause in pauses[7:])
    assert all(later <= 6 * earlier for earlier, later in pairwise(pauses))


def test_workers_that_lost_the_arbiter_together_come_back_apart() -> None:
    """official-stockfish/fishtest#1983."""
    workers = [Backoff(10.0) for _ in range(100)]
    for _ in range(8):
        pauses = sorted(worker.draw() for worker in workers)
    assert pauses[-1] > 1.5 * pauses[0]
    assert len(set(pauses)) == 100
