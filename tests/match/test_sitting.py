"""Sittings between honest bots: every rule set, every order of events, every seat."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from arbiter.engine import Moon, rule_set
from arbiter.links import LocalLink
from arbiter.match import play_sitting, replay_of, verify_replay
from arbiter.sdk import Card, CardView, HandResult, MoonView
from tests.match.support import VARIANTS, BentLink, DisorderlyLink, Uniform, check, plan_of, play


@pytest.mark.parametrize("game", [False, True], ids=["hands", "game"])
@pytest.mark.parametrize(
    ("name", "options"), VARIANTS, ids=lambda value: value if isinstance(value, str) else "".join(value)
)
def test_every_rule_set_is_played_in_both_formats(name: str, options: tuple[str, ...], game: bool) -> None:
    plan = plan_of(rule_set(name, options), boards=1 if game else 6, game=game)
    record = play(plan, [LocalLink(Uniform()) for _ in plan.bots])
    assert not record.faults
    assert not any(hand.faults or hand.stand_ins for hand in record.hands)
    assert [ending.ending for ending in record.endings] == ["ended"] * len(plan.bots)
    if not game:
        assert [hand.number for hand in record.hands] == [1] * 6


@pytest.mark.parametrize(
    ("name", "options", "game", "boards"),
    [
        ("black_lady", ("choice_moon",), False, 9),
        ("black_lady", ("mixed_moon",), True, 2),
        ("cancellation", (), False, 5),
        ("black_maria_3", (), True, 3),
    ],
)
def test_neither_open_tables_nor_the_order_of_answers_change_a_byte(
    name: str, options: tuple[str, ...], game: bool, boards: int
) -> None:
    replays = set()
    for open_tables in (1, 3, 64):
        plan = plan_of(rule_set(name, options), boards=boards, game=game, open_tables=open_tables)
        replays.add(check(play(plan, [LocalLink(Uniform()) for _ in plan.bots])))
        for seed in range(2):
            links = [DisorderlyLink(Uniform(), 100 * seed + place) for place in range(len(plan.bots))]
            replays.add(check(play(plan, links)))
    assert len(replays) == 1


class Diary(Uniform):
    """Notes what it played and what it was told it scored."""

    def __init__(self) -> None:
        self.played: set[tuple[int, int, Card]] = set()
        self.points: Counter[int] = Counter()

    def choose_card(self, view: CardView) -> Card:
        card = super().choose_card(view)
        self.played.add((view.board, view.hand_number, card))
        return card

    def hand_ended(self, result: HandResult) -> None:
        self.points[result.table.board] += result.points[result.table.seat]


@pytest.mark.parametrize("name", ["black_lady", "black_maria_3"])
def test_cards_and_points_belong_to_the_bot_that_played_in_every_seating(name: str) -> None:
    """brutaltester#10."""
    seats_had: Counter[tuple[int, int, int]] = Counter()
    players = rule_set(name).players
    for seating in range(players):
        plan = plan_of(name, boards=5, seating=seating)
        bots = [Diary() for _ in plan.bots]
        record = play(plan, [LocalLink(bot) for bot in bots])
        played: list[set[tuple[int, int, Card]]] = [set() for _ in bots]
        for hand in record.hands:
            for trick in hand.tricks:
                for turn, card in enumerate(trick.cards):
                    place = hand.places[(trick.leader + turn) % players]
                    played[place].add((hand.board, hand.number, Card(card)))
        assert played == [bot.played for bot in bots]
        points = [Counter[int]() for _ in bots]
        for score in verify_replay(replay_of(plan, record.hands, record.faults)):
            points[score.place][score.board] += score.points
            seats_had[score.board, score.seat, score.place] += 1
        assert points == [bot.points for bot in bots]
    assert len(seats_had) == 5 * players * players
    assert set(seats_had.values()) == {1}, "over the sittings each bot has each seat of each board once"


class Modest(Uniform):
    max_open_tables = 3


def test_no_more_tables_are_open_than_every_bot_declared() -> None:
    links = [BentLink(Modest() if place == 2 else Uniform()) for place in range(4)]
    play(plan_of(boards=10, open_tables=7), links)
    for link in links:
        assert link.batches[0].match_start.open_tables == 3
        tables: set[int] = set()
        most = 0
        for batch in link.batches:
            tables -= set(batch.hand_results.table)
            tables |= set(batch.deals.table)
            most = max(most, len(tables))
        assert most == 3


def test_a_bot_learns_neither_the_deal_seed_nor_the_others_names() -> None:
    """kaggle-environments#1020."""
    plan = plan_of(boards=3)
    links = [BentLink(Uniform()) for _ in plan.bots]
    play(plan, links)
    for place, link in enumerate(links):
        sent = b"".join(batch.SerializeToString() for batch in link.batches)
        assert plan.bots[place].bot_seed in sent
        for other in plan.bots:
            assert other.name.encode() not in sent
            assert other.digest.encode() not in sent
            if other is not plan.bots[place]:
                assert other.bot_seed not in sent
        assert plan.deal_seed not in sent


def test_the_first_and_the_last_message_frame_the_sitting() -> None:
    plan = plan_of("cancellation", boards=2)
    links = [BentLink(Uniform()) for _ in plan.bots]
    play(plan, links)
    for link in links:
        assert [batch.HasField("match_start") for batch in link.batches] == [True] + [False] * (len(link.batches) - 1)
        assert [batch.HasField("match_end") for batch in link.batches] == [False] * (len(link.batches) - 1) + [True]
        start = link.batches[0].match_start
        assert (start.boards, len(start.card_points), start.card_points[3 * 13 + 10]) == (2, 52, 13)


def test_request_ids_count_up_from_one() -> None:
    links = [BentLink(Uniform()) for _ in range(4)]
    play(plan_of(rule_set("black_lady", ("choice_moon",)), boards=3, game=True), links)
    for link in links:
        ids = [
            request
            for batch in link.batches
            for kind in (batch.moon_requests, batch.pass_requests, batch.play_requests)
            for request in kind.request_id
        ]
        assert sorted(ids) == list(range(1, len(ids) + 1))


def test_progress_is_told_hand_by_hand() -> None:
    told: list[int] = []
    plan = plan_of(boards=4)
    asyncio.run(play_sitting(plan, [LocalLink(Uniform()) for _ in plan.bots], lambda: told.append(1)))
    assert len(told) == 4


class Chooser(Uniform):
    """Chooses as it was made to, and counts how often."""

    def __init__(self, subtract: bool) -> None:
        self.asked = 0
        self._subtract = subtract

    def choose_moon(self, view: MoonView) -> bool:
        self.asked += 1
        assert not view.subtract_by_default
        return self._subtract


@pytest.mark.parametrize(("subtract", "chosen"), [(True, Moon.NEW), (False, Moon.OLD)])
def test_the_shooter_of_a_moon_chooses(subtract: bool, chosen: Moon) -> None:
    rules = rule_set("black_lady", ("choice_moon",), {"heart_value": 0})  # whoever takes the queen shoots the moon
    bots = [Chooser(subtract) for _ in range(4)]
    record = play(plan_of(rules, boards=4), [LocalLink(bot) for bot in bots])
    asked: Counter[int] = Counter()
    for hand in record.hands:
        assert hand.chosen_moon is chosen
        assert hand.moon is not None
        assert hand.points[hand.moon] == (-13 if subtract else 0)
        assert sum(hand.points) == (-13 if subtract else 39)
        asked[hand.places[hand.moon]] += 1
    assert [bot.asked for bot in bots] == [asked[place] for place in range(4)]
