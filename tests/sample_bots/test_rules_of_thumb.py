"""The careful bot, the moon shooter and the batch bot in worked positions."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from arbiter.engine import compile_rules, mask_of, parse_cards, rule_set
from tests.sample_bots.bots import fresh, pass_view, position, started
from tests.sample_bots.sitting import Sitting, seats

Tricks = Sequence[tuple[int, str, int]]

SHOOTING: Tricks = [(2, "AS QS KS JS", 2), (2, "AH KH JH TH", 2)]
"""Seat 2 took the queen and four hearts."""
STOPPED: Tricks = [(2, "AS QS KS JS", 2), (2, "AH KH JH TH", 1)]

POSITIONS = [
    pytest.param("black_lady", "5C QC AC", "KC", (), {"QC"}, id="ducks as high as it can"),
    pytest.param("black_lady", "3C AC", "2C 5C QS", (), {"3C"}, id="leaves the queen to another"),
    pytest.param("black_lady", "3C KC AC", "2C 5C 9C", (), {"KC", "AC"}, id="wins a clean trick with what is high"),
    pytest.param("black_lady", "3S AS QS 2H KH", "2D", (), {"QS"}, id="discards the queen"),
    pytest.param("black_lady", "3S AS 2H KH", "2D", (), {"AS"}, id="discards what the queen would fall under"),
    pytest.param("black_lady", "QS 3S", "KS", (), {"QS"}, id="drops the queen under the king"),
    pytest.param("black_lady", "AS 4C", "", (), {"4C"}, id="does not lead over the queen"),
    pytest.param("black_lady", "2H QH", "9H 4H", SHOOTING, {"QH"}, id="takes a trick from who shoots the moon"),
    pytest.param("black_lady", "2H QH", "9H 4H", STOPPED, {"2H"}, id="ducks when nobody shoots"),
    pytest.param("black_lady", "4D QD", "JD 3D 2H", (), {"4D"}, id="leaves a heart to another"),
    pytest.param("omnibus", "4D QD", "JD 3D 2H", (), {"QD"}, id="takes the jack where it is a bonus"),
    pytest.param("black_maria_4", "3S 9S KS", "AS", (), {"KS"}, id="drops the king where it costs"),
    pytest.param("reverse", "2H QH", "9H 4H 3H", (), {"QH"}, id="takes hearts where they are wanted"),
]


@pytest.mark.parametrize(("rules", "hand", "trick", "tricks", "expected"), POSITIONS)
def test_careful_plays(rules: str, hand: str, trick: str, tricks: Tricks, expected: set[str]) -> None:
    bot, match = started("careful", rule_set(rules))
    assert str(bot.choose_card(position(match, hand, trick, tricks))) in expected


PASSES = [
    pytest.param("QS 4S 2S 3C 4C 6C 2D 3D 5D 6D 2H 3H 4H", {"QS"}, id="queen with few guards"),
    pytest.param("KS AS 2S 3C 4C 6C 2D 3D 5D 6D 2H 3H 4H", {"KS", "AS"}, id="what the queen falls under"),
]


@pytest.mark.parametrize(("hand", "away"), PASSES)
def test_careful_passes_what_endangers_it(hand: str, away: set[str]) -> None:
    bot, match = started("careful", rule_set("black_lady"))
    assert away <= {str(card) for card in bot.choose_pass(pass_view(match, hand))}


def test_careful_keeps_a_guarded_queen() -> None:
    bot, match = started("careful", rule_set("black_lady"))
    passed = bot.choose_pass(pass_view(match, "2S 4S 7S 9S QS 3C 4C KC 2D QD 6D 2H AH"))
    assert {str(card) for card in passed} == {"AH", "KC", "QD"}


@pytest.mark.parametrize("name", ["batch", "careful"])
def test_batch_prices_like_one_by_one(name: str) -> None:
    bot, match = started(name, rule_set("black_lady"))
    views = [position(match, hand, trick) for hand, trick in [("5C QC AC", "KC"), ("3S AS QS 2H", "2D"), ("AS 4C", "")]]
    together = list(bot.choose_cards(views))
    assert together == [bot.choose_card(view) for view in views]
    assert [str(card) for card in together] == ["QC", "QS", "4C"]


STRONG = "AC KC QC JC TC AD KD AH KH QH AS KS QS"
"""A hand that takes every trick, whoever leads."""


def test_moonshooter_shoots_with_a_strong_hand() -> None:
    rules = compile_rules(rule_set("black_lady", override={"pass_cycle": ["none"], "pass_count": 0}))
    strong = mask_of(parse_cards(STRONG))
    others = [card for card in rules.deck if not strong >> card & 1]
    hands = [mask_of(others[third::3]) for third in range(3)]
    hands.insert(seats(4, board=1, number=0).index(0), strong)
    bots = [fresh("moonshooter"), *(fresh("lowest") for _ in range(3))]
    outcome = Sitting(rules.source, bots, [1], deals={1: hands}).play()
    assert outcome.points[1] == (0, 26, 26, 26)
    assert outcome.moons == 1


def test_moonshooter_gives_up_when_another_has_points() -> None:
    bot, match = started("moonshooter", rule_set("black_lady"))
    assert str(bot.choose_card(position(match, "AC KC QC 2C", "JC"))) == "AC"
    lost: Tricks = [(2, "AH KH JH TH", 2)]
    assert str(bot.choose_card(position(match, "AC KC QC 2C", "JC", lost))) == "2C"


def test_moonshooter_passes_low_cards_from_a_strong_hand() -> None:
    bot, match = started("moonshooter", rule_set("black_lady"))
    assert {str(card) for card in bot.choose_pass(pass_view(match, STRONG.replace("TC", "2C")))} >= {"2C"}
    assert {str(card) for card in bot.choose_pass(pass_view(match, "2C 3C 4C 5C 6C 2D 3D 4D 2H 3H AS KS QS"))} == {
        *("AS", "KS", "QS"),
    }


def test_moonshooter_does_not_shoot_where_there_is_no_moon() -> None:
    bot, match = started("moonshooter", rule_set("original_1880"))
    assert str(bot.choose_card(position(match, "AC KC QC 2C", "JC"))) == "2C"
