"""Deals: as they are written down, of every card once, without bias, and different from one another."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.deals import commitment, deal, dealer, derive_bot_seed, derive_deal_seed, rotation
from arbiter.engine import RULE_SETS, Card, RuleSet, cards_of, compile_rules, format_cards, rule_set

PAGE = Path(__file__).parents[2] / "docs" / "deals.md"
SEED = bytes(range(32))

RULES = {
    **{name: RULE_SETS[name] for name in ("black_lady", "black_maria_3", "cancellation")},
    **{
        f"cancellation at {players}": rule_set("cancellation", (), {"players": players})
        for players in (7, 8, 9, 10, 11)
    },
}


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def vectors() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(block("json")))


def as_documented(rules: RuleSet, deal_set: int, board: int, hand: int) -> dict[str, Any]:
    dealt = deal(compile_rules(rules), derive_deal_seed(SEED, deal_set), board, hand)
    return {
        "hands": [format_cards(cards_of(mask)) for mask in dealt.hands],
        "kitty": format_cards(cards_of(dealt.kitty)),
    }


def test_the_documented_vectors_hold() -> None:
    page = vectors()
    for deal_set, (seed, digest) in enumerate(zip(page["deal_seeds"], page["commitments"], strict=True)):
        assert derive_deal_seed(SEED, deal_set).hex() == seed
        assert commitment(bytes.fromhex(seed)) == digest
    for item in page["bot_seeds"]:
        assert derive_bot_seed(SEED, item["deal_set"], item["seating"], item["entrant"]).hex() == item["seed"]
    assert len(page["deals"]) == 6
    for item in page["deals"]:
        found = as_documented(rule_set(item["rules"]), item["deal_set"], item["board"], item["hand"])
        assert found == {"hands": item["hands"], "kitty": item["kitty"]}
    for item in page["seatings"]:
        assert list(rotation(rule_set(item["rules"]), item["board"], item["sitting"])) == item["places"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed; the vectors are checked without it")
def test_the_documented_program_deals_the_same(tmp_path: Path) -> None:
    program = tmp_path / "deal.mjs"
    program.write_text(block("js"), encoding="utf-8")
    for item in vectors()["deals"]:
        rules = rule_set(item["rules"])
        game = {
            "seats": rules.players,
            "decks": rules.decks,
            "removed": [Card.parse(card).index for card in rules.removed],
        }
        asked = {
            "tournamentSeed": SEED.hex(),
            "dealSet": item["deal_set"],
            "board": item["board"],
            "hand": item["hand"],
        }
        done = subprocess.run(
            ["node", str(program), json.dumps({**asked, "game": game})],
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )
        assert json.loads(done.stdout) == {
            "dealSeed": derive_deal_seed(SEED, item["deal_set"]).hex(),
            "hands": item["hands"],
            "kitty": item["kitty"],
        }


@pytest.mark.parametrize("name", RULES)
@given(deal_seed=st.binary(min_size=32, max_size=32), board=st.integers(1, 2**40), hand=st.integers(1, 1000))
def test_every_card_is_dealt_once(name: str, deal_seed: bytes, board: int, hand: int) -> None:
    rules = compile_rules(RULES[name])
    dealt = deal(rules, deal_seed, board, hand)
    assert [len(cards_of(mask)) for mask in dealt.hands] == [rules.hand_size] * rules.seats
    assert len(cards_of(dealt.kitty)) == RULES[name].kitty_size
    every = [card.index for mask in (*dealt.hands, dealt.kitty) for card in cards_of(mask)]
    assert sorted(every) == sorted(rules.deck)


def test_no_two_hands_are_dealt_alike() -> None:
    rules = compile_rules(RULE_SETS["black_lady"])
    seeds = [derive_deal_seed(SEED, deal_set) for deal_set in range(5)]
    deals = [deal(rules, seed, board, hand).hands for seed in seeds for board in range(1, 41) for hand in range(1, 6)]
    assert len(set(deals)) == 5 * 40 * 5


def test_a_deal_is_the_same_again() -> None:
    rules = compile_rules(RULE_SETS["cancellation"])
    first = [deal(rules, SEED, board) for board in range(1, 20)]
    assert [deal(rules, SEED, board) for board in reversed(range(1, 20))] == first[::-1]


def chi_square_bound(freedom: int, sigmas: float = 5.0) -> float:
    """Upper end of what chance gives: the Wilson-Hilferty approximation of the chi-square distribution."""
    spread = 2 / (9 * freedom)
    return float(freedom * (1 - spread + sigmas * math.sqrt(spread)) ** 3)


@pytest.mark.parametrize("name", ["black_lady", "black_maria_3", "cancellation"])
def test_every_seat_gets_every_card_equally_often(name: str) -> None:
    rules = compile_rules(RULE_SETS[name])
    boards = 4000
    got: Counter[tuple[int, int]] = Counter()
    for board in range(1, boards + 1):
        dealt = deal(rules, SEED, board)
        for seat, mask in enumerate((*dealt.hands, dealt.kitty)):
            for held in cards_of(mask):
                got[seat, held.index] += 1
    kinds = sorted(set(rules.deck))
    sizes = [rules.hand_size] * rules.seats + ([rules.source.kitty_size] if rules.source.kitty_size else [])
    statistic = 0.0
    for seat, size in enumerate(sizes):
        for card in kinds:
            expected = boards * size * rules.deck.count(card) / len(rules.deck)
            statistic += (got[seat, card] - expected) ** 2 / expected
    # Cards of one hand are drawn without putting back, which only makes the spread smaller.
    assert statistic < chi_square_bound((len(kinds) - 1) * (len(sizes) - 1))


def test_two_cards_meet_in_a_hand_as_often_as_they_should() -> None:
    rules = compile_rules(RULE_SETS["black_lady"])
    boards = 4000
    together: Counter[int] = Counter()
    for board in range(1, boards + 1):
        for mask in deal(rules, SEED, board).hands:
            for card in range(51):
                together[card] += mask >> card & mask >> card + 1 & 1
    expected = boards * 12 / 51
    statistic = sum((together[card] - expected) ** 2 / (expected * (1 - 12 / 51)) for card in range(51))
    assert statistic < chi_square_bound(51)
    assert statistic > 15, "and not more evenly than chance allows"


def test_the_commitment_is_bound_to_its_seed() -> None:
    seeds = [derive_deal_seed(SEED, deal_set) for deal_set in range(100)]
    assert len({commitment(seed) for seed in seeds}) == 100
    assert all(re.fullmatch("[0-9a-f]{64}", commitment(seed)) for seed in seeds)


def test_seeds_of_bots_and_deals_never_meet() -> None:
    deal_seeds = {derive_deal_seed(SEED, number)[:16] for number in range(50)}
    bot_seeds = {
        derive_bot_seed(SEED, *place) for place in ((d, s, e) for d in range(5) for s in range(4) for e in range(20))
    }
    assert len(bot_seeds) == 400
    assert all(len(seed) == 16 for seed in bot_seeds)
    assert not deal_seeds & bot_seeds


def test_the_deal_moves_one_seat_a_hand() -> None:
    rules = compile_rules(RULE_SETS["black_lady"])
    assert [dealer(rules, number) for number in range(1, 10)] == [0, 1, 2, 3, 0, 1, 2, 3, 0]
