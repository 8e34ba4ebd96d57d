"""Hands in rows are the very hands that are played one by one, whichever go on, in every rule set of one pack."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arbiter.engine import EngineError, Hand, PassDirection, Rules, RuleSet, RuleSetError, compile_rules, play_columns
from arbiter.engine.rows import HandRows
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

ONE_PACK = [variant for variant in VARIANTS if not rules_of(variant).two_packs]
PUBLIC = (
    "best",
    "bonus_taken",
    "broken",
    "first_trick",
    "hands",
    "leader",
    "led",
    "legal",
    "penalty_taken",
    "pending_bonus",
    "pending_penalty",
    "phase",
    "points",
    "trick",
    "tricks",
    "turn",
    "winning",
)


def _state(hand: Hand) -> dict[str, Any]:
    state = {name: getattr(hand, name) for name in PUBLIC}
    if not hand.led:  # without meaning then
        del state["best"], state["winning"]
    if hand.turn < 0:
        del state["leader"]
    return state


def _play_both(rules: Rules, rng: random.Random, early_end: bool) -> None:
    """Five hands, each begun by itself or not, some lent to rows and back at any card, and their twins one by one."""
    hands = [random_hand(rules, rng) for _ in range(5)]
    for hand in hands:
        for _ in range(rng.choice([0, 0, rng.randrange(rules.seats * rules.hand_size)])):
            hand.play(random_card(hand, rng))
    twins = [hand.copy() for hand in hands]
    rows, lent = HandRows(rules, len(hands), early_end), dict[int, int]()
    while going := [place for place, twin in enumerate(twins) if twin.turn >= 0]:
        new = [place for place in going if place not in lent]
        lent.update(zip(new, rows.take([hands[place] for place in new]).tolist(), strict=True) if new else ())
        moving = rng.sample(going, rng.randint(1, len(going)))
        at = np.array([lent[place] for place in moving])
        assert rows.see(at) == play_columns([twins[place] for place in moving])
        cards = np.array([random_card(twins[place], rng) for place in moving])
        assert rows.allow(at, cards)
        turns, tricks = rows.play(at, cards)
        finished = []
        for place, card in zip(moving, cards.tolist(), strict=True):
            twin = twins[place]
            twin.play(card)
            if not twin.led:
                finished.append((moving.index(place), twin.tricks[-1]))
                if early_end and twin.settled and twin.turn >= 0:
                    twin.end_early()
        assert turns.tolist() == [twins[place].turn for place in moving]
        if tricks is None:
            assert not finished
        else:
            assert tricks.place == [place for place, _ in finished]
            assert tricks.cards == [card for _, trick in finished for card in trick.cards]
            said = zip(tricks.leader, tricks.winner, tricks.points, strict=True)
            assert list(said) == [(trick.leader, trick.winner, trick.points) for _, trick in finished]
        back = [place for place in moving if twins[place].turn < 0 or rng.random() < 0.1]
        if back:
            rows.give_back([lent.pop(place) for place in back])
        for place in back:
            assert _state(hands[place]) == _state(twins[place])
            if twins[place].turn >= 0 and rng.random() < 0.5:  # a card of its own between
                card = random_card(twins[place], rng)
                hands[place].play(card)
                twins[place].play(card)
    assert not lent


@pytest.mark.parametrize("early_end", [False, True])
@pytest.mark.parametrize("variant", ONE_PACK, ids=variant_id)
@settings(max_examples=4)
@given(seed=seeds)
def test_every_card_does_what_it_does_in_a_single_hand(variant: Variant, early_end: bool, seed: int) -> None:
    _play_both(rules_of(variant), random.Random(seed), early_end)


@settings(max_examples=40)
@given(data=changed_rule_sets(), seed=seeds, early_end=st.booleans())
def test_house_rules_are_known_too(data: dict[str, Any], seed: int, early_end: bool) -> None:
    try:
        rules = compile_rules(RuleSet.from_dict(data))
    except RuleSetError:
        assume(False)
    assume(not rules.two_packs and not rules.cancellation)
    _play_both(rules, random.Random(seed), early_end)


@settings(max_examples=40)
@given(seed=seeds)
def test_a_card_that_may_not_be_played_is_known(seed: int) -> None:
    rng = random.Random(seed)
    hands = [random_hand(rules_of(("black_lady", ())), rng) for _ in range(3)]
    for hand in hands:
        for _ in range(rng.randrange(40)):
            hand.play(random_card(hand, rng))
    rows = HandRows(hands[0].rules, 3)
    at = rows.take(hands)
    cards = [random_card(hand, rng) for hand in hands]
    cards[1] = rng.choice([card for card in (*range(52), 52, 200, 2**32 - 1) if not hands[1].legal >> card & 1])
    assert not rows.allow(at, np.array(cards))
    assert rows.allow(at[[0, 2]], np.array([cards[0], cards[2]]))


def test_what_rows_do_not_take() -> None:
    with pytest.raises(EngineError, match="rows hold one pack without cancellation"):
        HandRows(rules_of(("cancellation", ())), 4)
    rng = random.Random(1)
    rules = rules_of(("black_lady", ()))
    rows = HandRows(rules, 1)
    with pytest.raises(EngineError, match="1 rows are left, and there are 2 hands"):
        rows.take([random_hand(rules, rng) for _ in range(2)])
    with pytest.raises(EngineError, match="not in play: exchange the passes first"):
        rows.take([random_hand(rules, rng, PassDirection.LEFT)])
    rows.give_back(rows.take([random_hand(rules, rng)]).tolist())
