"""Every sample bot plays whole hands in every game, the same ones again, and on nothing but what its seat may see."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tomllib

import pytest

from arbiter.api.bot.v1 import bot_pb2 as pb
from arbiter.engine import OPTIONS, RULE_SETS, RuleSet, cards_of, mask_of, rule_set
from arbiter.errors import UsageError
from arbiter.sdk import BaseBot
from sample_bots import NAMES, folder
from tests.patience import PATIENCE
from tests.sample_bots.bots import fresh
from tests.sample_bots.sitting import Board, Sitting

BLACK_LADY = rule_set("black_lady")

GAMES = [
    *(pytest.param(rules, id=name) for name, rules in RULE_SETS.items()),
    *(pytest.param(rule_set(name, [option]), id=f"{name}-{option}") for name in OPTIONS for option in OPTIONS[name]),
    *(
        pytest.param(rule_set("cancellation", override={"players": seats}), id=f"cancellation-{seats}")
        for seats in (5, 7, 8, 9, 10, 11)
    ),
    pytest.param(
        rule_set("hartenjagen", ["cancellation", "omnibus"], {"pass_cycle": ["left"], "pass_count": 4}),
        id="two-packs-passing",
    ),
]


def seated(rules: RuleSet, first: int = 0) -> list[BaseBot]:
    """One bot for each seat, one kind after the other."""
    return [fresh(NAMES[(first + seat) % len(NAMES)]) for seat in range(rules.players)]


@pytest.mark.parametrize("name", NAMES)
def test_folder_says_how_to_run_the_bot(name: str) -> None:
    described = tomllib.loads((folder(name) / "bot.toml").read_text())["bot"]
    assert described["name"] == name
    assert described["runtime"] == "python"
    assert (folder(name) / described["run"][-1]).is_file()


def test_bots_are_programs_that_look_for_an_arbiter() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder("uniform").parents[1])}
    started = [
        subprocess.Popen(
            [sys.executable, "bot.py"], cwd=folder(name), env=environment, stderr=subprocess.PIPE, encoding="utf-8"
        )
        for name in NAMES
    ]
    for program in started:
        _, printed = program.communicate(timeout=PATIENCE)
        assert "ARBITER_ADDRESS is not set" in printed
        assert program.returncode == 2


def test_bot_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no sample bot 'clever'; there are: uniform, lowest"):
        folder("clever")


@pytest.mark.parametrize("rules", GAMES)
def test_bots_play_every_game(rules: RuleSet) -> None:
    # Two halves of the bots, so that each kind plays though there are more kinds than seats.
    for first in (0, 3):
        outcome = Sitting(rules, seated(rules, first), [1, 2]).play()
        assert outcome.hands == 2


@pytest.mark.parametrize(
    ("name", "override"),
    [
        ("black_lady_mixed_moon", {"target": 60}),
        ("hartenjagen", {"target": 60}),
        ("bga", {"start": 60}),
        ("partnership", {"target": 60}),
    ],
)
def test_bots_play_whole_games(name: str, override: dict[str, int]) -> None:
    rules = rule_set(name, override=override)
    outcome = Sitting(rules, seated(rules, 2), [1], game_format=True).play()
    assert outcome.hands > 1


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_cards_however_tables_are_batched(name: str) -> None:
    def played(order: random.Random | None) -> object:
        bots = [fresh(name) for _ in range(4)]
        return Sitting(BLACK_LADY, bots, range(1, 7), order=order).play().record

    as_one = played(None)
    assert played(random.Random(1)) == as_one
    assert played(random.Random(2)) == as_one


@pytest.mark.parametrize("rules", GAMES)
def test_columns_are_lowest_to_the_card(rules: RuleSet) -> None:
    def played(name: str) -> object:
        return Sitting(rules, [fresh(name) for _ in range(rules.players)], range(1, 5)).play().record

    assert played("columns") == played("lowest")


def test_other_bot_seed_other_cards() -> None:
    def played(number: int) -> object:
        # Equal bots: the rotation of the seating moves nothing but the seeds.
        return Sitting(BLACK_LADY, [fresh("uniform") for _ in range(4)], [1], number=number).play().record

    assert played(0) != played(1)


class Blindfold(Sitting):
    """Swaps the cards that are hidden from a seat among the others whenever the seat is asked."""

    swaps = random.Random("hidden cards")

    def _requests(self, entrant: int, boards: list[Board]) -> tuple[pb.SitResponse, dict[int, Board]]:
        true_hands = {board.number: board.hand.hands for board in boards}
        for board in boards:
            board.hand.hands = self._swapped(board.hand.hands, board.entrants.index(entrant))
        requests = super()._requests(entrant, boards)
        for board in boards:
            board.hand.hands = true_hands[board.number]
        return requests

    def _swapped(self, hands: list[int], own: int) -> list[int]:
        hidden = [card for seat, mask in enumerate(hands) if seat != own for card in cards_of(mask)]
        self.swaps.shuffle(hidden)
        dealt = iter(hidden)
        return [
            mask if seat == own else mask_of([next(dealt) for _ in range(mask.bit_count())])
            for seat, mask in enumerate(hands)
        ]


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("name", ["black_lady", "omnibus"])
def test_hidden_cards_change_no_decision(name: str, first: int) -> None:
    rules = rule_set(name)
    plain = Sitting(rules, seated(rules, first), range(1, 5)).play()
    assert Blindfold(rules, seated(rules, first), range(1, 5)).play().record == plain.record
