"""The ladder without processes: who enters, what is planned, and what it shows of made-up results."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import pytest

from arbiter.match.routes import Priority, Route
from arbiter.store import (
    BotLog,
    Entrant,
    HandTally,
    Quota,
    SeatResult,
    SittingKey,
    SittingResult,
    Store,
    Submission,
    Tournament,
    TournamentState,
    UnknownTournament,
    VersionState,
)
from arbiter.tournament import Coordinator, SpecError, TournamentSpec, parse_spec, plan_tournament, report
from arbiter.tournament.coordinator import MIN_WINDOW
from arbiter.tournament.evidence import ladder_ratings
from arbiter.tournament.ladder import LadderPlan, extend_ladder, find_ladder, owner_of
from arbiter.tournament.leaderboard import find_entrant, history, leaderboard, upcoming
from tests.tournament.support import START, lasting_leads

LADDER = "ladder-1a2b"
SKILLS = {"ada": 4.0, "bob": 6.0, "cyd": 6.5, "dan": 7.0, "eve": 9.0}
"""True points per hand."""


def ladder_spec(rules: str = "black_lady", **match: object) -> TournamentSpec:
    """One sitting a match, so that little is written."""
    sizes = {"boards": 6, "seatings": 1, **match}
    return parse_spec({"name": "ladder", "format": "ladder", "rules": {"name": rules}, "match": sizes}, Path())


def create(store: Store, name: str = LADDER, rules: str = "black_lady") -> Tournament:
    tournament, matches = plan_tournament(name, ladder_spec(rules), [], START)
    assert matches == []
    store.create_tournament(tournament, [], matches, 1)
    return store.set_state(name, TournamentState.RUNNING, now=START)


def enter(store: Store, owner: str, number: int = 1, leaving: Sequence[int] = (), *, ladder: str = LADDER) -> Entrant:
    digest = hashlib.sha256(f"{owner}{number}".encode()).hexdigest()
    return store.enter(ladder, Entrant(0, f"{owner}bot@{number}", digest, {"owner": owner}), leaving=leaving)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """In SQLite alone: what the database does is tested elsewhere."""
    with Store.open(tmp_path / "arbiter.db") as found:
        yield found


@pytest.fixture
def ladder(store: Store) -> str:
    """A running ladder with five bots."""
    create(store)
    for owner in SKILLS:
        enter(store, owner)
    return LADDER


def play(store: Store, keys: Sequence[SittingKey], chance: random.Random, minutes: float = 0.0) -> None:
    """Record sittings of a ladder with points around the owners' skills."""
    ladder = keys[0].tournament
    entrants = {entrant.index: entrant for entrant in store.entrants(ladder)}
    matches = {match.index: match for match in store.matches(ladder)}
    for key in keys:
        match = matches[key.match]
        lease = store.lease(key, "w1", START, timedelta(minutes=1))
        scores = []
        for board in range(1, match.boards + 1):
            for seat, index in enumerate(match.entrants):
                points = max(0, round(chance.gauss(SKILLS[str(entrants[index].manifest["owner"])], 3.0)))
                scores.append(SeatResult(board, seat, index, 1, points, points))
        tallies = tuple(HandTally(score.board, score.seat, "left", 1, score.points, 0) for score in scores)
        logs = tuple(BotLog(index, "exit status 0", "") for index in match.entrants)
        text = str(key).encode()
        result = SittingResult(tuple(scores), tallies, (), logs, text, hashlib.sha256(text).hexdigest(), 2, 1.0)
        when = START + timedelta(minutes=minutes)
        store.record(key, lease.attempt, result, when)  # type: ignore[union-attr]  # a refusal has none and fails here


def play_matches(store: Store, count: int, seed: int = 1, *, ladder: str = LADDER) -> None:
    """Plan and play so many matches, one after the other."""
    chance = random.Random(seed)
    for number in range(count):
        assert extend_ladder(store, ladder, 1)
        play(store, store.planned(ladder), chance, float(number))


