"""Mistakes that authors make are named where they are made."""

from __future__ import annotations

from typing import Any

import pytest

from arbiter.links import FaultCode, LocalLink
from arbiter.sdk import Card, PassView, run
from tests.match.support import Uniform, plan_of, play


class PassesTwo(Uniform):
    def choose_pass(self, view: PassView) -> list[Card]:
        return view.hand[:2]


def test_a_pass_of_the_wrong_size_is_a_crash_that_says_so() -> None:
    plan = plan_of(boards=2)
    record = play(plan, [LocalLink(PassesTwo()), *(LocalLink(Uniform()) for _ in range(3))])
    (fault,) = record.faults
    assert fault.code is FaultCode.CRASH
    assert "choose_pass gave 2 cards; 3 are passed in this game" in fault.detail


def test_run_wants_a_bot_and_not_its_class() -> None:
    anything: Any = Uniform
    with pytest.raises(TypeError, match=r"run\(\) takes a bot, such as run\(MyBot\(\)\), but got <class"):
        run(anything)
