"""The ladder: what a rating of many players at one table must not get wrong."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.errors import UsageError
from arbiter.rating import Rating, TableResult, ladder
from arbiter.rating.ladder import KINSHIP, SPREAD

PLAYERS = "abcdef"
NAMES = {player: player for player in PLAYERS}


@st.composite
def results(draw: st.DrawFn) -> list[TableResult]:
    """Some tables of two to four players, one of whom may sit there twice."""
    return [
        TableResult(
            tuple(players := draw(st.lists(st.sampled_from(PLAYERS), min_size=2, max_size=4))),
            tuple(draw(st.lists(st.integers(-50, 200), min_size=len(players), max_size=len(players)))),
            draw(st.integers(1, 24)),
        )
        for _ in range(draw(st.integers(1, 12)))
    ]


def after_one_table(points: tuple[int, ...], *, lowest_wins: bool = True) -> list[Rating]:
    players = tuple(f"p{number:02}" for number in range(len(points)))
    rated = ladder({player: player for player in players}, [TableResult(players, points, 4)], lowest_wins=lowest_wins)
    return [rated[player] for player in players]


def simulated(
    chance: random.Random, skills: dict[str, float], tables: int, seats: int = 4, noise: float = 7.0
) -> list[TableResult]:
    """Tables of drawn players over four hands each, with normal noise of this deviation a hand."""
    found = []
    for _ in range(tables):
        players = tuple(chance.sample(sorted(skills), seats))
        points = tuple(round(4 * (6.5 - skills[player]) + 2 * chance.gauss(0, noise)) for player in players)
        found.append(TableResult(players, points, 4))
    return found


def test_one_table_by_the_formula() -> None:
    # The lead over the table's mean, 2.5 and -2.5 points a hand over 4 hands, against a prior worth 6.25 hands.
    winner, loser = after_one_table((10, 30))
    assert winner.value == pytest.approx(2.5 * 4 / (4 + 1 / SPREAD**2), rel=1e-12)
    assert loser.value == pytest.approx(-winner.value, rel=1e-12)
    assert winner.hands == loser.hands == 4


def test_noise_and_errors_by_the_formulas() -> None:
    """Two boards of four hands, led by 2.5 and 1.25 points a hand; all that counts is the difference of the two."""
    found = [TableResult(("a", "b"), (10, 30), 4), TableResult(("a", "b"), (20, 30), 4)]
    rated = ladder({"a": "a", "b": "b"}, found)
    precision = 8 + 1 / SPREAD**2
    value = 8 * 1.875 / precision
    residuals = [2.5 - value, 1.25 - value]
    free, left = 2, 2 - 8 / precision
    noise = sum(2 * 4 * residual**2 for residual in residuals) / left
    meat = noise / SPREAD**2 + free / left * sum(2 * (4 * residual) ** 2 for residual in residuals)
    for rating, sign in ((rated["a"], 1), (rated["b"], -1)):
        assert rating.value == pytest.approx(sign * value, rel=1e-9)
        assert rating.noise == pytest.approx(noise, rel=1e-9)
        assert rating.standard_error == pytest.approx(math.sqrt(meat / 2) / precision, rel=1e-9)


def test_plain_least_squares_is_what_many_results_come_to() -> None:
    """Against numpy's own least squares, over tables with players that never all met and unequal hands."""
    chance = random.Random(5)
    found = [
        TableResult(group, tuple(chance.randint(0, 4000) for _ in group), 4000 * chance.randint(1, 3))
        for group in [*combinations("abcd", 3), *combinations("cdef", 3)]
    ]
    design, target = [], []
    for result in found:
        rows = np.zeros((3, len(PLAYERS)))
        for seat, player in enumerate(result.players):
            rows[seat, PLAYERS.index(player)] = 1
        weight = math.sqrt(result.hands)
        points = np.array(result.points) / result.hands
        design.append(weight * (rows - rows.mean(axis=0)))
        target.append(weight * (points.mean() - points))
    solution = np.linalg.lstsq(np.concatenate(design), np.concatenate(target), rcond=None)[0]
    rated = ladder(NAMES, found)
    assert [rated[player].value for player in PLAYERS] == pytest.approx(solution - solution.mean(), abs=1e-3)


def test_without_results_all_stand_at_the_prior() -> None:
    rated = ladder(NAMES, [])
    assert {(rating.value, rating.hands, rating.rank) for rating in rated.values()} == {(0.0, 0, None)}


def test_two_winners_a_third_and_a_fourth_keep_their_order() -> None:
    # https://github.com/aichallenge/aichallenge/issues/7
    first, second, third, fourth = after_one_table((0, 0, 10, 16))
    assert first.value == pytest.approx(second.value, rel=1e-12)
    assert second.value > third.value > fourth.value