class CountingSender:
    """A queue that nobody takes anything out of."""

    def __init__(self) -> None:
        self.sent: list[SittingKey] = []
        self.priorities: list[Priority] = []

    def send(self, key: SittingKey, route: Route, priority: Priority) -> None:
        self.sent.append(key)
        self.priorities.append(priority)

    def waiting(self, route: Route) -> int:
        return len(self.sent)


# -- coming and going --------------------------------------------------------------------------------------------------


def test_a_ladder_has_no_entrants_of_its_own_and_no_sides() -> None:
    spec = ladder_spec()
    assert TournamentSpec.from_dict(spec.to_dict()).format == spec.format
    assert spec.clock_of(99) == spec.clocks[0]
    for change, message in (
        ({"entrants": [{"bot": "x"}]}, "versions enter a ladder while it runs"),
        ({"rules": {"name": "partnership"}}, "a ladder is for bots that play for themselves"),
        ({"meetings": 2}, "meetings: says nothing in format 'ladder'"),
    ):
        with pytest.raises(SpecError, match=message):
            parse_spec({"name": "ladder", "format": "ladder", **change}, Path())
    with pytest.raises(SpecError, match="entrants: 0 given, but a table of black_lady seats 4"):
        parse_spec({"name": "cup"}, Path())


def test_nothing_is_planned_before_there_is_a_table(store: Store) -> None:
    create(store)
    for owner in ("ada", "bob", "cyd"):
        enter(store, owner)
    enter(store, "ada", 2)
    assert not LadderPlan.read(store, LADDER).playable
    assert not extend_ladder(store, LADDER, 1), "two of one owner never meet"
    assert store.matches(LADDER) == []
    enter(store, "dan")
    assert LadderPlan.read(store, LADDER).playable
    assert extend_ladder(store, LADDER, 1)
    assert len(store.matches(LADDER)) == 1


def test_as_many_sittings_wait_as_are_asked_for_and_no_more(store: Store, ladder: str) -> None:
    assert extend_ladder(store, ladder, 3)
    assert len(store.planned(ladder)) == 3
    assert extend_ladder(store, ladder, 3)
    assert len(store.planned(ladder)) == 3
    play(store, store.planned(ladder)[:2], random.Random(1))
    assert extend_ladder(store, ladder, 3)
    assert len(store.planned(ladder)) == 3
    assert len(store.matches(ladder)) == 5


def test_whole_matches_are_planned(store: Store) -> None:
    tournament, _ = plan_tournament(LADDER, ladder_spec(seatings="rotations"), [], START)
    store.create_tournament(tournament, [], [], 4)
    store.set_state(LADDER, TournamentState.RUNNING, now=START)
    for owner in SKILLS:
        enter(store, owner)
    assert extend_ladder(store, LADDER, 9)
    assert len(store.planned(LADDER)) == 12


def test_everyone_plays_and_newcomers_first(store: Store, ladder: str) -> None:
    play_matches(store, 12)
    counts = Counter(index for match in store.matches(ladder) for index in match.entrants)
    assert max(counts.values()) - min(counts.values()) <= 5
    new = enter(store, "ada", 2, leaving=[0]).index
    assert extend_ladder(store, ladder, 8)
    assert all(new in match.entrants for match in store.matches(ladder)[12:]), "its first eight matches go first"
    assert all(0 not in match.entrants for match in store.matches(ladder)[12:]), "in the place of its elder"


def test_the_least_certain_goes_first_once_nobody_is_new(store: Store, ladder: str) -> None:
    fay = enter(store, "fay").index
    assert extend_ladder(store, ladder, 24)
    other = create(store, "ladder-2b3c").id  # where all but fay have results
    for owner in SKILLS:
        enter(store, owner, ladder=other)
    play_matches(store, 6, ladder=other)
    plan = LadderPlan.read(store, ladder)
    counts = Counter(index for match in plan.matches for index in match.entrants)
    assert min(counts.values()) > 8
    assert max(counts.values()) - min(counts.values()) <= 2
    assert [fay in group for group in plan.next_groups(3)] == [True] * 3


