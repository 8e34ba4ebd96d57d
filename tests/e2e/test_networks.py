"""Workers on hosts of their own: links are cut and healed in the middle of sittings, and one is slow all the time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from arbiter.store import SittingState, Store
from tests.e2e.networks import Network, network, why_not
from tests.e2e.parts import BOTS, Size, check_books, service
from tests.e2e.support import until
from tests.postgres import Postgres

SHORT, LONG = 3.0, 13.0
"""Seconds without a link: shorter and longer than a lease."""


class Cuts:
    """Cuts a worker's link for a while, once so many sittings are recorded and it plays another."""

    def __init__(self, net: Network, plays: Callable[[int], bool], recorded: Callable[[], int]) -> None:
        self.left = [(0, 1, SHORT), (1, 2, SHORT), (2, 1, LONG)]
        """Recorded before, worker, seconds."""
        self._net = net
        self._plays = plays
        self._recorded = recorded
        self._cut: tuple[int, float] | None = None

    def once(self) -> None:
        """Look whether something is due."""
        time.sleep(0.05)
        if self._cut is not None:
            worker, end = self._cut
            if time.monotonic() >= end:
                self._net.heal(worker)
                self._cut = None
            return
        if self.left:
            after, worker, seconds = self.left[0]
            if self._recorded() >= after and self._plays(worker):
                self._net.cut(worker)
                self._cut = worker, time.monotonic() + seconds
                self.left.pop(0)


@pytest.mark.timeout(900)
def test_links_that_are_cut_or_slow_cost_time_and_nothing_else(postgres: Postgres) -> None:
    if why := why_not():
        assert "CI" not in os.environ, why
        pytest.skip(why)
    size = Size(bots=4, seatings=20, tournaments=1)
    with network(workers=2) as net, service(BOTS[: size.bots], net, postgres.programs) as found:
        cup = found.place.data / "cup.toml"
        cup.write_text(size.cup())
        (calm,) = found.play(cup)
        net.slow(2, kilobits=256)
        with Store.open(found.database) as store:

            def newest() -> str:
                return next(each.id for each in store.tournaments())

            def plays(worker: int) -> bool:
                return len(found.bots(f"worker-{worker}")) >= 12

            cuts = Cuts(net, plays, lambda: store.progress(newest()).sittings[SittingState.RECORDED])
            ids = []
            while cuts.left:  # one tournament is enough, unless it was over before this looked
                ids += found.play(cup, cuts.once)
            net.heal(1)  # the others may have played everything meanwhile
            books = check_books(store, size, calm, ids)
        assert books.sittings == 20 * len(ids)
        found.end()
        until(lambda: not found.place.processes(), "nothing outlives the service", found.place.described)