@given(st.lists(st.integers(-26, 104), min_size=2, max_size=11), st.booleans())
def test_a_better_place_never_earns_less(points: list[int], lowest_wins: bool) -> None:
    rated = after_one_table(tuple(points), lowest_wins=lowest_wins)
    for (mine, a), (theirs, b) in pairwise(zip(points, rated, strict=True)):
        ahead = theirs - mine if lowest_wins else mine - theirs
        if ahead == 0:
            assert a.value == pytest.approx(b.value, abs=1e-9)
        else:
            assert (a.value > b.value) == (ahead > 0)


@given(results(), st.randoms(use_true_random=False))
def test_the_order_of_results_and_seats_changes_no_digit(found: list[TableResult], chance: random.Random) -> None:
    """galaxyproject/galaxy#142, aiarena-web#638."""
    arrived = []
    for result in found:
        seats = chance.sample(range(len(result.players)), len(result.players))
        players, points = tuple(result.players[i] for i in seats), tuple(result.points[i] for i in seats)
        arrived.append(TableResult(players, points, result.hands))
    chance.shuffle(arrived)
    names = list(NAMES)
    chance.shuffle(names)
    assert ladder({name: name for name in names}, iter(arrived)) == ladder(NAMES, found)


@given(results())
def test_registering_again_never_improves_a_rank(found: list[TableResult]) -> None:
    """galaxyproject/galaxy#142: a new version of each name, without results, has no rank and moves nobody."""
    before = ladder(NAMES, found)
    after = ladder(NAMES | {f"{name}2": name for name in PLAYERS}, found)
    for name in PLAYERS:
        assert after[name].rank == before[name].rank
        assert after[name].value == pytest.approx(before[name].value, abs=1e-6)
        assert after[f"{name}2"].rank is None


def test_a_new_version_starts_near_its_elder_and_a_new_name_at_the_mean() -> None:
    chance = random.Random(3)
    rated = ladder(
        NAMES | {"a2": "a", "new": "new"}, simulated(chance, {p: float(i) for i, p in enumerate(PLAYERS)}, 400)
    )
    # Both are shown less the mean of all with results, which is not quite the prior's.
    mean = rated["new"].value
    assert rated["a2"].value - mean == pytest.approx(KINSHIP * (rated["a"].value - mean), rel=1e-9)
    assert rated["a"].standard_error < rated["a2"].standard_error < rated["new"].standard_error
    assert [rated[key].provisional for key in ("a", "a2", "new")] == [False, True, True]


def test_results_of_one_version_weigh_more_than_kinship() -> None:
    chance = random.Random(4)
    skills = {"a": 2.0, "a2": -2.0, "b": 0.0, "c": 0.0, "d": 0.0}
    rated = ladder({key: key[0] for key in skills}, simulated(chance, skills, 3000))
    for key, skill in skills.items():
        assert rated[key].value == pytest.approx(skill, abs=4 * rated[key].standard_error)


def test_a_rank_comes_with_enough_results() -> None:
    chance = random.Random(8)
    few = ladder(NAMES, simulated(chance, dict.fromkeys(PLAYERS, 0.0), 3))
    many = ladder(NAMES, simulated(chance, dict.fromkeys(PLAYERS, 0.0), 200))
    assert all(rating.provisional for rating in few.values())
    assert sorted(rating.rank or 0 for rating in many.values()) == [1, 2, 3, 4, 5, 6]
    assert list(many.values()) == sorted(many.values(), key=lambda rating: -rating.at_least)


def test_some_are_ranked_among_one_another_and_nothing_else_changes() -> None:
    chance = random.Random(8)
    found = simulated(chance, {p: float(i) for i, p in enumerate(PLAYERS)}, 200)
    all_, some = ladder(NAMES, found), ladder(NAMES, found, ranked={"a", "c", "f", "new"})
    assert [key for key, rating in some.items() if rating.rank] == [key for key in all_ if key in "acf"]
    assert [some[key].rank for key in some if key in "acf"] == [1, 2, 3]
    assert [all_[key].rank for key in some if key in "acf"] == [1, 4, 6]
    assert all(1 <= low <= high <= 3 for low, high in (some[key].ranks or (0, 0) for key in "acf"))
    for key, rating in some.items():
        assert replace(rating, rank=None, ranks=None) == replace(all_[key], rank=None, ranks=None)
        assert not rating.provisional


def test_a_few_lucky_hands_do_not_outrank_many() -> None:
    """The rank goes by the interval's lower end, so to register anew until luck comes gains none."""
    chance = random.Random(9)
    skills = {"a": 1.5} | dict.fromkeys("bcdef", 0.0)
    lucky = [
        TableResult(("new", *chance.sample("bcdef", 3)), (taken, 30, 28, 26), 4)
        for taken in (0, 40, 2, 8, 30, 4, 0, 20)
    ]
    rated = ladder(NAMES | {"new": "new"}, [*simulated(chance, skills, 500), *lucky])
    assert not rated["new"].provisional
    assert rated["new"].value > rated["a"].value
    assert (rated["a"].rank, rated["new"].rank) == (1, 2)
    assert list(rated)[:2] == ["a", "new"]