def test_what_others_played_before_somebody_came_is_not_made_up_for(store: Store, ladder: str) -> None:
    assert extend_ladder(store, ladder, 40)
    new = enter(store, "fay").index
    assert extend_ladder(store, ladder, 64)
    counts = Counter(index for match in store.matches(ladder)[40:] for index in match.entrants)
    assert counts[new] <= 8 + 16 - 4, "eight of placement, and then its share of the others"


def test_what_was_taken_back_is_planned_no_more(store: Store, ladder: str) -> None:
    store.leave(ladder, 4)
    assert extend_ladder(store, ladder, 40)
    assert all(4 not in match.entrants for match in store.matches(ladder))
    store.leave(ladder, 3)
    store.leave(ladder, 2)
    assert not LadderPlan.read(store, ladder).playable
    assert extend_ladder(store, ladder, 100), "what is planned is played"
    assert len(store.matches(ladder)) == 40


def test_a_version_that_is_retired_is_planned_no_more(store: Store, ladder: str) -> None:
    (eve,) = (entrant for entrant in store.entrants(ladder) if entrant.name == "evebot@1")
    store.versions.receive(Submission("eve", "evebot", "one", eve.digest, 1), Quota(), START)
    for state in (VersionState.BUILDING, VersionState.VALIDATING, VersionState.ACTIVE, VersionState.RETIRED):
        store.versions.move("evebot", 1, state, START)
    assert extend_ladder(store, ladder, 8)
    assert {index for match in store.matches(ladder) for index in match.entrants} == {0, 1, 2, 3}
    enter(store, "fay")
    store.versions.receive(Submission("fay", "faybot", "one", "0" * 64, 1), Quota(), START)
    assert 5 in {entrant.index for entrant in LadderPlan.read(store, ladder).active}, "which is only not built yet"


def test_the_best_do_meet(store: Store, ladder: str) -> None:
    # https://github.com/aichallenge/aichallenge/issues/215
    assert extend_ladder(store, ladder, 40)
    met = Counter(pair for match in store.matches(ladder) for pair in combinations(sorted(match.entrants), 2))
    assert met[0, 1] >= 20
    assert max(met.values()) - min(met.values()) <= 6


def test_bots_of_the_machines_host_count_each_for_itself() -> None:
    assert owner_of(Entrant(0, "mine@3", "0" * 64, {"owner": "host"})) == "mine"
    assert owner_of(Entrant(0, "mine@3", "0" * 64, {"owner": "ada"})) == "ada"
    assert owner_of(Entrant(0, "mine", "0" * 64, {})) == "mine"


# -- what it shows -----------------------------------------------------------------------------------------------------


def test_the_leaderboard_finds_the_order_and_shows_one_rating(store: Store, ladder: str) -> None:
    play_matches(store, 16)
    found = leaderboard(store)
    assert found.tournament.id == ladder
    assert (found.places[0].owner, found.places[-1].owner) == ("ada", "eve")
    for place in found.places:
        low, high = place.interval
        assert low < place.rating.value < high
        assert place.rating.ranks is not None
        assert place.rating.ranks[0] <= (place.rating.rank or 0) <= place.rating.ranks[1]
        assert place.matches * 6 == place.rating.hands
    # https://github.com/aichallenge/aichallenge/issues/180
    of_tournament = {row.name: row.rating for row in report(store, ladder).rows}
    assert of_tournament == {place.entrant.name: place.rating for place in found.places}


def test_a_version_that_comes_anew_gains_no_rank(store: Store, ladder: str) -> None:
    # https://github.com/galaxyproject/galaxy/issues/142
    play_matches(store, 16)
    enter(store, "eve", 2, leaving=[4])
    found = {place.entrant.name: place for place in leaderboard(store).places}
    assert found["evebot@2"].rating.rank is None
    assert not found["evebot@1"].active
    assert found["evebot@2"].active
    elder = found["evebot@1"].rating.value
    assert elder < found["evebot@2"].rating.value < elder / 2, "it starts near its elder"


