"""The ladder's scheduler: everybody's due, and the match that tells most within that."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.schedule import Contender, ScheduleError, ladder_match
from arbiter.schedule.ladder import PATIENCE, PLACEMENT, gain
from arbiter.schedule.results import meetings

NOISE = 4.0
WIDEST = 5
"""By how many matches two bots may differ, those of placement apart."""
PAIRS_APART = 5
"""By how many meetings two pairs may differ at tables of up to six."""


class Ladder:
    """A ladder whose errors fall as they do in truth: some versions' faster than others'."""

    def __init__(self, entrants: int, seats: int, *, seed: int = 0, per_owner: int = 1) -> None:
        chance = random.Random(seed)
        self.seats = seats
        self.unsure = [chance.choice([1.0, 1.0, 4.0]) for _ in range(entrants)]
        self.contenders = [
            Contender(f"v{number:02}", f"o{number // per_owner}", chance.gauss(0, 2), self.unsure[number], PLACEMENT)
            for number in range(entrants)
        ]
        self.recent: list[tuple[str, ...]] = []
        self.longest_wait = 0
        self.widest = 0
        self.played = Counter[str]()

    def step(self) -> tuple[str, ...]:
        match = ladder_match(self.contenders, self.seats, self.recent, noise=NOISE)
        self.recent.append(match)
        self.played.update(match)
        self.contenders = [
            replace(one, matches=one.matches + (one.key in match), error=unsure / (1 + self.played[one.key]) ** 0.5)
            for one, unsure in zip(self.contenders, self.unsure, strict=True)
        ]
        last = {key: number for number, match in enumerate(self.recent, 1) for key in match}
        self.longest_wait = max(self.longest_wait, *(len(self.recent) - last.get(o.key, 0) for o in self.contenders))
        counts = [self.played[one.key] for one in self.contenders]
        self.widest = max(self.widest, max(counts) - min(counts))
        return match

    def pairs(self) -> list[int]:
        """Meetings of all pairs who may meet."""
        met = meetings(self.recent)
        pairs = combinations(sorted(self.contenders, key=lambda one: one.key), 2)
        return [met[one.key, other.key] for one, other in pairs if one.owner != other.owner]


@pytest.mark.parametrize(
    ("entrants", "seats", "matches"),
    [(4, 4, 20), (5, 4, 80), (8, 4, 150), (12, 3, 200), (13, 11, 60), (20, 2, 300), (20, 4, 250), (22, 11, 80),
     (40, 6, 250)],
)  # fmt: skip
def test_matches_of_bots_and_pairs_stay_within_a_spread_and_nobody_waits_long(
    entrants: int, seats: int, matches: int
) -> None:
    """Games per bot and per pair far apart: aichallenge#179, Halite-III#207."""
    ladder = Ladder(entrants, seats)
    for number in range(matches):
        match = ladder.step()
        assert len(set(match)) == seats
        if number % 10 == 9:
            pairs = ladder.pairs()
            assert max(pairs) - min(pairs) <= (PAIRS_APART if seats <= 6 else 8)
    assert ladder.widest <= WIDEST
    assert ladder.longest_wait <= PATIENCE * -(-entrants // seats) + 2


@settings(max_examples=12)
@given(st.data())
def test_any_field_is_served_alike(data: st.DataObject) -> None:
    seats = data.draw(st.integers(2, 8), label="seats")
    entrants = data.draw(st.integers(seats, 24), label="entrants")
    ladder = Ladder(entrants, seats, seed=data.draw(st.integers(0, 999), label="chance"))
    for _ in range(40):
        ladder.step()
    assert ladder.widest <= WIDEST
    assert ladder.longest_wait <= PATIENCE * -(-entrants // seats) + 2


def test_two_of_one_owner_never_meet_and_the_rest_stays_even() -> None:
    ladder = Ladder(20, 4, per_owner=3)
    owner = {one.key: one.owner for one in ladder.contenders}
    for _ in range(200):
        assert len({owner[key] for key in ladder.step()}) == 4
    assert ladder.widest <= WIDEST
    assert max(ladder.pairs()) - min(ladder.pairs()) <= PAIRS_APART


def test_the_top_bots_meet_first_and_more_than_others() -> None:
    """The best bots that hardly ever met: aichallenge#215."""
    ladder = Ladder(40, 4)
    for _ in range(120):
        ladder.step()
    best = sorted(sorted(ladder.contenders, key=lambda one: -one.rating)[:4], key=lambda one: one.key)
    met = meetings(ladder.recent)
    top = [met[one.key, other.key] for one, other in combinations(best, 2)]
    assert min(top) >= 1
    pairs = ladder.pairs()
    assert sum(top) / len(top) > 1.5 * sum(pairs) / len(pairs)


def test_new_versions_come_first_and_their_matches_are_not_held_against_them() -> None:
    """A first game that did not come under load: Halite-II#379."""
    ladder = Ladder(12, 4)
    for _ in range(50):
        ladder.step()
    ladder.contenders += [Contender("new1", "n1", 0.0, 0.1, 0), Contender("new2", "n2", 0.0, 0.1, 0)]
    ladder.unsure += [0.1, 0.1]  # so it is not their errors that put them first
    ladder.recent.clear()
    ladder.played.clear()
    first = [ladder.step() for _ in range(2 * PLACEMENT)]
    assert "new1" in first[0]
    assert "new2" in {*first[0], *first[1]}
    assert all(sum(key in match for match in first) >= PLACEMENT for key in ("new1", "new2"))
    old = [one.key for one in ladder.contenders if not one.key.startswith("new")]
    for _ in range(60):
        ladder.step()
    counts = [ladder.played[key] for key in old]
    assert max(counts) - min(counts) <= WIDEST
    for key in ("new1", "new2"):
        assert -1 <= (ladder.played[key] - PLACEMENT) - min(counts) <= WIDEST


def test_the_least_certain_leads_when_nobody_is_due() -> None:
    sure = [Contender(key, key, 0.0, 0.1, 50) for key in "abcdefgh"]
    unsure = [Contender(key, key, 0.0, 2.0, 50) for key in "wxyz"]
    assert set(ladder_match(sure + unsure, 4, [], noise=NOISE)) == set("wxyz")


@settings(max_examples=40)
@given(st.integers(0, 9999))
def test_the_order_of_contenders_changes_nothing(seed: int) -> None:
    ladder = Ladder(9, 4, seed=seed)
    for _ in range(5):
        ladder.step()
    mixed = list(ladder.contenders)
    random.Random(seed).shuffle(mixed)
    assert ladder_match(mixed, 4, ladder.recent, noise=NOISE) == (
        ladder_match(ladder.contenders, 4, ladder.recent, noise=NOISE)
    )


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=11), st.floats(0.01, 100))
def test_the_gain_is_that_of_the_additive_model(variances: list[float], noise: float) -> None:
    k = len(variances)
    precision = np.diag(1 / np.array(variances)) + (np.eye(k) - np.full((k, k), 1 / k)) / noise
    expected = sum(variances) - float(np.trace(np.linalg.inv(precision)))
    assert gain(variances, noise) == pytest.approx(expected, rel=1e-6, abs=1e-9 * sum(variances))


def test_what_is_impossible_is_named() -> None:
    four = [Contender(key, key, 0.0, 1.0, 0) for key in "abcd"]
    for contenders, seats, recent, noise, message in (
        (four[:3], 4, [], 1.0, "contenders of 3 owners can't fill a match of 4 seats"),
        ([*four, four[0]], 4, [], 1.0, "a key stands twice"),
        (four, 1, [], 1.0, "a match of 1 seats"),
        (four, 4, [("a", "b", "c", "x")], 1.0, "recent: 'x' is no contender"),
        (four, 4, [], 0.0, "noise 0.0 and all errors of ratings must be above 0"),
    ):
        with pytest.raises(ScheduleError, match=message):
            ladder_match(contenders, seats, recent, noise=noise)
