"""Ending hands early changes no score, and a replay holds exactly the tricks that were played."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arbiter.engine import RULE_SETS
from arbiter.links import LocalLink
from arbiter.match import ReplayError, replay_of, verify_replay
from tests.match.support import Uniform, plan_of, play


@pytest.mark.parametrize("name", RULE_SETS)
def test_the_same_scores_in_fewer_tricks(name: str) -> None:
    whole = plan_of(name, boards=12)
    early = replace(whole, early_end=True)
    full = play(whole, [LocalLink(Uniform()) for _ in whole.bots])
    short = play(early, [LocalLink(Uniform()) for _ in early.bots])
    for one, other in zip(full.hands, short.hands, strict=True):
        assert (one.points, one.totals, one.moon) == (other.points, other.totals, other.moon)
        assert one.tricks[: len(other.tricks)] == other.tricks
        assert not any(trick.points for trick in one.tricks[len(other.tricks) :])
    assert sum(len(hand.tricks) for hand in short.hands) < sum(len(hand.tricks) for hand in full.hands)


def test_a_game_goes_on_after_a_hand_that_ended_early() -> None:
    plan = plan_of("black_lady", boards=2, game=True, early_end=True)
    record = play(plan, [LocalLink(Uniform()) for _ in plan.bots])
    assert max(hand.number for hand in record.hands) > 1
    assert any(len(hand.tricks) < 13 for hand in record.hands)


def test_tricks_after_the_end_and_an_end_before_it_are_caught() -> None:
    plan = plan_of("black_lady", boards=12)
    record = play(plan, [LocalLink(Uniform()) for _ in plan.bots])
    replay = replay_of(plan, record.hands, record.faults)
    with pytest.raises(ReplayError, match="comes after the hand's end"):
        verify_replay(replace(replay, early_end=True), plan.deal_seed)
    early = play(replace(plan, early_end=True), [LocalLink(Uniform()) for _ in plan.bots])
    cut = replay_of(early.plan, early.hands, early.faults)
    with pytest.raises(ReplayError, match="cards are left to play"):
        verify_replay(replace(cut, early_end=False), plan.deal_seed)
