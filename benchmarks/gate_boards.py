"""Paired boards of sample bots, played in this process: what the simulated gates are drawn from."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from arbiter.deals import ROTATIONS, Seatings, derive_bot_seed, derive_deal_seed
from arbiter.engine import RULE_SETS
from arbiter.links import LocalLink
from arbiter.match import Clock, MatchFormat, SeatedBot, SittingPlan, play_sitting
from arbiter.sdk import Bot, Card, CardView
from sample_bots.batch.bot import Batch
from sample_bots.careful.bot import Careful
from sample_bots.moonshooter.bot import Moonshooter

RULES: Final = RULE_SETS["black_lady"]
SEED: Final = b"is the new one any better"
CLOCK: Final = Clock(bank=1e6, hard_stop=1e6)
"""Time is not what is measured."""
CHUNK: Final = 48
"""Boards of one task; they are its deal set."""
OPPONENTS: Final[tuple[type[Bot], ...]] = (Careful, Batch, Moonshooter)
"""Those that a gate has where none are named."""


class NearCopy(Careful):
    """Careful with one constant changed: it gives 1.15 times the weight to being rid of a card."""

    def danger(self, card: Card, hand: int, unseen: int) -> float:
        """See :meth:`Careful.danger`."""
        return 1.15 * super().danger(card, hand, unseen)


class Twin(Careful):
    """The same constant changed by a hundredth: nearly every board comes out alike."""

    def danger(self, card: Card, hand: int, unseen: int) -> float:
        """See :meth:`Careful.danger`."""
        return 1.01 * super().danger(card, hand, unseen)


class QueenLeader(Careful):
    """Careful with a bug: it leads the queen of spades whenever it may."""

    def choose_card(self, view: CardView) -> Card:
        """See :meth:`Careful.choose_card`."""
        queen = [card for card in view.legal if str(card) == "QS"]
        return queen[0] if queen and not view.trick else super().choose_card(view)


CANDIDATES: Final[dict[str, type[Bot]]] = {
    "the same bot": Careful,
    "a twin": Twin,
    "a near copy": NearCopy,
    "a bug": QueenLeader,
    "another bot": Batch,
}
"""What plays against the same opponents as ``careful``."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Boards that a candidate and the baseline played: points by board and sitting.

    Attributes:
        candidate: ``candidate[b][s]`` are the candidate's points on board b in sitting s.
        baseline: the same of the baseline.
    """

    candidate: list[list[int]]
    baseline: list[list[int]]

    @property
    def improvements(self) -> list[float]:
        """By board, in points per hand."""
        return [fmean(old) - fmean(new) for new, old in zip(self.candidate, self.baseline, strict=True)]


def play_match(tested: str | None, deal_set: int, seatings: Seatings) -> list[list[int]]:
    """Points of a candidate, or of the baseline for None, by board and sitting."""
    bots = (Careful if tested is None else CANDIDATES[tested], *OPPONENTS)
    points: dict[int, list[int]] = defaultdict(list)
    for number in range(seatings.sittings(RULES)):
        plan = SittingPlan(
            sitting=f"gate/{deal_set}/{number}",
            rules=RULES,
            format=MatchFormat.HANDS,
            boards=CHUNK,
            deal_seed=derive_deal_seed(SEED, deal_set),
            seating=number,
            bots=tuple(
                SeatedBot(place, f"bot{place}", "", derive_bot_seed(SEED, deal_set, number, place), CLOCK)
                for place in range(4)
            ),
            seatings=seatings,
        )
        record = asyncio.run(play_sitting(plan, [LocalLink(bot()) for bot in bots]))
        for hand in record.hands:
            points[hand.board].append(hand.points[hand.places.index(0)])
    return [points[board] for board in range(1, CHUNK + 1)]


def play(candidates: Sequence[str], boards: int, processes: int, seatings: Seatings = ROTATIONS) -> dict[str, Paired]:
    """Let each candidate and the baseline play the same boards, at least this many."""
    sets = range(-(-boards // CHUNK))
    found = {}
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), os.nice, (10,)) as pool:

        def boards_of(tested: str | None) -> list[list[int]]:
            started = time.perf_counter()
            tasks = [pool.submit(play_match, tested, number, seatings) for number in sets]
            points = [board for task in tasks for board in task.result()]
            seconds = time.perf_counter() - started
            print(f"{tested or 'the baseline'}, {len(points)} boards: {seconds:.0f} s", file=sys.stderr)
            return points

        baseline = boards_of(None)
        for candidate in candidates:
            found[candidate] = Paired(boards_of(candidate), baseline)
    return found
