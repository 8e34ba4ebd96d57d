"""Who is best of the ladder when opponents are named by it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from arbiter.deals import commitment
from arbiter.engine import rule_set
from arbiter.match import MatchFormat
from arbiter.packages import FileVersions
from arbiter.store import (
    BotLog,
    Entrant,
    HandTally,
    Match,
    Quota,
    SeatResult,
    SittingResult,
    Store,
    Submission,
    VersionState,
)
from arbiter.tournament.evidence import ladder_ratings
from arbiter.tournament.ladder_top import ladder_top
from tests.tournament.gates import make_bots
from tests.tournament.support import START
from tests.tournament.test_ladder import LADDER, create

POINTS = {"alpha@1": 4.5, "alpha@2": 3.0, "bravo@1": 6.0, "charlie@1": 7.0, "delta@1": 8.0, "lucky@1": 0.0}
"""True points per hand; the last plays few."""

RULES = rule_set("black_lady")


class Ladder:
    """One with results of these bots, kept as contents."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.contents = FileVersions(folder / "contents")
        self._chance = random.Random(5)
        create(store)
        for name, bot in zip(POINTS, make_bots(folder, *(name.partition("@")[0] for name in POINTS)), strict=True):
            (bot / "made_for").write_text(name)
            store.enter(LADDER, Entrant(0, name, self.contents.put(bot).digest, {}))

    def play(self, boards: int, *names: str) -> None:
        """A match of these bots in one sitting."""
        entrants = tuple(map(list(POINTS).index, names))
        number = len(self.store.matches(LADDER))
        seed = hashlib.sha256(b"%d" % number).digest()
        self.store.extend_tournament(LADDER, [Match(number, entrants, seed, commitment(seed), boards)], 1)
        (key,) = self.store.planned(LADDER)
        lease = self.store.lease(key, "w1", START, timedelta(minutes=1))
        scores = []
        for board in range(1, boards + 1):
            for seat, entrant in enumerate(entrants):
                points = max(0, round(self._chance.gauss(POINTS[names[seat]], 3.0)))
                scores.append(SeatResult(board, seat, entrant, 1, points, points))
        tallies = tuple(HandTally(score.board, score.seat, "left", 1, score.points, 0) for score in scores)
        logs = tuple(BotLog(entrant, "exit status 0", "") for entrant in entrants)
        text = str(key).encode()
        result = SittingResult(tuple(scores), tallies, (), logs, text, hashlib.sha256(text).hexdigest(), boards, 1.0)
        self.store.record(key, lease.attempt, result, START)  # type: ignore[union-attr]  # a refusal has none

    def submit(self, name: str, owner: str) -> None:
        """Let a bot be a submitted version that is active."""
        bot, _, number = name.partition("@")
        digest = self.store.entrants(LADDER)[list(POINTS).index(name)].digest
        self.store.versions.receive(Submission(owner, bot, name.replace("@", "-"), digest, 1), Quota(), START)
        for state in (VersionState.BUILDING, VersionState.VALIDATING, VersionState.ACTIVE):
            built = digest if state is VersionState.VALIDATING else ""
            self.store.versions.move(bot, int(number), state, START, built=built)

    def top(self, count: int, *, but: Sequence[str] = (), not_of: Sequence[str] = ()) -> list[str | None]:
        found = ladder_top(self.store, self.contents, RULES, MatchFormat.HANDS, count, but=but, not_of=not_of)
        assert [bot.name for bot in found] == [(bot.folder / "made_for").read_text() for bot in found]
        return [bot.name for bot in found]


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with Store.open(tmp_path / "arbiter.db") as store:
        found = Ladder(store, tmp_path)
        for _ in range(5):
            found.play(24, "alpha@1", "bravo@1", "charlie@1", "delta@1")
            found.play(24, "alpha@2", "bravo@1", "charlie@1", "delta@1")
        found.play(6, "lucky@1", "bravo@1", "charlie@1", "delta@1")
        yield found


def test_one_version_of_each_bot_by_what_its_results_make_sure(ladder: Ladder) -> None:
    ratings = ladder_ratings(ladder.store, RULES, MatchFormat.HANDS).values()
    by_value = max(ratings, key=lambda rating: rating.value)
    assert by_value.hands == 6, "few hands that went well, by which nobody is best"
    assert ladder.top(3) == ["alpha@2", "lucky@1", "bravo@1"]
    assert ladder.top(9, but=["lucky"]) == ["alpha@2", "bravo@1", "charlie@1", "delta@1"]


def test_neither_bots_of_who_asks_nor_what_was_retired(ladder: Ladder) -> None:
    for name, owner in (("alpha@1", "ada"), ("alpha@2", "ada"), ("bravo@1", "bob")):
        ladder.submit(name, owner)
    assert ladder.top(9, not_of=["ada"]) == ["lucky@1", "bravo@1", "charlie@1", "delta@1"]
    ladder.store.versions.move("alpha", 2, VersionState.RETIRED, START)
    assert ladder.top(3) == ["alpha@1", "lucky@1", "bravo@1"]