def test_those_that_play_on_are_ranked_among_one_another(store: Store, ladder: str) -> None:
    play_matches(store, 16)
    before = leaderboard(store).places
    gone = before[1]
    store.leave(ladder, gone.entrant.index)
    places = leaderboard(store).places
    names = [place.entrant.name for place in before if place is not gone]
    assert [place.entrant.name for place in places] == [*names, gone.entrant.name]
    assert [place.rating.rank for place in places] == [*range(1, len(places)), None]
    assert (places[-1].rating.ranks, places[-1].rating.provisional) == (None, False)
    assert [place.rating.value for place in places[:-1]] == [p.rating.value for p in before if p is not gone]


def test_of_several_names_of_a_version_the_first_is_its_bots(store: Store, ladder: str) -> None:
    other = create(store, "ladder-2b3c").id
    (eve,) = (entrant for entrant in store.entrants(ladder) if entrant.name == "evebot@1")
    store.enter(other, Entrant(0, "alias@1", eve.digest, {}))
    store.enter(other, Entrant(0, "alias@2", "2" * 64, {}))
    play_matches(store, 16, ladder=ladder)
    spec = ladder_spec()
    rated = ladder_ratings(store, spec.rules, spec.match_format)
    assert rated[eve.digest].value < rated["2" * 64].value < rated[eve.digest].value / 2, "a version of the same bot"


def test_a_name_that_left_has_no_rank_though_its_files_play_on_under_another(store: Store, ladder: str) -> None:
    play_matches(store, 16)
    gone = leaderboard(store).places[0].entrant
    store.leave(ladder, gone.index)
    store.enter(ladder, Entrant(0, "other@1", gone.digest, {"owner": "zoe"}))
    ranks = {place.entrant.name: place.rating.rank for place in leaderboard(store).places}
    assert (ranks["other@1"], ranks[gone.name]) == (1, None)


def test_history_ends_with_the_rating_of_now(store: Store, ladder: str) -> None:
    play_matches(store, 8)
    last = store.matches(ladder)[-1]
    places = leaderboard(store).places
    assert any(place.entrant.index not in last.entrants for place in places), "others' results move a rating too"
    for place in places:
        *_, end = history(store, place.entrant.name)[2]
        assert end.rating.value == pytest.approx(place.rating.value)
        assert end.rating.standard_error == pytest.approx(place.rating.standard_error)
    points = history(store, "adabot")[2]
    assert [point.matches for point in points] == list(range(1, len(points) + 1))
    assert [point.time for point in points] == sorted(point.time for point in points)
    errors = [point.rating.standard_error for point in points]
    assert errors[-1] < errors[0]
    _, _, none = history(store, enter(store, "fay").name)
    assert none == []


def test_results_under_other_rules_count_for_nothing(store: Store, ladder: str) -> None:
    play_matches(store, 4)
    before = (leaderboard(store, ladder).places, history(store, "adabot", ladder)[2])
    other = create(store, "ladder-2b3c", rules="omnibus").id
    for owner in SKILLS:
        enter(store, owner, ladder=other)
    play_matches(store, 4, seed=2, ladder=other)
    assert (leaderboard(store, ladder).places, history(store, "adabot", ladder)[2]) == before
    assert leaderboard(store, other).places != before[0]


