"""Hands in step are the very hands that are played one by one, in every rule set."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arbiter.engine import EngineError, Hand, IllegalPlay, PassDirection, RuleSet, RuleSetError, compile_rules
from arbiter.engine.cards import indexes_of
from arbiter.engine.columns import HandColumns, deal_in_step, pick, play_out_in_step
from tests.engine.strategies import (
    VARIANTS,
    Variant,
    changed_rule_sets,
    random_card,
    random_hand,
    rules_of,
    seeds,
    variant_id,
)


def _check(columns: HandColumns, hands: list[Hand]) -> None:
    assert columns.legal.tolist() == [hand.legal for hand in hands]
    assert columns.penalty_taken.tolist() == [hand.penalty_taken for hand in hands]
    assert columns.bonus_taken.tolist() == [hand.bonus_taken for hand in hands]
    if hands[0].turn >= 0:
        assert columns.turn.tolist() == [hand.turn for hand in hands]
    assert columns.done == (hands[0].turn < 0)


def _play_both(hands: list[Hand], rng: random.Random) -> None:
    columns = HandColumns.of(hands)
    _check(columns, hands)
    while not columns.done:
        cards = [random_card(hand, rng) for hand in hands]
        columns.play(np.array(cards))
        for hand, card in zip(hands, cards, strict=True):
            hand.play(card)
        _check(columns, hands)


def _hands(variant: Variant, rng: random.Random, share: float) -> list[Hand]:
    """Three hands at the same card."""
    hands = [random_hand(rules_of(variant), rng) for _ in range(3)]
    for hand in hands:
        for _ in range(int(share * hand.rules.seats * hand.rules.hand_size)):
            hand.play(random_card(hand, rng))
    return hands


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
@settings(max_examples=5)
@given(seed=seeds, share=st.floats(0, 0.99))
def test_every_card_does_what_it_does_in_a_single_hand(variant: Variant, seed: int, share: float) -> None:
    rng = random.Random(seed)
    _play_both(_hands(variant, rng, share), rng)


@settings(max_examples=40)
@given(data=changed_rule_sets(), seed=seeds)
def test_house_rules_are_known_too(data: dict[str, Any], seed: int) -> None:
    try:
        rules = compile_rules(RuleSet.from_dict(data))
    except RuleSetError:
        assume(False)
    rng = random.Random(seed)
    _play_both([random_hand(rules, rng) for _ in range(3)], rng)


@given(masks=st.lists(st.integers(1, (1 << 52) - 1), min_size=1, max_size=8), seed=seeds)
def test_a_draw_picks_the_card_that_it_picks_from_a_list(masks: list[int], seed: int) -> None:
    draws = np.random.default_rng(seed).random(len(masks))
    picked = pick(np.array(masks, dtype=np.uint64), draws)
    choices = [indexes_of(mask) for mask in masks]
    assert picked.tolist() == [cards[int(draw * len(cards))] for cards, draw in zip(choices, draws, strict=True)]


@pytest.mark.parametrize("variant", VARIANTS, ids=variant_id)
def test_dealt_hands_are_whole_packs_and_are_played_to_their_last_point(variant: Variant) -> None:
    rules = rules_of(variant)
    hands = deal_in_step(rules, 20, 1, np.random.default_rng(1))
    copies = Counter(rules.deck)
    for once, twice in zip(hands.once.tolist(), hands.twice.tolist(), strict=True):
        held = [indexes_of(one) + indexes_of(two) for one, two in zip(once, twice, strict=True)]
        assert [len(cards) for cards in held] == [rules.hand_size] * rules.seats
        assert Counter(card for cards in held for card in cards) <= copies
    play_out_in_step(hands, np.random.default_rng(2))
    assert set(hands.penalty_taken.sum(axis=1)) == {rules.penalty_total}
    assert set(hands.bonus_taken.sum(axis=1)) == {rules.bonus_total}


def test_deals_and_picks_favour_nobody() -> None:
    """Every seat takes a quarter of the points: within five standard errors of 8.2 / sqrt(20,000)."""
    hands = deal_in_step(rules_of(("black_lady", ())), 20_000, 0, np.random.default_rng(3))
    play_out_in_step(hands, np.random.default_rng(4))
    assert np.abs(hands.penalty_taken.mean(axis=0) - 6.5).max() < 0.3


def test_an_illegal_card_changes_nothing() -> None:
    hands = _hands(("black_lady", ()), random.Random(1), 0.0)
    columns = HandColumns.of(hands)
    cards = np.array([random_card(hand, random.Random(2)) for hand in hands])
    wrong = cards.copy()
    wrong[1] = next(card for card in range(52) if not hands[1].legal >> card & 1)
    with pytest.raises(IllegalPlay, match="not among the legal ones"):
        columns.play(wrong)
    _check(columns, hands)
    columns.play(cards)
    play_out_in_step(columns, np.random.default_rng(1))
    with pytest.raises(IllegalPlay, match="no card is due"):
        columns.play(cards)


def test_what_cannot_go_in_step_is_refused() -> None:
    rng = random.Random(1)
    rules = rules_of(("black_lady", ()))
    hand, ahead, other = random_hand(rules, rng), random_hand(rules, rng), random_hand(rules_of(("spot", ())), rng)
    ahead.play(random_card(ahead, rng))
    for hands, words in (
        ([], "no hands"),
        ([hand, ahead], "at different cards"),
        ([hand, other], "different rule sets"),
        ([random_hand(rules, rng, PassDirection.LEFT)], "not in play"),
    ):
        with pytest.raises(EngineError, match=words):
            HandColumns.of(hands)
