"""A bot that crashes in every sitting ends no tournament: all is played, recorded and can be seen.

cutechess#794, fastchess#463; riddlesio/issues#15.
"""

from __future__ import annotations

from arbiter.match import unpack_replay
from arbiter.sdk import Card, CardView
from arbiter.store import Store
from arbiter.tournament import Desk
from arbiter.tournament.replays import released_logs, released_replay
from tests.tournament.support import ID, Lowest, create, granted, packed_of, played, report

CRASHING = 2


class Crashing(Lowest):
    """Raises in its third trick."""

    def choose_card(self, view: CardView) -> Card:
        if len(view.tricks) == 2:
            raise RuntimeError("out of ideas")
        return super().choose_card(view)


def test_a_tournament_with_a_bot_that_always_crashes_is_played_to_its_end(store: Store, desk: Desk) -> None:
    create(store)
    planned = store.planned(ID)
    for key in planned:
        grant = granted(desk, str(key))
        bots = [Crashing() if bot.entrant == CRASHING else Lowest() for bot in grant.plan.bots]
        report(desk, grant, packed_of(played(grant.plan, bots)))
    assert store.progress(ID).done
    for key in planned:
        (crash,) = [fault for where, fault in store.faults(ID) if where == key]
        assert (crash.entrant, crash.code) == (CRASHING, "CRASH")
        assert "out of ideas" in crash.detail
        assert released_replay(store, key) == unpack_replay(store.replay(key))
        assert [bool(report.faults) for report in released_logs(store, key)] == [False, False, True, False]