def test_a_version_twice_at_one_table_is_compared_with_the_others_alone() -> None:
    twice = ladder({"a": "a", "b": "b"}, [TableResult(("a", "a", "b"), (0, 6, 9), 3)])
    once = ladder({"a": "a", "b": "b"}, [TableResult(("a", "a", "b"), (3, 3, 9), 3)])
    assert twice["a"].value == pytest.approx(once["a"].value, rel=1e-12)
    assert twice["a"].value > 0 > twice["b"].value


def test_changing_fields_and_weak_company_are_no_advantage() -> None:
    """Who plays the weak alone takes few points and gains no rating by it."""
    chance = random.Random(6)
    skills = {"strong": 2.0, "even": 0.0, "twin": 0.0, "weak": -3.0, "weaker": -3.5}
    found = []
    for group in (("strong", "even", "twin"), ("even", "weak", "weaker")):
        found += simulated(chance, {name: skills[name] for name in group}, 2000, seats=3)
    rated = ladder({name: name for name in skills}, found)
    order = [name for name, _ in sorted(rated.items(), key=lambda item: -item[1].value)]
    assert order[0] == "strong"
    assert order[3:] == ["weak", "weaker"]
    assert rated["even"].value == pytest.approx(rated["twin"].value, abs=0.5)


def test_intervals_tell_the_truth() -> None:
    """Of 400 ladders of six, whose players differ in luck too, 95 % of ratings lie in their intervals.

    2400 intervals that share their noise by six: 95 % +- 2 % is at least three standard deviations.
    """
    chance = random.Random(20240302)
    covered = []
    for _ in range(400):
        skills = {player: chance.gauss(0, 2.5) for player in PLAYERS}
        mean = statistics.mean(skills.values())
        for player, rating in ladder(NAMES, simulated(chance, skills, 60)).items():
            error = rating.value - (skills[player] - mean)
            covered.append(abs(error) <= 1.96 * rating.standard_error)
    assert statistics.mean(covered) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("wrong", [TableResult(("a", "z"), (1, 2), 4), TableResult(("a", "b"), (1, 2), 0)])
def test_what_is_no_result_is_refused(wrong: TableResult) -> None:
    with pytest.raises(UsageError, match="a result has at least one hand, and its players are among the versions"):
        ladder(NAMES, [wrong])


def test_two_hundred_versions_and_many_tables_fit_at_once() -> None:
    """160 boards of each of 200 suffice for a correlation of 0.95 with the truth."""
    chance = random.Random(9)
    skills = {f"v{number:03}": chance.gauss(0, 1.2) for number in range(200)}
    rated = ladder({key: key for key in skills}, simulated(chance, skills, 8000))
    values = [rated[key].value for key in skills]
    assert statistics.correlation(values, list(skills.values())) > 0.95


def test_equals_share_a_rank_and_the_next_one_counts_them() -> None:
    chance = random.Random(7)
    found = []
    for _ in range(40):
        best, other = chance.sample(range(12), 2)
        for one, two in (("a", "b"), ("b", "a")):
            found.append(TableResult((one, two, "c", "d"), (best, other, 20 + best, 40 + other), 4))
    rated = ladder({player: player for player in "abcd"}, found)
    assert [rated[player].rank for player in "abcd"] == [1, 1, 3, 4]


def test_many_comparisons_settle_no_rank_among_equals() -> None:
    """Each of six equals may be any rank; at most 5 % of their intervals leave one out, and no more by chance."""
    whole = [
        rating.ranks == (1, 6)
        for number in range(60)
        for rating in ladder(NAMES, simulated(random.Random(number), dict.fromkeys(PLAYERS, 0.0), 60)).values()
    ]
    assert statistics.mean(whole) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 60)


def test_open_ranks_hold_the_true_ones_and_part_what_is_far_apart() -> None:
    """In 60 fields at least 95 % of the intervals hold the true rank; a far better version is surely first."""
    held, wide = [], []
    for number in range(60):
        chance = random.Random(number)
        skills = {player: chance.gauss(0, 1.2) for player in PLAYERS} | {"a": 9.0}
        rated = ladder(NAMES, simulated(chance, skills, 60))
        for player, skill in skills.items():
            ranks = rated[player].ranks
            assert ranks is not None
            held.append(ranks[0] <= 1 + sum(other > skill for other in skills.values()) <= ranks[1])
            wide.append(ranks[1] > ranks[0])
        assert rated["a"].ranks == (1, 1)
    assert statistics.mean(held) >= 0.95
    assert any(wide)
    alone = ladder({"x": "x", "y": "y"}, [TableResult(("x", "y"), (10, 12), 4)])
    assert (alone["x"].ranks, alone["x"].rank) == (None, None), "none while it is provisional"
    assert alone["x"].noise == alone["y"].noise > 0
