"""Tournaments of several stages, played without processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from arbiter.sdk import Bot, Card, CardView, PassView
from arbiter.store import Store
from arbiter.tournament import Desk
from arbiter.tournament import report as results
from arbiter.tournament.stages import write_next_stage
from tests.tournament.support import ID, Lowest, granted, packed_of, played, report, spec_of


class Chance(Bot):
    """Draws from its own randomness, which the plan fixes."""

    def choose_pass(self, view: PassView) -> list[Card]:
        return view.random.sample(view.hand, view.pass_count)

    def choose_card(self, view: CardView) -> Card:
        return view.random.choice(view.legal)


SWISS = spec_of(9, boards=1, format="swiss", swiss={"stages": 4})
KNOCKOUT = spec_of(9, boards=1, format="knockout")


def text(plan: Any) -> bytes:
    """The replay of a sitting in which every third bot plays low and the others by chance."""
    return packed_of(played(plan, [Lowest() if bot.entrant % 3 == 0 else Chance() for bot in plan.bots]))


def play_stage(store: Store, desk: Desk, order: Callable[[list[str]], list[str]] = sorted) -> None:
    """Play every sitting that is planned."""
    for sitting in order([str(key) for key in store.planned(ID)]):
        grant = granted(desk, sitting)
        report(desk, grant, text(grant.plan))


def play_on(store: Store) -> None:
    """Play a tournament to its end, one stage after the other."""
    desk = Desk(store)
    play_stage(store, desk)
    while write_next_stage(store, ID):
        play_stage(store, desk)


def outcome(store: Store) -> str:
    """All that is planned and all that the results say, to the last digit."""
    return json.dumps([[str(match) for match in store.matches(ID)], results(store, ID).to_dict()])
