"""What each seat made of its hands by pass direction."""

from __future__ import annotations

import asyncio
from collections import Counter

from arbiter.engine import PassDirection
from arbiter.links import LocalLink
from arbiter.match import HandTally, play_sitting, tally
from tests.match.support import plan_of, play
from tests.tournament.support import Lowest


def test_a_tally_holds_every_hand_once() -> None:
    """A game: many hands of all directions at one board."""
    plan = plan_of(game=True, boards=2)
    record = play(plan, [LocalLink(Lowest()) for _ in plan.bots])
    found = tally(record.hands)
    assert len({(each.board, each.seat, each.direction) for each in found}) == len(found)
    hands, points, moons = Counter[object](), Counter[object](), Counter[object]()
    for each in found:
        hands[each.board, each.seat, each.direction] += each.hands
        points[each.board, each.seat] += each.points
        moons[each.board, each.seat] += each.moons
    assert hands == Counter((hand.board, seat, hand.direction) for hand in record.hands for seat in range(4))
    for hand in record.hands:
        for seat, taken in enumerate(hand.points):
            points[hand.board, seat] -= taken
        if hand.moon is not None:
            moons[hand.board, hand.moon] -= 1
    assert not any(points.values())
    assert not any(moons.values())
    assert {each.direction for each in found} >= {PassDirection.LEFT, PassDirection.RIGHT}


def test_without_hands_there_is_no_tally() -> None:
    assert tally([]) == ()


def test_what_a_bot_used_of_its_clock_is_told() -> None:
    plan = plan_of(boards=3)
    record = asyncio.run(play_sitting(plan, [LocalLink(Lowest()) for _ in plan.bots]))
    assert [used.answers for used in record.times] == [13 * 3 + 3] * 4
    assert all(0 < used.seconds < record.play_seconds for used in record.times)
    assert HandTally(1, 0, PassDirection.LEFT, 1, record.hands[0].points[0], 0) in tally(record.hands[:1])
