"""Plans: what can't be played is refused, and what goes to a worker comes back equal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.engine import rule_set
from arbiter.errors import UsageError
from arbiter.match import Clock, PlanError, SeatedBot, plan_from_message, plan_to_message
from tests.match.support import VARIANTS, plan_of

SECONDS = st.decimals(min_value="0.001", max_value=100_000, places=3).map(float)


@pytest.mark.parametrize("game", [False, True])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_plan_comes_back_from_its_message(name: str, options: tuple[str, ...], game: bool) -> None:
    plan = plan_of(rule_set(name, options), boards=7, game=game, seating=2, open_tables=5, fault_limit=0)
    assert plan_from_message(plan_to_message(plan)) == plan


@given(st.builds(Clock, start_up=SECONDS, bank=SECONDS, increment=SECONDS, hard_stop=SECONDS, margin=SECONDS))
def test_clocks_come_back_to_the_last_digit(clock: Clock) -> None:
    plan = plan_of(clock=clock)
    assert [bot.clock for bot in plan_from_message(plan_to_message(plan)).bots] == [clock] * 4


def bots(**clock: float) -> tuple[SeatedBot, ...]:
    return tuple(replace(bot, clock=Clock(**clock)) for bot in plan_of().bots)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bots": ()}, "sitting test/0/0: 0 bots for 4 seats"),
        ({"boards": 0}, "boards = 0; at least 1 is needed"),
        ({"seating": 4}, "seating = 4; there are 0 to 3"),
        ({"seating": -1}, "seating = -1; there are 0 to 3"),
        ({"open_tables": 0}, "open_tables = 0; at least 1 is needed"),
        ({"fault_limit": -1}, "fault_limit = -1; 0 is the least"),
        ({"bots": bots(start_up=0)}, "start_up and hard_stop have to be above 0 seconds"),
        ({"bots": bots(hard_stop=-1)}, "start_up and hard_stop have to be above 0 seconds"),
        ({"bots": bots(margin=-1)}, "bank, increment and margin can't be below 0 seconds"),
        ({"bots": bots(bank=-1)}, "bank, increment and margin can't be below 0 seconds"),
    ],
)
def test_what_cannot_be_played_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=re.escape(message)):
        replace(plan_of(), **change)


def test_an_unknown_format_is_refused_and_not_guessed() -> None:
    message = plan_to_message(plan_of())
    message.ClearField("format")
    with pytest.raises(UsageError, match="match format 0 is unknown here"):
        plan_from_message(message)


def test_seeds_do_not_show_in_what_is_logged() -> None:
    plan = plan_of()
    assert repr(plan.deal_seed) not in repr(plan)
    assert all(repr(bot.bot_seed) not in repr(plan) for bot in plan.bots)