def test_long_histories_are_thinned(store: Store, ladder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter.tournament.leaderboard.MOST_POINTS", 3)
    monkeypatch.setattr("arbiter.tournament.leaderboard.FEWEST_POINTS", 2)
    play_matches(store, 8)
    counts = Counter(index for match in store.matches(ladder) for index in match.entrants)
    assert counts[0] > 3
    points = history(store, "adabot@1")[2]
    assert (len(points), points[-1].matches) == (3, counts[0])
    monkeypatch.setattr("arbiter.tournament.leaderboard.MOST_BOARDS", 0)
    points = history(store, "adabot@1")[2]
    assert (len(points), points[-1].matches) == (2, counts[0]), "where a fit takes long"


def test_what_comes_is_listed_and_expected_where_it_is_not_planned(store: Store, ladder: str) -> None:
    assert extend_ladder(store, ladder, 1)
    (match,) = store.matches(ladder)
    _, listed = upcoming(store)
    assert [(each.match, each.recorded, each.sittings) for each in listed] == [(0, 0, 1)]
    absent = next(entrant for entrant in store.entrants(ladder) if entrant.index not in match.entrants)
    _, expected = upcoming(store, absent.name)
    assert [each.match for each in expected] == [None]
    assert absent.name in expected[0].names
    play(store, store.planned(ladder), random.Random(1))
    assert upcoming(store)[1] == []
    assert extend_ladder(store, ladder, 1)
    assert absent.name in upcoming(store)[1][0].names, "it comes as expected, whoever the ratings seat with it"


def test_results_in_any_order_give_the_same_ladder(store: Store, tmp_path: Path) -> None:
    # https://github.com/aiarena/aiarena-web/issues/638, https://github.com/galaxyproject/galaxy/issues/142
    def ratings(place: Store, order: Callable[[list[SittingKey]], list[SittingKey]]) -> list[object]:
        create(place)
        for owner in SKILLS:
            enter(place, owner)
        assert extend_ladder(place, LADDER, 10)
        for key in order(place.planned(LADDER)):
            play(place, [key], random.Random(str(key)))
        return [each.rating for each in leaderboard(place).places]

    with Store.open(tmp_path / "other.db") as other:
        shuffled = ratings(other, lambda keys: random.Random(3).sample(keys, len(keys)))
    assert ratings(store, list) == shuffled


def test_versions_are_named_with_and_without_number(store: Store, ladder: str) -> None:
    enter(store, "ada", 2, leaving=[0])
    entrants = store.entrants(ladder)
    assert find_entrant(entrants, "adabot").name == "adabot@2"
    assert find_entrant(entrants, "adabot@1").name == "adabot@1"
    with pytest.raises(Exception, match="zoebot is not on this ladder; enter it with: arbiter ladder enter zoebot"):
        find_entrant(entrants, "zoebot")


def test_a_ladder_is_found_by_id_or_as_the_newest(store: Store) -> None:
    with pytest.raises(UnknownTournament, match="there is no ladder yet"):
        find_ladder(store)
    create(store)
    assert find_ladder(store).id == find_ladder(store, LADDER).id == LADDER
    spec = parse_spec({"name": "cup", "entrants": [{"bot": f"b{n}"} for n in range(4)]}, Path())
    entrants = [Entrant(n, f"b{n}", f"{n:064x}", {}) for n in range(4)]
    tournament, matches = plan_tournament("cup-1a2b", spec, entrants, START + timedelta(days=1))
    store.create_tournament(tournament, entrants, matches, 4)
    with pytest.raises(UnknownTournament, match="cup-1a2b is a tournament and no ladder"):
        LadderPlan.read(store, "cup-1a2b")
    assert find_ladder(store).id == LADDER


# -- played by a service -----------------------------------------------------------------------------------------------


def test_a_service_plays_it_behind_everything_else_and_keeps_it_supplied(store: Store, ladder: str) -> None:
    sender = CountingSender()
    coordinator = Coordinator(store, sender, lasting_leads(store))
    coordinator.look()
    first = store.planned(ladder)
    assert len(first) == MIN_WINDOW
    assert set(sender.sent) == set(first)
    assert set(sender.priorities) == {Priority.LADDER}
    assert max(Priority.GATE, Priority.TOURNAMENT) < Priority.LADDER
    play(store, first, random.Random(1))
    coordinator.look()
    assert len(store.planned(ladder)) == MIN_WINDOW, "there is always a next match"
    assert store.tournament(ladder).state is TournamentState.RUNNING


def test_enough_of_a_ladder_pauses_it(store: Store, ladder: str) -> None:
    coordinator = Coordinator(store, CountingSender(), lasting_leads(store), enough=lambda _: True)
    assert coordinator.look(ladder) is TournamentState.PAUSED


def test_a_ladder_without_a_table_waits(store: Store) -> None:
    create(store)
    enter(store, "ada")
    sender = CountingSender()
    coordinator = Coordinator(store, sender, lasting_leads(store))
    coordinator.look()
    assert (sender.sent, store.tournament(LADDER).state) == ([], TournamentState.RUNNING)
    for owner in ("bob", "cyd", "dan"):
        enter(store, owner)
    coordinator.look()
    assert sender.sent
